"""What an object is that a registry, or an unseen factory, has made: a method tells, where one class alone has it."""

import ast
import re

from gpudoctor.code.classes import kind_of
from gpudoctor.code.definitions import Class, File
from gpudoctor.code.names import ancestors, method_of
from gpudoctor.code.program import Frame
from gpudoctor.facts import Argument, Known, Value

TRAINS = re.compile(
    r"(?:train|run|solve|learn|teach|execut|experiment|engine|agent|task|manager|coach|exp$)", re.I
)
"""What is in the names of objects that train: ``runner.train()``, which of a model means something else."""
OF_MANY = frozenset(
    "train eval step save load run fit test start update close reset build setup log forward get set add state_dict "
    "load_state_dict parameters to cuda cpu evaluate validate predict __call__".split()
)
"""Methods that models, files and others have as well: they tell only of an object that is called after its training."""


def told_by_method(frame: Frame, node: ast.Call, receiver: Value, attribute: str) -> Value | None:
    """Return the object of the script whose method is called, where nothing else is known of what it is called on."""
    program = frame.program
    if receiver.known is not Known.UNKNOWN or receiver.made < 0 or receiver.by_rank or receiver.from_data:
        return None
    known = program.by_method.get(receiver.made)
    if known is not None:
        return known
    if not frame.reached or not isinstance(node.func, ast.Attribute):
        return None
    if attribute in OF_MANY and not TRAINS.search(frame.text(node.func.value)):
        return None
    item = _only(frame, attribute)
    if item is None:
        return None
    value = program.thing(kind_of(frame, item), program.name_of(item), frame.place(node))
    program.by_method[receiver.made] = value
    first = method_of(frame, item, "__init__")
    if first is not None:
        made = program.calls[receiver.made] if receiver.made < len(program.calls) else None
        given = made.arguments if made is not None and made.result.known is Known.UNKNOWN else {}
        plain = [argument for key, argument in given.items() if key.isdigit()]
        named: dict[str, Argument] = {key: a for key, a in given.items() if not key.isdigit()}
        program.follow(frame, first, value, plain, named, node)
    return value


def _only(frame: Frame, method: str) -> Class | None:
    """Return the one class, of those that the program's files define, that has a method; of a line of them the last."""
    program = frame.program
    if program.methods is None:
        program.methods = {}
        if "__main__" in program.file.source.text:
            for file in (program.file, *program.file.neighbours):
                _take_in(program.methods, file)
    found = program.methods.get(method, [])
    if not 0 < len(found) <= MOST_CLASSES:
        return None
    parents = {id(p.node) for item in found for p in ancestors(frame, item)}
    last = [item for item in found if id(item.node) not in parents]
    if len(last) != 1 or kind_of(frame, last[0]) != "instance":
        return None
    program.define(last[0])
    return last[0]


MOST_CLASSES = 4


def _take_in(methods: dict[str, list[Class]], file: File) -> None:
    for item in file.classes:
        for node in item.node.body:
            if isinstance(node, ast.FunctionDef):
                methods.setdefault(node.name, []).append(item)


__all__ = ["told_by_method"]

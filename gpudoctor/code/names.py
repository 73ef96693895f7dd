"""What names and attributes mean: through imports and aliases, classes and what they inherit, the other files."""

import ast
import builtins
import itertools
from collections.abc import Iterator

from msgspec.structs import replace

from gpudoctor.code.arithmetic import part_of
from gpudoctor.code.definitions import Class, File, Function
from gpudoctor.code.dictionaries import entry
from gpudoctor.code.environment_variables import named_value
from gpudoctor.code.known_calls import canonical
from gpudoctor.code.program import Frame, one_of
from gpudoctor.facts import UNKNOWN, Known, Thing, Value

BUILTINS = frozenset(vars(builtins))
USUAL = {
    "dist": "torch.distributed",
    "nn": "torch.nn",
    "F": "torch.nn.functional",
    "mp": "torch.multiprocessing",
    "optim": "torch.optim",
    "os": "os",
    "np": "numpy",
    "random": "random",
    "DDP": "torch.nn.parallel.DistributedDataParallel",
    "DistributedDataParallel": "torch.nn.parallel.DistributedDataParallel",
    "DataParallel": "torch.nn.DataParallel",
    "DataLoader": "torch.utils.data.DataLoader",
    "DistributedSampler": "torch.utils.data.DistributedSampler",
}
"""What a name means that only ``from X import *`` can have brought."""
HOLDS = "<data>"
"""The place on the heap that tells that an object was given numbers of this rank's own."""
TOLD = "<ranks>"
"""The place on the heap that tells that some ranks alone called a method of an object."""
FLAG = Value(Known.CHOICE, items=(Value(Known.LITERAL, False), Value(Known.LITERAL, True)), by_rank=True)
"""What such an object says of whether to stop: the ranks that did not call it know nothing of it."""
WRAPPED = ("ddp", "dp", "fsdp")


def looked_up(frame: Frame, identifier: str) -> Value:
    """Return what an identifier means: of the function, of those around it, of the file, of the builtins."""
    at: Frame | None = frame
    while at is not None:
        if identifier in at.names:
            return at.names[identifier]
        at = at.outer
    module = frame.program.globals.get(frame.file.name)
    if module is not None and identifier in module.names:
        return module.names[identifier]
    found = in_file(frame, frame.file, identifier)
    if found is not None:
        return found
    if identifier in BUILTINS or identifier == "torch":  # ``from fastai.text import *`` brings torch, too
        return Value(Known.SYMBOL, text=identifier)
    if identifier in USUAL and frame.file.stars:
        return Value(Known.SYMBOL, text=USUAL[identifier])
    return Value(text=identifier)


def named_in(frame: Frame, file: File, identifier: str) -> Value:
    """Return what an identifier means at the module level of a file, which need not be that of the frame."""
    if file is frame.file:
        return looked_up(frame, identifier)
    module = frame.program.globals.get(file.name)
    if module is not None and identifier in module.names:
        return module.names[identifier]
    return in_file(frame, file, identifier) or Value(text=identifier)


def in_file(frame: Frame, file: File, identifier: str, depth: int = 0) -> Value | None:
    """Return what a file defines or imports under a name, ``None`` where it does neither."""
    program = frame.program
    known = program.meanings.get((file.name, identifier))
    if known is None:
        known = _in_file(frame, file, identifier, depth)
        if known is not None and known.known in LASTING:
            program.meanings[file.name, identifier] = known
    return known


LASTING = (Known.DEFINED, Known.SYMBOL)
"""What a name of a file means whoever asks, and whenever."""


def _in_file(frame: Frame, file: File, identifier: str, depth: int) -> Value | None:
    item = file.names.get(identifier)
    program = frame.program
    if item is None:
        return _starred(frame, file, identifier, depth)
    if isinstance(item, str):
        return symbol(frame, file, item, depth)
    if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return program.define(Function(item.name, item, file))
    if isinstance(item, ast.ClassDef):
        return program.define(Class(item.name, item, file))
    if file is program.file or depth > 3 or (file.name, identifier) in program.looking:
        return None  # it is assigned later, or in another order than this one
    silent = Frame(program, file)
    before = program.mark()
    program.looking.add((file.name, identifier))
    value = program.evaluate(silent, item) if isinstance(item, ast.expr) else UNKNOWN
    program.looking.discard((file.name, identifier))
    if program.mark() != before:
        # What another file does at import is not part of this program's trace.
        program.forget(before)
        return Value(text=identifier, by_rank=value.by_rank, from_data=value.from_data)
    return value


def _starred(frame: Frame, file: File, identifier: str, depth: int) -> Value | None:
    libraries = []
    for module in file.stars:
        other = file.module(module)
        if other is not None and depth <= 3:
            found = in_file(frame, other, identifier, depth + 1)
            if found is not None:
                return found
        elif other is None:
            libraries.append(module)
    if len(libraries) == 1 and libraries[0].startswith("torch") and identifier not in BUILTINS:
        return Value(Known.SYMBOL, text=canonical(f"{libraries[0]}.{identifier}"))
    return None


def symbol(frame: Frame, file: File, dotted: str, depth: int = 0) -> Value:
    """Return what an imported name means: something of a given file, or of a library."""
    front, _, last = dotted.rpartition(".")
    if depth <= 3 and dotted.partition(".")[0] != "torch":
        other = file.module(front) if front else None
        if other is not None:
            found = in_file(frame, other, last, depth + 1)
            if found is not None:
                return found
        whole = file.module(dotted)
        if whole is not None:
            return Value(Known.SYMBOL, text=f"file:{dotted}")
    return Value(Known.SYMBOL, text=dotted)


def member(frame: Frame, value: Value, attribute: str) -> Value:
    """Return what an attribute of a value is."""
    if value.known is Known.CHOICE:
        return one_of([member(frame, item, attribute) for item in value.items])
    program = frame.program
    if value.known is Known.SYMBOL:
        if value.text.startswith("file:"):
            other = frame.file.module(value.text[5:])
            found = in_file(frame, other, attribute) if other is not None else None
            return found or symbol(frame, frame.file, f"{value.text[5:]}.{attribute}")
        if value.text == "absl.flags.FLAGS":
            return _option(frame, attribute)
        return Value(Known.SYMBOL, text=canonical(f"{value.text}.{attribute}"))
    if value.thing >= 0:
        return _of_thing(frame, value, attribute)
    if value.known is Known.DEVICE and attribute == "index" and value.items:
        return value.items[0]
    if value.known is Known.DEVICE and attribute == "type":
        return Value(text=attribute)  # all ranks have a device of one kind, whatever its number is
    if value.known is Known.DEFINED:
        item = program.defined.get(value.text)
        if isinstance(item, Class):
            method = next((m for m in item.methods() if m.node.name == attribute), None)
            return program.define(method) if method else _class_attribute(frame, item, attribute)
    if value.known is Known.MAPPING:
        held = entry(value, attribute)  # a dictionary whose keys are attributes: ``cfg.train.device``
        if held is not None:
            return held
    nested = (Known.UNKNOWN, Known.MAPPING, Known.ARGUMENT)  # ``args.dist.local_rank``
    by_name = named_value(attribute) if value.known in nested else None
    if by_name is not None:
        return by_name
    return replace(part_of(value), text=attribute)


def _of_thing(frame: Frame, value: Value, attribute: str) -> Value:
    program = frame.program
    thing = program.things[value.thing]
    held = program.heap.get((thing.number, attribute))
    if held is not None:
        several = held.known is Known.CHOICE and any(item.is_rank for item in held.items)
        by_name = named_value(attribute) if type(held.literal) is int or several else None
        if several and by_name is not None and held.items[0].is_rank and held.items[0].known != by_name.known:
            by_name = None  # ``args.rank = args.local_rank``, and on another branch something else
        return by_name or held  # ``self.rank = 0`` is what it begins with; another method gives it its value
    if attribute == "module" and thing.kind in WRAPPED and thing.inner >= 0:
        return Value(Known.THING, thing=thing.inner)
    if thing.kind == "compiled" and thing.inner >= 0:
        # OptimizedModule asks what it holds: ``.module`` of a compiled DistributedDataParallel is the model
        inside = Value(Known.THING, thing=thing.inner)
        return inside if attribute == "_orig_mod" else member(frame, inside, attribute)
    if attribute in ("dataset", "sampler", "batch_sampler") and thing.kind == "loader":
        call = program.calls[thing.made]
        given = call.arguments.get(attribute)
        return given.value if given else UNKNOWN
    if thing.kind == "arguments":
        return _option(frame, attribute)
    item = program.defined.get(thing.type)
    if isinstance(item, Class):
        found = method_of(frame, item, attribute)
        if found is not None:
            return program.define(found)
        return _class_attribute(frame, item, attribute)
    by_name = named_value(attribute) if thing.kind == "object" else None
    if thing.kind == "object" and "stop" in attribute.lower() and (thing.number, TOLD) in program.heap:
        return FLAG
    from_data = (thing.number, HOLDS) in program.heap
    return by_name or Value(text=attribute, from_data=from_data, made=thing.made)


def _option(frame: Frame, name: str) -> Value:
    """Return what an option of the command line holds: its name may tell, or its default."""
    default = frame.program.defaults.get(name)
    if default is not None and default.known is Known.LOCAL_RANK:
        return default
    literal = default.literal if default is not None and default.is_literal else None
    return named_value(name) or Value(Known.ARGUMENT, literal, text=name)


def _class_attribute(frame: Frame, item: Class, attribute: str) -> Value:
    """Return what a class's body gives an attribute, or the body of one that it stands on."""
    for one in itertools.chain((item,), ancestors(frame, item)):
        known = frame.program.class_values.get((frame.program.name_of(one), attribute))
        if known is not None and known.known is not Known.UNKNOWN:
            return (named_value(attribute) if type(known.literal) is int else None) or known
        for node in one.node.body:
            target: ast.expr | None = None
            given: ast.expr | None = None
            if isinstance(node, ast.AnnAssign):
                target, given = node.target, node.value
            elif isinstance(node, ast.Assign) and len(node.targets) == 1:
                target, given = node.targets[0], node.value
            if isinstance(target, ast.Name) and target.id == attribute:
                if isinstance(given, ast.Constant):
                    return Value(Known.LITERAL, given.value)
                return named_value(attribute) or Value(text=attribute)
    return named_value(attribute) or Value(text=attribute)


def lacks(frame: Frame, thing: Thing, attribute: str) -> bool:
    """Return whether an object of the script surely has no attribute of a name: no class, and no line, gives it one."""
    item = frame.program.defined.get(thing.type)
    if not isinstance(item, Class) or (thing.number, attribute) in frame.program.heap:
        return False
    line = [item, *ancestors(frame, item)]
    if len(line) <= sum(len(one.node.bases) for one in line):
        return False  # one of them stands on a library's class
    files = [frame.program.file, *(one.file for one in line)]
    words = (f".{attribute}", f"{attribute}:", f"{attribute} =", "setattr(", "__dict__", "__getattr")
    return not any(word in file.source.text for file in files for word in words)


def method_of(frame: Frame, item: Class, attribute: str) -> Function | None:
    """Return a method of a class of the script, one that it inherits too."""
    for one in itertools.chain((item,), ancestors(frame, item)):
        for method in one.methods():
            if method.node.name == attribute:
                return method
    return None


MOST_ANCESTORS = 24
"""How many classes one is taken to stand on: longer lines than any of the corpora has."""


def ancestors(frame: Frame, item: Class) -> tuple[Class, ...]:
    """Return the classes of the script that one stands on, each once, in the order in which Python mostly asks them."""
    known = frame.program.ancestors.get(item.node)
    if known is None:
        known = frame.program.ancestors[item.node] = tuple(_ancestors(frame, item))
    return known


def _ancestors(frame: Frame, item: Class) -> Iterator[Class]:
    seen = {id(item.node)}
    waiting = [(item, base) for base in reversed(item.node.bases)]
    while waiting and len(seen) <= MOST_ANCESTORS:
        below, base = waiting.pop()
        value = base_of(frame, below, base)
        parent = frame.program.defined.get(value.text) if value.known is Known.DEFINED else None
        if isinstance(parent, Class) and id(parent.node) not in seen:
            seen.add(id(parent.node))
            yield parent
            waiting += [(parent, base) for base in reversed(parent.node.bases)]


def base_of(frame: Frame, item: Class, node: ast.expr) -> Value:
    """Return what stands among the bases of a class, as the file means it that defines the class."""
    if isinstance(node, ast.Name):
        return named_in(frame, item.file, node.id)
    if isinstance(node, ast.Attribute):
        holder = base_of(frame, item, node.value)
        if holder.thing >= 0:
            return UNKNOWN
        if (
            item.file is not frame.file and holder.known is Known.SYMBOL
        ):  # a module that the class's file imports
            frame = Frame(frame.program, item.file)
        return member(frame, holder, node.attr)
    if isinstance(node, ast.Subscript):
        return base_of(frame, item, node.value)
    return UNKNOWN

"""Objects that hold a script's settings: namespaces, dictionaries with attributes, and what parsers make of classes."""

import ast

from gpudoctor.code.definitions import Class
from gpudoctor.code.dictionaries import known
from gpudoctor.code.environment_variables import named_value
from gpudoctor.code.program import Frame
from gpudoctor.facts import UNKNOWN, Argument, Known, Value

NAMESPACES = frozenset(
    "types.SimpleNamespace argparse.Namespace easydict.EasyDict omegaconf.OmegaConf.create munch.Munch addict.Dict "
    "ml_collections.ConfigDict box.Box".split()
)
"""What makes an object whose attributes are its keywords, or the keys of the dictionary that it is given."""
FROM_CLASS = frozenset("tyro.cli simple_parsing.parse draccus.parse pyrallis.parse".split())
"""Functions that read the command line into a dataclass that they are given (their documentation)."""
FROM_CLASSES = "transformers.HfArgumentParser"


def stated(frame: Frame, node: ast.Call, name: str, arguments: dict[str, Argument]) -> Value | None:
    """Return the settings that a call makes, ``None`` where it makes none."""
    if name in NAMESPACES:
        return _namespace(frame, node, name, arguments)
    if name in FROM_CLASS:
        return next((found for a in arguments.values() if (found := _instance(frame, node, a.value))), None)
    if name.startswith("absl.flags.DEFINE_"):
        values = [argument.value for argument in arguments.values()]
        if len(values) > 1 and isinstance(values[0].literal, str):
            frame.program.defaults[values[0].literal] = values[1]
    return None


def _namespace(frame: Frame, node: ast.Call, name: str, arguments: dict[str, Argument]) -> Value:
    made = frame.program.thing("arguments", name, frame.place(node))
    held = {key: argument.value for key, argument in arguments.items() if not key.isdigit()}
    first = arguments.get("0")
    if first is not None and known(first.value):
        held = {**dict(zip(first.value.literal, first.value.items, strict=True)), **held}
    for key, value in held.items():
        frame.program.hold(made.thing, str(key), value)
        frame.program.hold(made.thing, f"[{key!r}]", value)
    return made


def _instance(frame: Frame, node: ast.AST, value: Value) -> Value | None:
    """Return an object of a class of the script, ``None`` where the value is no such class."""
    item = frame.program.defined.get(value.text) if value.known is Known.DEFINED else None
    if not isinstance(item, Class):
        return None
    return frame.program.thing("instance", frame.program.name_of(item), frame.place(node))


def _parsed(frame: Frame, number: int) -> Value | None:
    """Return what a parser of dataclasses makes of the command line, ``None`` where its classes are not known."""
    program = frame.program
    parser = program.things[number]
    if parser.type != FROM_CLASSES or parser.made < 0:
        return None
    given = [argument.value for argument in program.calls[parser.made].arguments.values()]
    classes = [item for value in given for item in (value.items or (value,))]
    tree = frame.file.source.tree
    made = [_instance(frame, tree, item) for item in classes]
    return Value(Known.SEQUENCE, items=tuple(item or Value() for item in made)) if any(made) else None


def of_parser(frame: Frame, attribute: str, arguments: dict[str, Argument], receiver: Value) -> Value:
    """Return what a method of a parser of the command line comes to."""
    program = frame.program
    if attribute == "add_argument":
        names = [
            a.value.literal
            for key, a in arguments.items()
            if key.isdigit() and isinstance(a.value.literal, str)
        ]
        given = arguments.get("dest")
        long = next((name for name in names if name.startswith("--")), names[0] if names else "")
        name = given.value.literal if given and isinstance(given.value.literal, str) else long.lstrip("-")
        if name and "default" in arguments:
            program.defaults[name.replace("-", "_")] = arguments["default"].value
        told = (
            named_value(other.lstrip("-")) for other in names
        )  # ``--rank`` and ``--local_rank``: the launcher's
        local = next((value for value in told if value and value.known is Known.LOCAL_RANK), None)
        if local is not None and len(names) > 1:
            program.defaults[name.replace("-", "_")] = local
        return UNKNOWN
    if attribute in ("add_argument_group", "add_mutually_exclusive_group"):
        return receiver
    if attribute == "parse_args_into_dataclasses":
        return _parsed(frame, receiver.things[0]) or UNKNOWN
    if attribute in ("parse_args", "parse_known_args", "parse_intermixed_args"):
        call = program.things[receiver.things[0]]
        value = program.thing("arguments", "argparse.Namespace", call.place, receiver.things[0])
        return Value(Known.SEQUENCE, items=(value, UNKNOWN)) if attribute == "parse_known_args" else value
    return UNKNOWN

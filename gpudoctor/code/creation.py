"""The objects that calls of libraries make."""

import ast
import functools
import re

from msgspec.structs import replace

from gpudoctor.code.consequences import PROCESS
from gpudoctor.code.known_calls import kind
from gpudoctor.code.names import HOLDS
from gpudoctor.code.namespaces import stated
from gpudoctor.code.program import Frame
from gpudoctor.code.results import HARMLESS
from gpudoctor.facts import UNKNOWN, WRAPPERS, Argument, Known, Value

ACCELERATOR = "accelerate.Accelerator"
MAKER = re.compile(
    r"(?:^|\.)[A-Z]\w*[a-z]\w*$|(?:build|create|get|make|load|init)_\w*(?:model|net|network|encoder|decoder)"
)
"""Names of what is not seen here and surely makes an object: a class, or a function called after what it makes."""

OPTIMIZING = ("apex.amp.initialize", "intel_extension_for_pytorch.optimize")
MODEL = re.compile(r"(?:^|[._])(?:model|net|network|unet|generator|discriminator)$")
"""Names of what is a model where nothing more is known of it."""
OTHER = re.compile(r"(?i)optim|(?:^|[._])opt(?:$|_)|sched|loader|(?:^|[._])dl$|data")
"""Names of what is no model, though its class be a module of the script's own."""


def made(
    frame: Frame,
    node: ast.Call,
    name: str,
    arguments: dict[str, Argument],
    receiver: Value,
    attribute: str,
) -> Value | None:
    """Return the thing that a library's class or function makes, ``None`` where it makes none."""
    program = frame.program
    if attribute == "state_dict" and receiver.things:
        bare = any(value.known is Known.UNKNOWN and value.text == "module" for value in receiver.possible())
        inner = -1 if bare else _stated(frame, node, receiver)  # ``model.module if distributed else model``
        return program.thing("state_dict", "state_dict", frame.place(node), inner)
    if name == f"{ACCELERATOR}.prepare":
        return _prepared(frame, node, arguments)
    if name == "deepspeed.initialize":
        engine = program.thing("object", "deepspeed.DeepSpeedEngine", frame.place(node))
        return Value(
            Known.SEQUENCE, items=(engine, *(Value(text=t) for t in ("optimizer", "loader", "scheduler")))
        )
    if name == PROCESS:
        return program.thing("process", name, frame.place(node))
    if name == "multiprocessing.get_context":
        return program.thing("object", name, frame.place(node))
    if name == "collections.namedtuple":
        return _named_tuple(arguments)
    if name in OPTIMIZING:  # they hand back the model and the optimizer that they are given
        handed = tuple(argument.value for argument in arguments.values())[:2]
        return handed[0] if len(handed) == 1 else Value(Known.SEQUENCE, items=handed)
    settings = stated(frame, node, name, arguments)
    if settings is not None:
        return settings
    what = kind(name) if receiver.thing < 0 and receiver.known is not Known.CHOICE else ""
    if (
        not what
        and name not in HARMLESS
        and not receiver.things
        and (_makes(name) or _capital(name, arguments))
    ):
        new = program.thing("object", name, frame.place(node))
        if name.startswith("torch.distributions.") and any(a.value.from_data for a in arguments.values()):
            program.hold(new.thing, HOLDS, Value(from_data=True))  # what is drawn of it is this rank's own
        return new
    if not what:
        return None
    if name == "torch.nn.SyncBatchNorm.convert_sync_batchnorm":
        return arguments["module"].value if "module" in arguments else None
    inner = -1
    if what in WRAPPERS:
        inner = _given(arguments, "module", "model")
        _learnt(frame, inner, "model")
    elif what == "loader" or what == "sampler" or name == "torch.utils.data.Subset":
        inner = _given(arguments, "dataset", "data_source", "sampler")
        _learnt(frame, inner, "dataset" if what == "loader" else "")
    elif what == "model" and name.rpartition(".")[2] in ("Sequential", "ModuleList", "ModuleDict"):
        inner = next((t for a in arguments.values() for t in a.value.things), -1)
    elif what == "optimizer":
        given = arguments.get("params")
        inner = _owner(frame, given.value) if given else -1
    return program.thing(what, name, frame.place(node), inner)


NAMED_TUPLE = "<namedtuple>"
"""The text of what ``collections.namedtuple`` returns; its items are the names of the fields."""


def _named_tuple(arguments: dict[str, Argument]) -> Value:
    given = [argument.value for argument in arguments.values()][1:2]
    written = given[0] if given else UNKNOWN
    names = [item.literal for item in written.items]
    if isinstance(written.literal, str):
        names = written.literal.replace(",", " ").split()
    fields = tuple(Value(Known.LITERAL, name) for name in names if isinstance(name, str))
    return Value(text=NAMED_TUPLE, items=fields)


@functools.lru_cache(4096)
def _makes(name: str) -> bool:
    return MAKER.search(name) is not None


CAPITALS = re.compile(r"\.[A-Z][A-Z0-9]+$")
"""What is imported and called after its initials: GPT, VAE, UNET; some are functions of tensors, as SSIM is."""


def _capital(name: str, arguments: dict[str, Argument]) -> bool:
    """Return whether a call makes an object of a class that is called by its initials."""
    given = [argument.value for argument in arguments.values()]
    tensors = any(value.from_data or value.known is Known.TENSOR for value in given)
    return CAPITALS.search(name) is not None and not name.startswith("torch.") and not tensors


def _stated(frame: Frame, node: ast.Call, receiver: Value) -> int:
    """Return the module whose state dict is asked for: of several a wrapper that took the name of what it holds.

    ``model = DataParallel(model)`` may stand in either of two branches; where something asks for `.module`, the name
    may be the bare model's again.
    """
    program = frame.program
    text = frame.text(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    for number in receiver.things[1:]:
        thing = program.things[number]
        made = program.calls[thing.made] if 0 <= thing.made < len(program.calls) else None
        given = made.arguments.get("module") if made is not None and thing.kind in ("ddp", "dp") else None
        if given is not None and given.text == text:
            asked = (c for c in program.calls if c.name.endswith(".module.__get__"))
            return receiver.things[0] if any(number in c.receiver.things for c in asked) else number
    return receiver.things[0]


def _prepared(frame: Frame, node: ast.Call, arguments: dict[str, Argument]) -> Value:
    """Return what accelerate's ``prepare`` hands back: models in a wrapper, the rest as it was given, in its order."""
    program = frame.program
    items = []
    for argument in arguments.values():
        value = argument.value
        known = (
            program.kind(value) in ("model", "object")
            and value.thing >= 0
            and not OTHER.search(argument.text)
        )
        if known or (value.known is Known.UNKNOWN and MODEL.search(argument.text)):
            value = program.thing("prepared", f"{ACCELERATOR}.prepare", frame.place(node), value.thing)
        items.append(value)
    return items[0] if len(items) == 1 else Value(Known.SEQUENCE, items=tuple(items))


def _given(arguments: dict[str, Argument], *names: str) -> int:
    """Return the thing that the first of several arguments is which is given, -1 where it is none."""
    given = next((arguments[name] for name in names if name in arguments), None)
    return next(iter(given.value.things), -1) if given else -1


def _learnt(frame: Frame, number: int, kind: str) -> None:
    """Note what an object is that nothing was known of: what is wrapped is a model, what is loaded a data set."""
    things = frame.program.things
    if kind and number >= 0 and things[number].kind == "object":
        things[number] = replace(things[number], kind=kind)


def _owner(frame: Frame, value: Value) -> int:
    """Return the module whose parameters a value is, -1 where that is not known."""
    for item in value.possible():
        if item.made >= 0 and item.made < len(frame.program.calls):
            call = frame.program.calls[item.made]
            if call.method in ("parameters", "named_parameters") and call.receiver.things:
                return call.receiver.things[0]
        for nested in item.items:
            found = _owner(frame, nested)
            if found >= 0:
                return found
    return -1

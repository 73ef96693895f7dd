"""What a call sets going: processes that it starts, functions that it hands to somebody, things that leave sight."""

import ast

from gpudoctor.code.definitions import Function
from gpudoctor.code.names import FLAG, HOLDS, TOLD
from gpudoctor.code.program import Frame
from gpudoctor.code.results import BAR, HARMLESS, of_some
from gpudoctor.facts import Argument, Known, Value

_METRICS = ("torch", "ignite.", "evaluate.", "datasets.")
"""Libraries whose metrics are computed over all ranks."""
SPAWN, PROCESS = "torch.multiprocessing.spawn", "multiprocessing.Process"


def started(frame: Frame, node: ast.Call, name: str, arguments: dict[str, Argument]) -> None:
    """Follow what runs in a process, or thread, that is started here."""
    if name == SPAWN:
        target, index = arguments.get("fn"), [Value(Known.LOCAL_RANK, text="spawn", by_rank=True)]
    elif name in (PROCESS, "threading.Thread"):
        target, index = arguments.get("target"), []
    else:
        return
    if target is None:
        return
    given = arguments.get("args")
    values = list(given.value.items) if given and given.value.known is Known.SEQUENCE else []
    if name == PROCESS:
        values = [
            Value(Known.RANK, text="process", by_rank=True) if v.known is Known.INDEX else v for v in values
        ]
    place = given.place if given else frame.place(node)
    ready, keywords = frame.program.partials.get(target.value.made, ([], {}))
    positional = [*ready, *(Argument(value, place) for value in [*index, *values])]
    item = frame.program.defined.get(target.value.text) if target.value.known is Known.DEFINED else None
    if isinstance(item, Function):
        before = frame.spawned, frame.loops
        frame.spawned, frame.loops = True, ()
        frame.program.follow(
            frame, item, frame.program.holder(target.value, item), positional, keywords, node
        )
        frame.spawned, frame.loops = before


def called_at_once(
    frame: Frame, node: ast.Call, name: str, attribute: str, arguments: dict[str, Argument]
) -> Value | None:
    """Follow a function of the script that a known one calls before it returns, and return what that gives."""
    first, *rest = arguments.values() if arguments else (None,)
    own = (
        frame.program.defined.get(first.value.text) if first and first.value.known is Known.DEFINED else None
    )
    if first is None or not isinstance(own, Function):
        return None
    step = attribute == "step" and name.startswith("torch.optim.")
    if not step and name != "torch.utils.checkpoint.checkpoint":
        return None
    self_value = frame.program.holder(first.value, own)
    return frame.program.follow(frame, own, self_value, [] if step else rest, {}, node)


def handed_over(frame: Frame, name: str, arguments: dict[str, Argument], receiver: Value) -> None:
    """Note what goes where its use is not seen, and functions that somebody else will call."""
    program = frame.program
    own = (
        name.startswith(("torch.", "torchvision.", "torch_geometric.loader."))
        or receiver.things
        or name in HARMLESS
        or name.endswith(BAR)
    )
    for argument in arguments.values():
        for value in argument.value.possible():
            if value.known is Known.DEFINED and isinstance(program.defined.get(value.text), Function):
                under = tuple(test for test in frame.conditions if test.kind == "main" or test.by_rank)
                program.deferred.append((value, under))
        if not own:
            program.escape(argument.value)
        if receiver.thing >= 0 and argument.value.from_data:
            _kept(frame, receiver.thing)
    if receiver.thing >= 0 and program.things[receiver.thing].kind == "object":
        by_some = any(test.by_rank and not test.early for test in frame.conditions)
        if by_some or any(of_some(argument) for argument in arguments.values()):
            program.hold(receiver.thing, TOLD, FLAG)


def _kept(frame: Frame, number: int) -> None:
    """Note that an object that is not known was given this rank's numbers: what it says later comes from them."""
    thing = frame.program.things[number]
    if thing.kind == "object" and not thing.type.startswith(_METRICS):
        frame.program.hold(number, HOLDS, Value(from_data=True))

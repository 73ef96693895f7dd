"""What a script writes: which ranks do, and whether to one file."""

import re
from collections.abc import Iterator

from gpudoctor.facts.script import Call, Script
from gpudoctor.facts.script_values import Known, Value
from gpudoctor.patterns import late_pattern

MAIN = late_pattern(
    r"rank|main_process|is_main|\bmain\b|is_master|master|is_root|is_primary|global_zero|is_leader", re.I
)
"""What a test names that lets one process through."""
OWN = ("tempfile.", "uuid.", "os.getpid", "socket.gethostname", "platform.node")
"""What gives every process a path of its own."""
DEEPEST = 6


def one_alone(call: Call) -> bool:
    """Return whether a call stands under a test that may keep it to one rank, as far as words tell."""
    return any(condition.by_rank or MAIN.search(condition.text) for condition in call.conditions)


def origins(script: Script, value: Value, depth: int = 0) -> Iterator[Call]:
    """Yield the calls that a value comes from, and those that their arguments come from."""
    for item in value.possible():
        if 0 <= item.made < len(script.calls):
            call = script.calls[item.made]
            yield call
            if depth < DEEPEST:
                yield from origins(script, call.receiver, depth + 1)
                for argument in call.arguments.values():
                    yield from origins(script, argument.value, depth + 1)
        if depth < DEEPEST:
            for nested in item.items:
                yield from origins(script, nested, depth + 1)


def same_for_all(script: Script, value: Value, text: str) -> bool:
    """Return whether a path is surely the same one on every rank of a node."""
    if value.by_rank or MAIN.search(text):
        return False
    if value.known is Known.UNKNOWN and value.text == text and value.made < 0:
        return False  # a parameter that nobody gives
    for call in origins(script, value):
        if (
            call.name.startswith(OWN)
            or "temp" in call.name.lower()
            or call.name in ("io.BytesIO", "io.StringIO")
        ):
            return False
        if any(a.value.by_rank or MAIN.search(a.text) for a in call.arguments.values()):
            return False
    return True


def of_several(script: Script, call: Call) -> bool:
    """Return whether a call surely happens in a program of several ranks that distributes by torch alone."""
    if next(script.named("accelerate.Accelerator.prepare"), None) is not None:
        if {"lightning", "transformers"} & {*script.frameworks}:
            return False
    elif not script.distributed or (script.frameworks and script.process_group is None):
        return False
    making = [other for other in script.calls if other.name in MAKING and other.reached]
    if making and all(other.spawned for other in making) and not call.spawned:
        return False  # the process that starts the ranks, before or after them
    if call.reached:
        return True
    owner = call.scope.partition(".")[0] if "." in call.scope else ""
    for other in script.calls:
        if other.name in MAKING and not other.reached:
            if other.stack[:1] == call.stack[:1] or (owner and other.scope.partition(".")[0] == owner):
                return True
    return False


MAKING = frozenset(
    {
        "torch.distributed.init_process_group",
        "torch.nn.parallel.DistributedDataParallel",
        "torch.distributed.fsdp.FullyShardedDataParallel",
        "accelerate.Accelerator.prepare",
    }
)
"""Calls that only a program of several ranks makes."""

__all__ = ["of_several", "one_alone", "origins", "same_for_all"]

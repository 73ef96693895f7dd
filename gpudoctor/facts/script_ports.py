"""Where a script's ranks take the port at which they meet."""

import re
from collections.abc import Iterator
from enum import Enum

from gpudoctor.facts.script import Script
from gpudoctor.facts.script_calls import Call
from gpudoctor.facts.script_files import origins
from gpudoctor.facts.script_values import Value

CHOOSES = {"getsockname", "random.randint", "random.randrange", "random.choice", "numpy.random.randint"}
"""Functions that give every process a port of its own, where nothing seeds them."""
CLOCKS = {
    "datetime.datetime.now",
    "datetime.datetime.today",
    "time.time",
    "time.time_ns",
    "time.strftime",
    "time.localtime",
}


class OwnPort(Enum):
    """How a rank comes to a port of its own."""

    CLOCK = "clock"
    CHOICE = "choice"
    NAMED = "named"


def own_ports(script: Script) -> Iterator[tuple[OwnPort, Call, Call]]:
    """Yield how each rank takes a port of its own, the call that gives it, and the process group that it is for."""
    for group in script.named("torch.distributed.init_process_group"):
        several = group.spawned or not group.reached or group.value("rank").is_rank
        if group.value("world_size").literal == 1 or _alone(script, group) or not several:
            continue
        chain = [[*origins(script, port)] for port in _ports(script, group)]
        for chosen in (call for calls in chain if not any(map(_agrees, calls)) for call in calls):
            if _handed_over(script, chosen) or _for_one(script, chosen):
                continue  # who starts the others is a rank itself
            if chosen.spawned != group.spawned or chosen.rank_conditions:
                continue
            if chosen.name in CLOCKS:
                yield OwnPort.CLOCK, chosen, group
            elif (chosen.name in CHOOSES and not _seeded(script, chosen)) or chosen.method in CHOOSES:
                yield OwnPort.CHOICE, chosen, group
            elif _looks_for_one(chosen):
                yield OwnPort.NAMED, chosen, group


FREE = re.compile(r"_?(?:find|get|pick)_(?:a_)?(?:free|open|unused|available)_(?:\w+_)?port")
"""How functions of other files are called that look for a port: each process finds one of its own."""


def _looks_for_one(chosen: Call) -> bool:
    """Return whether a call is one of a function that is not seen here, and looks for a port by its name."""
    seen = "." not in chosen.name or bool(chosen.receiver.things)
    return (
        FREE.fullmatch(chosen.method) is not None
        and not seen
        and all(c.kind == "main" for c in chosen.conditions)
    )


def _seeded(script: Script, chosen: Call) -> bool:
    """Return whether what draws a port may be seeded before, by its own library or by a function that is not seen.

    Python's, NumPy's and torch's generators know nothing of each other's seeds.
    """
    library = chosen.name.rpartition(".")[0]
    before = (call for call in script.calls[: chosen.number] if "seed" in call.method.lower())
    return any(not call.name.startswith(OTHERS) or call.name.startswith(f"{library}.") for call in before)


OTHERS = ("random.", "numpy.", "torch.")
"""How the names of functions begin that seed one library's generator alone."""


def _ports(script: Script, group: Call) -> list[Value]:
    """Return what may hold the port of a process group: its address, and what MASTER_PORT is set to before."""
    given = group.value("init_method")  # of env:// torch reads the variables, whatever stands behind it
    ports = [] if given.text.startswith("env:") else [given]
    ports += [
        call.value("value")
        for call in script.named("os.environ.__setitem__")
        if call.variable == "MASTER_PORT" and call.number < group.number and not call.rank_conditions
        if group.reached or call.stack[:1] == group.stack[:1] or _on_each_rank(script, call)
    ]
    return ports


STARTS = (
    "torch.multiprocessing.spawn", "torch.multiprocessing.start_processes", "torch.multiprocessing.Process",
    "multiprocessing.Process",
)  # fmt: skip


def _handed_over(script: Script, chosen: Call) -> bool:
    """Return whether what one process chose is given to the processes that it starts."""
    given = [argument.value for call in script.named(*STARTS) for argument in call.arguments.values()]
    return any(chosen in origins(script, part) for value in given for part in (value, *value.items))


def _for_one(script: Script, chosen: Call) -> bool:
    """Return whether the function that takes a port sets itself up for one rank: ``self.world_size = 1``."""
    return any(
        call.value("value").literal in (1, "1") and call.stack in (chosen.stack, chosen.stack[:-1])
        for call in script.methods("__set__")
        if "world_size" in call.text.lower()
    )


def _on_each_rank(script: Script, setting: Call) -> bool:
    """Return whether a function is one that each rank calls: beside the port it sets the rank that it is given."""
    return any(
        call.variable in ("RANK", "LOCAL_RANK")
        and call.scope == setting.scope
        and not call.value("value").is_literal
        for call in script.named("os.environ.__setitem__")
    )


def _alone(script: Script, group: Call) -> bool:
    """Return whether a script says itself that there is one rank: ``os.environ["WORLD_SIZE"] = "1"``."""
    return not group.given("world_size") and any(
        call.variable == "WORLD_SIZE" and call.value("value").literal == "1"
        for call in script.named("os.environ.__setitem__")
    )


def _agrees(call: Call) -> bool:
    """Return whether a call hands every rank the same, as MPI's bcast does."""
    return any(word in call.method.lower() for word in ("bcast", "broadcast", "scatter", "gather", "reduce"))

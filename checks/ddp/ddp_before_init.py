"""DistributedDataParallel, or its sampler, is made before the process group.

## What happens

The constructor ends with "Default process group has not been initialized, please make sure to call init_process_group".

## Why

DistributedDataParallel compares the parameters of all ranks and broadcasts rank 0's, and `DistributedSampler` asks the group for rank and
world size. In a script that uses `mp.spawn`, the parent process has no group: what needs one is made in the children.

## How to tell

`torch.distributed.is_initialized()` in the line above is `False`.

## See also

- [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html): "Creation of this class requires that torch.distributed to be already initialized"
"""

import re
import sys
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Script

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where a variable or an option decides whether there is a group",
    fixes=[
        Fix(
            "Make the process group first",
            'dist.init_process_group("nccl")\nmodel = DistributedDataParallel(model, device_ids=[local_rank])',
            Kind.EDIT,
        ),
    ],
    no_reproduction="the error is that of process-group-uninitialized",
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """What needs the group and comes before it, in one process or in the parent of those that have it."""
    made = script.process_group or _set_up(script)
    if made is not None and not made.reached:
        yield from _never_called(script, made)
    if made is None:
        yield from _made_nowhere(script)
    if made is None or not made.reached or "try" in made.contexts:
        return
    yield from _without_a_group(script, made)
    for call in script.calls[: made.number]:
        needs = call.name == "torch.nn.parallel.DistributedDataParallel" or (
            call.name == "torch.utils.data.DistributedSampler"
            and not (call.given("num_replicas") and call.given("rank"))
        )
        if not needs or not call.reached or (call.spawned != made.spawned and call.spawned):
            continue
        if made.deferred != call.deferred:
            continue
        if any("is_initialized" in condition.text for condition in call.conditions):
            continue
        if call.scope != made.scope and any(
            ASKS.search(c.text) for c in call.conditions if c not in made.conditions
        ):
            continue  # with several ranks another way may lead there
        where = "in the processes that are started later" if made.spawned and not call.spawned else "later"
        yield check.found(
            f"{call.method} is made here, and the process group only {where}, in line {made.place}",
            location=call.place,
        )


def _never_called(script: Script, made: Call) -> Iterator[Finding]:
    """Report a program that wraps its model, and whose own function for the group nobody calls."""
    own = (
        all(c.place.path == script.path and not c.reached for c in script.named(made.name))
        and made.scope != "<module>"
    )
    others = (c for c in script.calls if c.reached and not c.name.startswith(("torch.", "os.")))
    if not own or script.frameworks or any(MAY_SET_UP.search(call.name.lower()) for call in others):
        return
    for call in script.named("torch.nn.parallel.DistributedDataParallel"):
        plain = all(test.kind == "main" for test in call.conditions) and "try" not in call.contexts
        if call.reached and plain and call.place.path == script.path and not call.given("process_group"):
            yield check.found(
                f"{call.method} is made here, and the one place that makes the process group is {made.scope}() (line "
                f"{made.place}), which nothing calls",
                location=call.place,
            )
            return


def _made_nowhere(script: Script) -> Iterator[Finding]:
    """Report a main program that always wraps its model, and in which nothing makes a group, here or where it is not seen."""
    away = any(_may_set_up(name) or OF_RANKS.search(name) for name in script.imports)
    if script.frameworks or not script.complete or away or not _is_a_program(script):
        return
    for call in script.named(*WRAPPERS):
        if not _always(call) or {"process_group", "device_mesh"} & {*call.arguments}:
            continue
        before = [c for c in script.calls[: call.number] if c.reached and c.name not in WRAPPERS]
        unseen = [c.method for c in before if not _of_a_library(c)]
        asked = any(_may_set_up(c.name) for c in before if "." in c.name and c.method != "__init__")
        if asked or not all(map(OF_PARTS.search, unseen)):
            return
        yield check.found(
            f"{call.method} is made here, and nothing in this script makes a process group: torchrun makes none either",
            severity=Severity.WARNING if unseen else Severity.ERROR,
            location=call.place,
        )
        return


def _is_a_program(script: Script) -> bool:
    """Return whether a file is started itself, and is no part of what another one has begun."""
    return any(call.reached for call in script.methods("backward")) or any(
        test.kind == "main" for call in script.calls for test in call.conditions
    )


def _always(call: Call) -> bool:
    """Return whether a call happens in every run of the program, by what is seen."""
    tests = {test.kind for test in call.conditions}
    return (
        call.reached
        and not call.deferred
        and not call.starred
        and tests <= {"main"}
        and "try" not in call.contexts
    )


WRAPPERS = ("torch.nn.parallel.DistributedDataParallel", "torch.distributed.fsdp.FullyShardedDataParallel")


def _may_set_up(name: str) -> bool:
    """Return whether what is called or imported under a name may make the process group."""
    if name.partition(".")[0] in KNOWN:
        return name.startswith("torch.") and OF_TORCH.search(name) is not None
    return MAY_SET_UP.search(name.lower()) is not None or name.rpartition(".")[2] in (
        "init",
        "initialize",
        "*",
    )


OF_TORCH = re.compile(r"init_(?:process|device|rpc)|\.testing\.|Join|elastic")
"""What of torch makes a process group, or belongs to a program that has one."""
KNOWN = {
    *sys.stdlib_module_names,
    *"torch torchvision torchaudio numpy scipy pandas matplotlib PIL cv2 tqdm transformers datasets".split(),
}
"""Libraries that make no process group when they are called."""


def _of_a_library(call: Call) -> bool:
    """Return whether a call is one of a builtin, of the script's own, of an object's method, or of a library that is known."""
    first, dot, _ = call.name.partition(".")
    return not dot or not first or bool(call.receiver.things) or first in KNOWN


OF_RANKS = re.compile(r"rank|slurm|mpi\b|mpi4py|horovod|world|xla", re.I)
"""What a file is called that may make the group when it is imported."""
OF_PARTS = re.compile(r"model|net|data|loader|tokenizer", re.I)
"""How functions are called that make a part of a training, and no process group."""


def _set_up(script: Script) -> Call | None:
    """Return the first call that surely makes the group where it is not seen: ``setup(rank, world_size)``."""
    if script.frameworks:
        return None
    for call in script.calls:
        if call.reached and not call.receiver.things and not call.name.startswith(("torch.", "os.")):
            told = any(a.value.is_rank for a in call.arguments.values()) or "dist" in call.name.lower()
            if SETS_UP.fullmatch(call.method) and told:
                return call
            if MAY_SET_UP.search(call.name.lower()):
                return None
    return None


SETS_UP = re.compile(
    r"(?:setup|init|initiali[sz]e)(?:_(?:ddp|dist|distributed|process_groups?|distributed_mode))?|(?:ddp|dist|distributed)_(?:setup|init)"
)
"""What a function is called that makes the process group and is told the rank."""
MAY_SET_UP = re.compile(r"dist|ddp|setup|set_up|init_|launch|env|parallel|prepare|context|engine")
"""Words in the names of functions that may make one."""


def _without_a_group(script: Script, made: Call) -> Iterator[Finding]:
    """Report a model that is wrapped always, where a variable or option decides whether there is a group."""
    tests = [c for c in made.conditions if c.kind == "if" and not c.early]
    if len(tests) != 1 or len(list(script.named(made.name))) > 1 or not PLAIN.fullmatch(tests[0].text):
        return
    for wrapper in script.named("torch.nn.parallel.DistributedDataParallel"):
        under = [c for c in wrapper.conditions if c.kind != "main"]
        if not under and wrapper.reached and wrapper.number > made.number and "try" not in wrapper.contexts:
            yield check.found(
                f"the process group is made only if {tests[0].text}, line {made.place}, and the model is wrapped whether "
                "it was or not",
                severity=Severity.WARNING,
                location=wrapper.place,
            )
            return


ASKS = re.compile(r"ddp|dist|parallel|world_size|gpu", re.I)
PLAIN = re.compile(r"(?:\w+\.)?(?:is_)?(?:ddp|distributed|dist|use_ddp|use_dist|multi_gpu|parallel)")
"""A test that asks whether there are several ranks."""

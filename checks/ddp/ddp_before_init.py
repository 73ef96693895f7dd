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
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import MAY_SET_UP, Call, Script, made_nowhere

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
    for call, unseen in made_nowhere(script, WRAPPERS):
        yield check.found(
            f"{call.method} is made here, and nothing in this script makes a process group: torchrun makes none either",
            severity=Severity.WARNING if unseen else Severity.ERROR,
            location=call.place,
        )


WRAPPERS = ("torch.nn.parallel.DistributedDataParallel", "torch.distributed.fsdp.FullyShardedDataParallel")


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

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

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Script

check = Check(
    severity=Severity.ERROR,
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
    made = script.process_group
    if made is None or not made.reached or "try" in made.contexts:
        return
    for call in script.calls[: made.number]:
        needs = call.name == "torch.nn.parallel.DistributedDataParallel" or (
            call.name == "torch.utils.data.DistributedSampler"
            and not (call.given("num_replicas") and call.given("rank"))
        )
        if not needs or not call.reached or (call.spawned != made.spawned and call.spawned):
            continue
        if any("is_initialized" in condition.text for condition in call.conditions):
            continue
        where = "in the processes that are started later" if made.spawned and not call.spawned else "later"
        yield check.found(
            f"{call.method} is made here, and the process group only {where}, in line {made.place.line}",
            location=call.place,
        )

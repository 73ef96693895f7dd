"""The script uses a part of torch.distributed that is deprecated or gone.

## What happens

A warning names the old part and the new one: "torch.distributed.reduce_op is deprecated", "The module
torch.distributed.launch is deprecated". What has been removed since fails: "module 'torch.distributed' has no attribute
'all_reduce_multigpu'", and `group=0` gives "'int' object has no attribute 'allreduce'".

## Why

The script was written for an older torch. `group=0` once meant all ranks; today a group is an object. The functions
`*_multigpu` served several GPUs from one process and went with torch 2.1: now each process has one GPU.

## How to tell

The version that warns still works, so the warning alone is not why a run failed. `torchrun` sets `LOCAL_RANK` where
`torch.distributed.launch` passes `--local-rank`: a script without that argument fails at once (`launch-local-rank`).

## See also

- [Launch utility](https://docs.pytorch.org/docs/stable/distributed.html#launch-utility): torch.distributed.launch gives way to torchrun
- [Multi-GPU collective functions](https://docs.pytorch.org/docs/stable/distributed.html#multi-gpu-collective-functions): deprecated, one device per thread instead
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import Call, Script

COLLECTIVE = r"(?:all_reduce|broadcast|reduce|all_gather|reduce_scatter)_multigpu"

check = Check(
    severity=Severity.NOTE,
    otherwise="an error for what is gone, and for a number as the group",
    symptoms=[
        r"(?P<old>torch\.distributed\.reduce_op)`? is deprecated",
        r"[Tt]he module (?P<old>torch\.distributed\.launch) is deprecated",
        r"Note that (?P<old>--use[-_]env) is set by default in torchrun",
        r"(?P<old>--use[-_]env) is deprecated and will be removed in future releases",
        rf"(?P<old>torch\.distributed\.(?:{COLLECTIVE}|\w+_coalesced))`? will be deprecated",
        r"(?P<old>torch\.distributed\._\w+_base)`? is a private function and will be deprecated",
        r"(?P<old>torch\.distributed\.distributed_c10d\.\w+)`? is deprecated,? please use",
        r"(?P<old>FSDP\.state_dict_type\(\)) and FSDP\.set_state_dict_type\(\) are being deprecated",
        r"(?P<old>broadcast_buffers)`? is deprecated\. Use `?forward_sync_buffers",
        r"(?P<old>check_reduction)`? argument in `?DistributedDataParallel`? module is deprecated",
        # gone
        rf"module '?torch\.distributed(?:\.distributed_c10d)?'? has no attribute '?(?P<gone>{COLLECTIVE}|reduce_op|deprecated)\b",
        rf"cannot import name '(?P<gone>{COLLECTIVE}|reduce_op)' from 'torch\.distributed",
        r"'int' object has no attribute '(?P<group>allreduce|allgather|reduce_scatter|alltoall|_allgather_base)'",
        Symptom(
            r"'int' object has no attribute '(?P<group>broadcast|reduce|gather|scatter|size|rank|barrier|bound_device_id)'",
            near=r"distributed[/\\](?:distributed_c10d|c10d_logger)\.py",
        ),
        r"(?P<gone>TCP backend) has been deprecated\. Please use Gloo or MPI",
    ],
    message="the script uses a part of torch.distributed that is deprecated",
    fixes=[
        Fix(
            "Start with torchrun instead of torch.distributed.launch",
            "torchrun --nproc-per-node=N train.py",
        ),
        Fix("Read the rank that torchrun sets", 'local_rank = int(os.environ["LOCAL_RANK"])', Kind.EDIT),
        Fix("Use today's names", "dist.all_reduce(tensor, op=dist.ReduceOp.SUM)", Kind.EDIT),
    ],
)
GROUP = [
    Fix(
        "Leave the group out: the default is all ranks",
        "dist.all_reduce(tensor, op=dist.ReduceOp.SUM)",
        Kind.EDIT,
        proof="dist.all_reduce(tensor, op=dist.ReduceOp.SUM)",
    ),
    Fix(
        "For some ranks, make a group, on all ranks alike",
        "group = dist.new_group([0, 1])\ndist.all_reduce(tensor, group=group)",
        Kind.EDIT,
    ),
]
TODAY = Fix("Use today's names: ReduceOp for reduce_op, nccl or gloo for tcp", "dist.ReduceOp.SUM", Kind.EDIT)
CPU = Fix(
    "Wrap with DistributedDataParallel, which takes models on the CPU too",
    "from torch.nn.parallel import DistributedDataParallel",
    Kind.EDIT,
)
GONE = [
    Fix(
        "One process per GPU, and the collective without _multigpu",
        "torch.cuda.set_device(local_rank)\ndist.all_reduce(tensor)",
        Kind.EDIT,
    ),
    TODAY,
]


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """A warning is a note; what is gone ends the run."""
    seen = sighting.groups
    if "group" in seen:
        said = f"a number was passed as the group of {seen['group']}; a group is an object, and the default is all ranks"
        yield check.found(said, severity=Severity.ERROR, fixes=GROUP)
    elif "gone" in seen:
        said = f"{seen['gone']} is no longer part of torch.distributed"
        yield check.found(said, severity=Severity.ERROR, fixes=GONE)
    else:
        yield check.found(f"{seen['old']} is deprecated; the run goes on")


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A number as the group, and names of torch.distributed that are gone or deprecated."""
    for name, place in script.imports.items():
        last = name.rpartition(".")[2]
        if name.startswith("torch.distributed.deprecated"):
            said = "torch.distributed.deprecated is gone: torch.distributed does the same"
            yield check.found(said, severity=Severity.ERROR, location=place)
        elif last in REMOVED and name.startswith("torch.") and place.column == 1:
            said = f"{last} {REMOVED[last]}: this import fails"
            yield check.found(
                said, severity=Severity.ERROR, location=place, fixes=[CPU] if last.endswith("CPU") else GONE
            )
    for call in script.calls:
        if call.name.startswith(("torch.distributed.", "torch.nn.parallel.")):
            yield from _called(call)
        elif any("torch.distributed.launch" in text for text in _texts(call)):
            said = "torch.distributed.launch gives way to torchrun, which passes no --local_rank"
            yield check.found(said, location=call.place)


def _called(call: Call) -> Iterator[Finding]:
    group = call.arguments.get("group")
    if call.value("backend").literal == "tcp":
        said = 'the backend "tcp" is gone: gloo does the same on the CPU, nccl on GPUs'
        yield check.found(said, severity=Severity.ERROR, location=call.place, fixes=[TODAY])
    if call.collective and group is not None and type(group.value.literal) is int:
        said = f"group={group.text}: a group is an object today, and a number has no {call.method}"
        yield check.found(said, severity=Severity.ERROR, location=group.place, fixes=GROUP)
    elif call.method.endswith("_multigpu"):
        said = f"{call.method} went with torch 2.1: each process has one GPU now"
        yield check.found(said, severity=Severity.ERROR, location=call.place, fixes=GONE)
    elif call.method in OLD_NAMES:
        yield check.found(f"{call.method} {OLD_NAMES[call.method]}", location=call.place)
    for argument in call.arguments.values():
        if argument.value.text.startswith("torch.distributed.reduce_op."):
            said = (
                f"{argument.text} is the old name of dist.ReduceOp.{argument.value.text.rpartition('.')[2]}"
            )
            yield check.found(said, location=argument.place, fixes=[TODAY])


def _texts(call: Call) -> Iterator[str]:
    """Yield the texts that a call is given, those in a list too."""
    for argument in call.arguments.values():
        for item in (argument.value, *argument.value.items):
            if isinstance(item.literal, str):
                yield item.literal


REMOVED = {
    "DistributedDataParallelCPU": "is gone, and DistributedDataParallel does the same over gloo",
    **{
        f"{name}_multigpu": "went with torch 2.1, and each process has one GPU now"
        for name in ("all_reduce", "all_gather", "broadcast", "reduce", "reduce_scatter")
    },
}
"""What can no longer be imported."""
OLD_NAMES = {
    "_all_gather_base": "is all_gather_into_tensor today",
    "_reduce_scatter_base": "is reduce_scatter_tensor today",
    "DistributedDataParallelCPU": "is gone: DistributedDataParallel does the same over gloo",
}
"""Old names, and what to use in their place."""

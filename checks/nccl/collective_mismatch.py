"""The ranks call different collectives, or the same one with other sizes or types.

## What happens

gloo ends a rank: "Received data size doesn't match expected size. Is there a distributed collective mismatch in your
code?". NCCL mostly just hangs; over the network it may say "message truncated : receiving 524288 bytes instead of
65536". With `TORCH_DISTRIBUTED_DEBUG=DETAIL` torch names it: "Detected mismatch between collectives on ranks".

## Why

A collective matches calls by their order alone, so every rank must make the same calls with the same shapes and types.

- The last batch is smaller on one rank, and `all_gather` gets tensors of different shapes.
- A collective is in `if rank == 0:` (evaluating, logging, saving), so that the others are one call ahead.
- The data choose the branch, or autocast the type, and they differ between the ranks.
- For NCCL's words about sizes: NCCL_PROTO, NCCL_ALGO or the version of NCCL differ between the nodes.

## How to tell

Run once more with `TORCH_DISTRIBUTED_DEBUG=DETAIL`: the message quotes both ranks' calls and in what they differ (INFO
does not). With torch 2.15 and gloo, DETAIL itself ends DistributedDataParallel with signal 11: there print the shapes.
Compare `env | grep NCCL_` of the nodes. In a flight recorder's dump, `torchfrtrace` reports the mismatch.

`gpudoctor lint train.py` finds tests for the rank whose two branches make different calls.

## See also

- [Debugging torch.distributed](https://docs.pytorch.org/docs/stable/distributed.html#debugging-torch-distributed-applications): TORCH_DISTRIBUTED_DEBUG=DETAIL compares the ranks' calls
- [nccl#296](https://github.com/NVIDIA/nccl/issues/296): the warning, and NVIDIA's two likely reasons: other sizes, or another order
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import Parted, Script, joined, parted

FINGERPRINT = r"CollectiveFingerPrint\((?:SequenceNumber=(?P<seq>\d+),? ?)?OpType=(?P<operation>\w+)"
DIFFERENCE = r"Collectives differ in the following aspects:\s{0,8}(?P<difference>\S.{0,120})"

ROOM = Fix(
    "Make room for each rank, where what each gives is of one size",
    "parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]\n"
    "dist.all_gather(parts, x)  # all_gather_into_tensor: one tensor with the rows of all ranks",
    Kind.EDIT,
)
OBJECTS = Fix(
    "Gather what has another size on each rank as objects",
    "parts = [None] * dist.get_world_size()\ndist.all_gather_object(parts, part)",
    Kind.EDIT,
)
PIECES = Fix(
    "Cut as many pieces as there are ranks",
    "pieces = [files[n :: dist.get_world_size()] for n in range(dist.get_world_size())]\n"
    "dist.scatter_object_list(mine, pieces if dist.get_rank() == 0 else None, src=0)",
    Kind.EDIT,
)
PADDED = Fix(
    "Give all ranks batches of one size, or pad before gathering",
    "DataLoader(dataset, batch_size=32, sampler=DistributedSampler(dataset, drop_last=True), drop_last=True)\n"
    "# accelerate: accelerator.gather_for_metrics(x), accelerator.pad_across_processes(x)",
    Kind.EDIT,
)
GATHERS = re.compile(r"\bin _?(?:all_gather|gather|all_to_all)(?:_base|_into_tensor|_single)?$", re.MULTILINE)
"""A frame of a call to which each rank hands a part of its own: that another size came means that the parts differ."""

check = Check(
    severity=Severity.ERROR,
    follows=["collective-in-branch", "keys-differ-by-rank"],
    otherwise="in a script a note beside collective-in-branch: what the lone call meets",
    symptoms=[
        # torch with TORCH_DISTRIBUTED_DEBUG=DETAIL; 2.x says in what the calls differ, 1.9 to 1.13 do not
        (
            rf"Detected mismatch between collectives on ranks\. Rank (?P<rank>\d+) is running "
            rf"(?:inconsistent )?collective: "
            rf"{FINGERPRINT}(?:.{{0,1500}}{DIFFERENCE})?"
        ),
        (
            r"Detected mismatch between collectives on ranks(?!\. Rank \d+ is running \w* ?collective: "
            r"CollectiveFingerPrint\()"
        ),
        Symptom(  # its end alone
            rf"\bRank (?P<rank>\d+) is running (?:inconsistent )?collective: ?{FINGERPRINT}",
            unless=r"Detected mismatch between collectives on ranks",
        ),
        # gloo; the sentence behind the sizes came with torch 2.3
        r"op\.preamble\.length <= op\.nbytes\. (?P<got>\d+) vs (?P<expected>\d+)",
        r"Is there a distributed collective mismatch in your code",
        (
            r"ProcessGroupGloo::(?P<call>\w+): invalid tensor (?:size|type|layout) at index \d+ \(expected "
            r"(?P<expected>.{1,60}), got (?P<got>.{1,60}?)\)[^\w)]*$"
        ),
        r"ProcessGroup\w+::(?P<call>\w+): Incorrect (?:in|out)put list size (?P<got>\d+)\. .{0,40}should be (?P<expected>\d+)",
        # NCCL
        r"Mismatched collective detected, please check your collective calls at and around rank (?P<rank>\d+)",
        r"this may be caused by a collective mismatch around rank (?P<rank>\d+)",
        r"NET/IB ?: .{0,120}collective mismatch error,? local size (?P<expected>\d+) remote (?:size )?(?P<got>\d+)",
        r"NET/IB ?: req .{0,120}posted incorrect receive info: size (?P<got>\d+)",
        r"NET/Socket ?: .{0,120}message truncated : receiving (?P<got>\d+) bytes instead of (?P<expected>\d+)",
        # torch's own checks of a call
        r"output tensor size must be equal to world_size times input tensor size",
        r"Tensor list input to scatter/gather must match number of collective participants",
        r"All tensor operands to scatter/gather must have the same (?:number of elements|size)",
        r"Output tensor must have the same size as the input tensor for its rank",
        r"input tensor must be the same size as output size times world size",
        # FSDP with TORCH_DISTRIBUTED_DEBUG
        r"Forward order differs across ranks: rank \d+ is all-gathering .{1,4000} while rank (?P<rank>\d+) is all-gathering",
        r"Invalid usage of tensors with different dtypes ?Found",
        # the flight recorder's analysis
        r"\b(?:COLLECTIVE_TYPE|SIZE_OR_SYNTAX|COLLECTIVE_STATE|COLLECTIVE_DTYPE)_MISMATCH\b",
        # ZeRO-3 compares after a step in which order the ranks used their modules
        Symptom(
            r"disagreement between rank0 and rank(?P<rank>\d+): rank0:",
            near=r"partitioned_param_coordinator|__submodule_order|__param_order",
        ),
        # accelerate with ACCELERATE_DEBUG_MODE=1, and its gather of objects
        r"Cannot apply desired operation due to shape mismatches\b",
        r"Impossible to apply the desired operation due to inadequate data",
        # Horovod
        r"Mismatched (?:\w{1,20} (?:tensor shapes|operations|CPU/GPU device selection)|data types|root ranks|(?:reduction|reduce) op\w*|prescale and/or \w+ factors): ",
    ],
    fixes=[
        Fix(
            "Make the call on every rank, outside of branches; use the result on one",
            "dist.all_reduce(loss)  # on every rank\nif rank == 0:\n    print(loss.item())",
            Kind.EDIT,
            proof="dist.all_reduce(",
        ),
        Fix(
            "Let torch name the two calls that met (with torch 2.15, gloo and DDP this crashes with signal 11)",
            "TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun --nproc-per-node=N train.py",
        ),
        PADDED,
        OBJECTS,
        Fix(
            "Compare NCCL's settings and version on each node",
            'env | grep NCCL_; python -c "import torch; print(torch.__version__, torch.cuda.nccl.version())"',
        ),
    ],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """What one rank hands to a call is refused before anything is sent; else two ranks' calls met."""
    groups = sighting.groups
    sizes = f" ({groups['got']} came where {groups['expected']} was expected)" if "expected" in groups else ""
    if "call" in groups:
        own = [PIECES] if groups["call"] == "scatter" else [ROOM, OBJECTS]
        yield check.found(
            f"what a rank itself gave to {groups['call']} does not fit{sizes}: a list has one tensor for each rank, and "
            "all are of one size and type; an output of all ranks has room for each of them",
            fixes=own + [fix for fix in check.fixes if fix not in own],
        )
        return
    said = "the ranks' calls do not fit together"
    said += f": rank {groups['rank']} differs" if "rank" in groups else ""
    said += f" in {groups['operation']}" if "operation" in groups else ""
    said += f", {groups['difference']}" if "difference" in groups else ""
    parts = bool(sizes) and GATHERS.search(sighting.around) is not None
    yield check.found(
        f"{said}{sizes}; each rank must make the same calls with the same shapes",
        fixes=[OBJECTS, PADDED, *(fix for fix in check.fixes if fix not in (OBJECTS, PADDED))]
        if parts
        else None,
    )


@check.code
def code(script: Script) -> Iterator[Finding]:
    """The two branches of a test for the rank make different calls; or one makes a call that meets a later one."""
    found = parted(script)
    seen = {(item.side.condition.place, item.side.chosen): item for item in found}
    for item in found:
        other = seen.get((item.side.condition.place, not item.side.chosen))
        if other is not None and item.side.chosen:
            yield check.found(
                f"where `{item.side.condition.text}` parts the ranks, some call {item.call.text}() and the others "
                f"{other.call.text}() (line {other.place}): the two calls meet, and do not fit together",
                location=item.place,
            )
        elif other is None and item.call.collective:
            yield from met(script, item)


def met(script: Script, item: Parted) -> Iterator[Finding]:
    """Say which later call of the other ranks a lone call meets; the fault itself is collective-in-branch."""
    for call in joined(script):
        if call.number > item.call.number and call.scope == item.call.scope and not call.rank_conditions:
            if call.name == item.call.name and call.loops == item.call.loops:
                yield check.found(
                    f"{item.call.text}() of these ranks meets {call.text}() of the others (line {call.place}): sizes "
                    "do not fit, or one is summed into the other unnoticed",
                    severity=Severity.NOTE,
                    location=item.place,
                )
            return

"""Some ranks wait in a collective that others never reach.

## What happens

A barrier says who is missing: "Rank 0 timed out waiting for 1 rank(s): 3", "Ranks 1, 2 failed to pass
monitoredBarrier in 120000 ms". gloo says only "Timed out waiting 1800000ms for recv operation to complete". NCCL without
such a barrier hangs: `nccl-timeout`. `Join` says that inputs are uneven: `uneven-inputs`.

## Why

- The ranks have different numbers of batches: a length that the world size does not divide, or a filter per rank.
- A collective is in `if rank == 0:` (saving, evaluating, logging with `all_reduce`), or is skipped by `continue`.
- `dist.new_group` was called by the group's members alone; every rank must call it, in the same order.
- Rank 0 alone downloads, evaluates or saves for longer than the time-out.
- That rank died; its own output says of what.

## How to tell

With gloo, `dist.monitored_barrier()` in front of the call names the rank that does not come. `TORCH_DISTRIBUTED_DEBUG=DETAIL`
puts one in front of every collective, and says what each rank calls; with torch 2.15, gloo and DistributedDataParallel it
crashes with signal 11. `len(loader)` printed on every rank must be one number. `py-spy dump --pid PID` on the rank that is
named shows where it is instead.

`gpudoctor lint train.py` finds a loop with collectives over `range(rank, len(dataset), world_size)`.

## See also

- [monitored_barrier](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.monitored_barrier): names the ranks that do not come
- [Join: uneven inputs](https://docs.pytorch.org/tutorials/advanced/generic_join.html): when ranks have different numbers of batches
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom

EQUAL_BATCHES = Fix(
    "Give every rank the same number of batches",
    "DataLoader(dataset, sampler=DistributedSampler(dataset, drop_last=True), drop_last=True)",
    Kind.EDIT,
    proof="DistributedSampler(dataset",
)
JOINED = Fix(
    "Or let the ranks that are done answer for the rest",
    "with torch.distributed.algorithms.join.Join([model]):\n    train_one_epoch()",
    Kind.EDIT,
)
BRANCH = Fix(
    "Take collectives out of branches that some ranks do not enter",
    "dist.all_reduce(loss)  # on every rank\nif rank == 0:\n    print(loss.item())",
    Kind.EDIT,
)
CALLS = Fix(
    "See which rank calls what (with torch 2.15, gloo and DDP this crashes with signal 11)",
    "TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun --nproc-per-node=N train.py",
)
BARRIER = Fix(
    "With gloo: let a barrier name the rank that does not come, here after a minute",
    "dist.monitored_barrier(timeout=datetime.timedelta(minutes=1))",
    Kind.EDIT,
)
LONG = Fix(
    "Where one rank rightly works alone for long, allow for it; a real hang is then noticed later",
    "dist.init_process_group(backend, timeout=datetime.timedelta(hours=2))",
    Kind.MITIGATION,
)

# What a traceback shows of the call in which a rank waited.
AT_A_BARRIER = re.compile(r"\b(?:(?:monitored_)?barrier|monitoredBarrier|wait_for_everyone)\b")
IN_BACKWARD = re.compile(r"\b(?:backward|_engine_run_backward|run_backward)\(")
IN_A_COLLECTIVE = re.compile(
    r"\b(?:all_?reduce|all_?gather\w*|reduce|gather\w*|broadcast\w*|scatter\w*|reduce_scatter\w*)\("
)
DEFAULT_MS = 30 * 60 * 1000
"""torch's own time-out for gloo (torch.distributed.constants.default_pg_timeout): who has less has set it."""

CAUGHT = (
    r"Watchdog caught collective operation timeout: WorkNCCL\((?:SeqNum=(?P<seq>\d+), )?"
    r"OpType=(?P<operation>(?!SEND|RECV|COALESCED|UNKNOWN)\w+)"
)

check = Check(
    severity=Severity.ERROR,
    follows=[
        "collective-mismatch",
        "ddp-model-mismatch",
        "dataset-download-race",
        "host-oom-killed",
        "collective-in-branch",
        "keys-differ-by-rank",
        "uneven-inputs",
    ],
    symptoms=[
        # monitored_barrier, alone or in front of each collective
        r"\[Rank (?P<waiting>\d+)\]: Ranks? (?P<missing>\d[\d, ]*) failed to pass monitoredBarrier in (?P<ms>\d+) ms",
        r"Ranks? (?P<missing>\d[\d, ]*) failed to pass monitoredBarrier in (?P<ms>\d+) ms",
        r"Rank (?P<missing>\d+) timed out in monitoredBarrier after (?P<ms>\d+) ms",
        r"Rank (?P<waiting>\d+) timed out waiting for (?:\d+ )?rank(?:\(s\))?:? ?(?P<missing>\d[\d, ]*)?",
        (
            r"Rank (?P<waiting>\d+) successfully reached monitoredBarrier, but received errors while waiting"
            r"(?: for send/recv from rank (?P<missing>\d+))?"
        ),
        # gloo; newer builds add the other side's address
        r"Timed out waiting (?P<ms>\d+)ms for (?:recv|send) operation to complete",
        r"Application timeout caused pair closure",
        r"gloo/transport/\w+/\w+\.cc:\d+\] (?:Read|Write) timeout \[",
        # the rank that makes NCCL's id never did
        r"retr(?:ie|ei)ving ncclUniqueIds? from \[?(?P<missing>\d+)\]?.{0,200}got error: (?:Socket Timeout|[Ww]ait timeout|Timeout waiting for key)",
        # What each rank waits for in one process group; in other groups, and from rank to rank, others may rightly do.
        Symptom(
            rf"\[PG (?:ID \d+ PG GUID (?P<of>\d+)|0)\b.{{0,60}}Rank \d+\] {CAUGHT}",
            differ=("seq", "operation"),
        ),
        Symptom(rf"(?:^|\] )\[Rank \d+\] {CAUGHT}", differ=("operation",)),
        # TORCH_NCCL_DESYNC_DEBUG=1
        r"ranks \[(?P<missing>\d[\d, ]*)\] are the lagging ranks that caused this timeout",
        r"the lagging/dead/mismatched ranks that caused the desync are",
        r"\[(?P<missing>\d[\d, ]*)\] joined but didn't finish collective #",
        # a process group that some ranks alone make; the first one, 0 or 1, is rendezvous-incomplete
        (
            r"Timed out initializing process group in store based barrier on rank:? (?P<waiting>\d+), "
            r"for key: store_based_barrier_key:(?![01]\b|default_pg)"
        ),
        (
            r"Timed out waiting on barrier on rank (?P<waiting>\d+), for key prefix: "
            r".{0,160}missing_ranks=\[(?P<missing>\d[\d, ]*)"
        ),
        # a barrier of a program's own in JAX's service
        r"Barrier timed out\. (?:Barrier_id|Id): (?!PjRT_Client_Connect|\[Init\])\S{1,200}\. ",
        # fairseq, whose ranks pickle what they gather
        r"all_gather_list requires all workers to enter the function together",
        Symptom(r"UnpicklingError: ", near=r"in all_gather_list\b"),
        # Join, NCCL's ncclras, Horovod
        r"Communicator ranks have different \w+ operation counts",
        r"submitted to be reduced, gathered or broadcasted by subset of ranks",
        r"\w \[missing ranks: ?(?P<missing>\d[\d, ]*)",
    ],
    fixes=[EQUAL_BATCHES, JOINED, BRANCH, CALLS, BARRIER, LONG],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say who waited and who is missing, and give first what helps where that rank waited."""
    seen = {name: text.strip() for name, text in sighting.groups.items() if text.strip()}
    message = "not every rank came to a common call"
    if "operation" in seen:
        number = f", number {seen['seq']}" if "seq" in seen else ""
        message = f"the ranks wait in different collectives, here in {seen['operation']}{number}"
    message += f": rank {seen['waiting']} waited" if "waiting" in seen else ""
    message += f" for {seen['ms']} ms" if "ms" in seen else ""
    message += f"; missing: rank {seen['missing']}" if "missing" in seen else ""
    yield check.found(message, fixes=_in_order(sighting.around, int(seen.get("ms", DEFAULT_MS))))


def _in_order(around: str, waited: int) -> list[Fix]:
    """Return the fixes, first those for the call in which the rank waited; a time-out that was set is often too short."""
    if AT_A_BARRIER.search(around):
        first = [LONG, BRANCH] if waited < DEFAULT_MS else [BRANCH]
    elif IN_BACKWARD.search(around):
        first = [EQUAL_BATCHES, JOINED]
    elif IN_A_COLLECTIVE.search(around):
        first = [BRANCH, EQUAL_BATCHES]
    else:
        first = []
    return [*first, *(fix for fix in check.fixes if fix not in first)]

"""A collective did not finish within the process group's time-out.

## What happens

The watchdog of a rank says "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=15074, OpType=ALLREDUCE, …)
ran for 600218 milliseconds before timing out" and ends the process, mostly with signal 6. The time-out is 10 minutes
unless `init_process_group(timeout=…)` says otherwise (30 minutes until torch 2.1).

## Why

NCCL waits for all ranks. One of them did not come to this collective:

- It failed, and its error is in that rank's own output, earlier.
- It is still at work: rank 0 alone evaluates, saves or downloads for longer than the time-out.
- It called another collective, or went through a branch that the others did not take: see `rank-desync`.
- All came, and NCCL itself hangs: the network between two nodes drops the data, or two GPUs cannot reach each other.

## How to tell

Compare SeqNum, OpType and NumelIn over the ranks:

- A rank that never reports a time-out, or has the lowest "last enqueued work", is the one to look at.
- Different operations under one SeqNum: `collective-mismatch`.
- All equal: the network or the hardware.

`TORCH_NCCL_DESYNC_DEBUG=1` names the ranks that lag behind. While it hangs, `py-spy dump --pid PID` shows where a rank is.

The flight recorder keeps each rank's last collectives, with `TORCH_FR_BUFFER_SIZE=2000` (older torch knows
`TORCH_NCCL_TRACE_BUFFER_SIZE` alone) and `TORCH_NCCL_DUMP_ON_TIMEOUT=1`. At a time-out each rank writes them to a file of
its own, named by `TORCH_NCCL_DEBUG_INFO_TEMP_FILE` and its number; in a folder with nothing else, `torchfrtrace FOLDER`
compares them.

## See also

- [Flight recorder](https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html): records each rank's last collectives and compares them
- [init_process_group](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group): `timeout`, 10 minutes with NCCL
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom
from gpudoctor.wordings import SOMEBODY

CAUGHT = r"(?:Watchdog c|\bC)aught collective operation timeout"
WORK = r"WorkNCCL\((?:OpId=\d+, )?(?:SeqNum=(?P<seq>\d+), )?OpType=(?P<operation>\w+)"
NCCL = r"NCCL|nccl|c10d"

check = Check(
    severity=Severity.ERROR,
    secondary=True,
    elsewhere=True,
    follows=["collective-in-branch", "collective-mismatch", "keys-differ-by-rank", "rank-desync"],
    symptoms=[
        # somebody's words
        Symptom(
            r"(?:NCCL|nccl|[Ww]atchdog) (?:\w+ ){0,4}(?:time-?outs?|times? out|timed out)\b",
            near=rf"(?m:{SOMEBODY}(?:NCCL|nccl|[Ww]atchdog) (?:\w+ ){{0,4}}(?:time-?outs?|times? out|timed out)\b)",
            asked=True,
        ),
        rf"{CAUGHT}: {WORK}.{{0,200}}ran for (?P<ms>\d+) milliseconds",
        rf"{CAUGHT}(?!: WorkNCCL)",
        r"Watchdog caught collective(?! operation timeout)",  # cut off
        rf"{CAUGHT}: WorkNCCL(?!.{{0,300}} ran for \d)",
        rf"{WORK}.{{0,200}} timed out in (?:call to wait\(\)|blocking wait)",
        r"Some NCCL operations have failed or timed out",
        r"Process group watchdog thread terminated with exception: .{0,80}[Tt]imed? ?out",
        # cut off above
        r"#\d+: c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout\(",
        r"Exception raised from checkTimeout at .{0,120}ProcessGroupNCCL\.cpp",
        # other ranks hear of it
        r"Received a dump signal due to a collective timeout from +(?:rank (?P<first>\d+)|this local rank|\w+ rank)",
        r"watchdog detected a collective timeout (?:from the local|on some other) rank",
        # torch 2.2 to 2.4
        r"(?:watchdog detected a|Received a(?: global)?) dump signal (?:due to a collective timeout )?from +(?:rank (?P<first>\d+)|this local rank)",
        r"Observed flight recorder dump signal from another rank",
        # where each rank was; the same words follow an error
        r"Timeout at NCCL work: (?P<seq>\d+), last enqueued",
        Symptom(
            r"Exception \(either an error or timeout\) detected by watchdog at work: (?P<seq>\d+), last enqueued",
            near=r"collective operation timeout|operations have failed or timed out",
        ),
        Symptom(
            r"failure detected by watchdog at work sequence id: (?P<seq>\d+) PG status: last enqueued work",
            near=r"collective operation timeout|operations have failed or timed out",
        ),
        # torch 2.15's new backend, and non-blocking NCCL
        Symptom(r"\bOperation timed out after (?P<ms>\d+) ms\b", near=NCCL),
        r"Aborting process on rank (?P<rank>\d+) due to .{0,80}[Tt]ime",
        r"NCCL timeout in communicator initialization",
        r"NCCL timeout (?:when waiting for nonblocking call|in: )",
        # torch 1.5 to 1.7 with NCCL_BLOCKING_WAIT
        Symptom(
            r"RuntimeError: Operation timed out!",
            near=r"ProcessGroupNCCL|distributed_c10d|NCCL_BLOCKING_WAIT",
        ),
        # the end of what it says of a time-out, and of any other failure
        Symptom(
            r"To avoid data inconsistency, we are taking the entire process down",
            unless=r"watchdog thread terminated with exception|Some NCCL operations|NCCL error|CUDA error|[Tt]imeout",
        ),
        Symptom(
            r"Exception \(either an error or timeout\) detected by watchdog at work: (?P<seq>\d+), last enqueued",
            unless=r"NCCL error|CUDA error|collective operation timeout|operations have failed or timed out|\bError\b",
        ),
    ],
    message="a collective did not finish[: <operation>][, number <seq>][, after <ms> ms]; "
    "mostly not every rank came to it",
    fixes=[
        Fix(
            "Find the rank that did not come: keep every rank's output, and the last collectives of each",
            "mkdir -p fr; TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 "
            "TORCH_NCCL_DEBUG_INFO_TEMP_FILE=$PWD/fr/rank_ "
            "torchrun --log-dir=logs --tee=3 --nproc-per-node=N train.py",
        ),
        Fix("Then let torch compare what the ranks had called", "torchfrtrace fr"),
        Fix(
            "See what each rank is doing while it hangs (where py-spy is not permitted, see `silent-hang`)",
            "python -m pip install py-spy && py-spy dump --pid PID",
        ),
        Fix(
            "Where the first collective hangs on one machine: leave out peer access, which costs speed",
            "export NCCL_P2P_DISABLE=1",
            Kind.MITIGATION,
        ),
        Fix(
            "Where one rank rightly works alone for long, allow for it (transformers: ddp_timeout); a real hang is then noticed later",
            'dist.init_process_group("nccl", timeout=datetime.timedelta(hours=1))',
            Kind.MITIGATION,
        ),
    ],
)

"""A collective did not finish within the process group's time-out.

## What happens

The watchdog of a rank says "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=15074, OpType=ALLREDUCE, …)
ran for 600218 milliseconds before timing out" and ends the process. The time-out is 10 minutes unless
`init_process_group(timeout=…)` says otherwise (30 minutes until torch 2.1).

## Why

NCCL waits for all ranks. One of them did not come to this collective:

- It failed, and its error stands in another rank's output, earlier.
- It is still at work: rank 0 alone evaluates, saves or downloads for longer than the time-out.
- It called another collective, or went through a branch that the others did not take.
- The network between two nodes lets the connection be made and then drops the data.

## How to tell

The rank that never reports a time-out, or the one with the lowest SeqNum, is the one to look at. With
`TORCH_FR_BUFFER_SIZE=2000` (older: `TORCH_NCCL_TRACE_BUFFER_SIZE`) each rank keeps its last collectives, and
`TORCH_NCCL_DUMP_ON_TIMEOUT=1` writes them when it ends. Live: `py-spy dump --pid PID` on each rank.

## See also

- [Flight recorder](https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html)
- [init_process_group](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group)
"""

from gpudoctor import Check, Fix, Kind, Severity

WORK = r"WorkNCCL\((?:OpId=\d+, )?(?:SeqNum=(?P<seq>\d+), )?OpType=(?P<operation>\w+)"

check = Check(
    severity=Severity.ERROR,
    secondary=True,
    symptoms=[
        rf"Watchdog caught collective operation timeout: {WORK}.{{0,200}}ran for (?P<ms>\d+) milliseconds",
        r"Watchdog caught collective operation timeout(?!: WorkNCCL)",
        r"Watchdog caught collective operation timeout: WorkNCCL(?!.{0,300} ran for \d)",
        r"Some NCCL operations have failed or timed out",
        r"Received a dump signal due to a collective timeout from (?:rank (?P<first>\d+)|this local rank|\w+ rank)",
        r"Process group watchdog thread terminated with exception: .{0,80}[Tt]imed? ?out",
    ],
    message="[<operation> number <seq> ]did not finish[ within <ms> ms]: not every rank came to it",
    fixes=[
        Fix(
            "Find the rank that did not come: keep every rank's output, and the last collectives of each",
            "TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 "
            "torchrun --log-dir=logs --tee=3 --nproc-per-node=gpu train.py",
        ),
        Fix(
            "Let all ranks wait where one works alone, with a time-out that allows for it",
            'dist.init_process_group("nccl", timeout=datetime.timedelta(hours=1))',
            Kind.EDIT,
        ),
        Fix("See what each rank is doing while it hangs", "py-spy dump --pid PID"),
    ],
)

"""NCCL's watchdog thread is stuck, and its heartbeat monitor ends the process.

## What happens

"ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives", then
"Terminating the process after attempting to dump debug info, due to ProcessGroupNCCL watchdog hang", mostly with signal
6. Older releases say "Heartbeat monitor timed out! Process will be terminated after dumping debug info" as well.

## Why

A thread of torch, the watchdog, looks after the collectives and raises a counter each time round. A second thread ends
the process when the counter has not changed for 480 seconds (TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC). So this is not a
collective that timed out: the watchdog itself hangs.

- A CUDA or NCCL call does not return: a GPU that fell off the bus, a driver in trouble, an abort of the communicator.
- Another thread holds Python's lock (the GIL) inside a CUDA call, and the watchdog needs it to go on.
- The process is leaving, and tears NCCL down while other ranks still compute.
- Rarely, it is only slow: a very large CUDA graph, a module that is compiled or loaded for minutes.

## How to tell

`py-spy dump --native --pid PID` while it hangs shows where each thread is: in `ncclCommAbort` or `cudaEventQuery`
it is NCCL or the driver, in `take_gil` the thread that holds the lock is the one to look at. Look for Xid lines in the
kernel's log of that node. If "Watchdog caught collective operation timeout" came first, that is the cause:
`nccl-timeout`.

## See also

- [ProcessGroupNCCL's variables](https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html): TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC and related ones
- [pytorch#112518](https://github.com/pytorch/pytorch/pull/112518): why there is a monitor
- [LlamaFactory#8549](https://github.com/hiyouga/LlamaFactory/issues/8549): a training that hung in this way
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    secondary=True,
    follows=["collective-in-branch", "collective-mismatch", "keys-differ-by-rank", "rank-desync"],
    symptoms=[
        r"\bwatchdog got stuck\b(?: for (?P<seconds>\d+) ?seconds without making progress)?",
        r"Heartbeat monitor timed out! Process will be terminated",
        r"First PG on this rank that detected no heartbeat of its watchdog",
        r"due to ProcessGroupNCCL watchdog hang",
        r"NCCL monitor thread timeout\. Basically",  # torch 2.2
    ],
    message="NCCL's watchdog thread made no progress[ for <seconds> s]: a CUDA or NCCL call, or Python's lock, is stuck in this "
    "process",
    fixes=[
        Fix(
            "While it hangs, see where each thread of the process is",
            "python -m pip install py-spy && py-spy dump --native --pid PID",
        ),
        Fix(
            "Leave the node out, if it is always the same one; the administrators want the node's name and its Xid lines",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "If it happens at the end: let all ranks finish, then destroy the process group",
            "dist.barrier()\ndist.destroy_process_group()",
            Kind.EDIT,
        ),
        Fix(
            "If the stacks show that it is only slow: wait longer; a real hang is then noticed later",
            "export TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=1800",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs a GPU",
)

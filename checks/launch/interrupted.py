"""The training was interrupted by Ctrl-C, or by a signal that was sent to it.

## What happens

`KeyboardInterrupt` on every rank, `SignalException: Process 4711 got signal: 2` and "Received 2 death signal, shutting
down workers" from torchrun. Lost connections and leaked semaphores after that follow from it.

## Why

Ctrl-C sends signal 2 (SIGINT) to everything that runs in the terminal, launcher and ranks alike; so does `kill -INT`, a
notebook's stop button, and `timeout -s INT`. Nothing is wrong with the training, unless it was interrupted because it
hung: then look for what hung.

## How to tell

If nobody pressed a key: a scheduler or a script sent the signal (`sacct -j JOBID`, the job script). After a hang, the last
frame of each rank's traceback shows where it was when it was interrupted: a rank that was somewhere else than all
others is the one to look at.

## See also

- [Python: KeyboardInterrupt](https://docs.python.org/3/library/exceptions.html#KeyboardInterrupt): what Ctrl-C raises
- [torchrun: failure modes](https://docs.pytorch.org/docs/stable/elastic/run.html#failure-modes): one worker that fails ends them all
"""

from gpudoctor import Check, Fix, Severity

check = Check(
    severity=Severity.NOTE,
    symptoms=[
        r"(?:^|\]: {1,2})KeyboardInterrupt(?::.{0,80})? *$",
        r"^\^CTraceback \(most recent call last\):",
        r"SignalException: Process \d+ got signal: 2\b",
        r"Received (?:2|Signals\.SIGINT) death signal",
        r"\[rank: \d+\] Received SIGINT",
        r"process \d+ terminated with signal SIGINT",
        r"Detected KeyboardInterrupt, attempting graceful shutdown",  # Lightning
        r"ninja: build stopped: interrupted by user",
    ],
    message="it was interrupted by Ctrl-C or signal 2, and did not end by itself",
    fixes=[
        Fix(
            "If it hung: next time, before Ctrl-C, see where each rank is (where py-spy may not look: `gpudoctor show silent-hang`)",
            "py-spy dump --pid PID",
        ),
        Fix("See what still runs of it", "ps -u $(id -u) -o pid,ppid,lstart,args | grep '[t]rain.py'"),
    ],
    no_reproduction="somebody pressed Ctrl-C: there is nothing to repair",
)

"""A DataLoader worker process died.

## What happens

"DataLoader worker (pid 19597) is killed by signal: Killed", or "DataLoader worker (pid(s) 123, 456) exited
unexpectedly". The traceback shows whatever line the main process was at when it learnt of it, mostly not the culprit.

## Why

The signal tells:

- Killed: the machine or the container ran out of memory, and the kernel chose the worker. Each worker holds a copy of
  the dataset object, and the copies grow when Python touches their reference counts.
- Bus error: /dev/shm is full (`shm-too-small`).
- Segmentation fault or Aborted: native code crashed in the worker, often OpenCV, HDF5 or a library used after `fork`.
- "exited unexpectedly": the worker ended itself, or was killed before it could say how.

## How to tell

`num_workers=0` runs the same code in the main process, where an exception shows. `dmesg -T | grep -i "killed process"`
names what the kernel killed; `cat /sys/fs/cgroup/memory.events` counts it inside a container.

## See also

- [DataLoader: multi-process loading](https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading)
- [pytorch#13246](https://github.com/pytorch/pytorch/issues/13246): memory that grows with the workers
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"DataLoader worker \(pid (?P<pid>\d+)\) is killed by signal: (?P<signal>(?!Bus)[A-Z][\w ]+)",
        r"DataLoader worker \(pid\(?s?\)? ?(?P<pid>[\d, ]+)\) exited unexpectedly(?: with exit code (?P<code>\d+))?",
        r"DataLoader worker \(pid (?P<pid>\d+)\) is killed by (an )?unknown signal",
    ],
    message="worker process <pid> died[: <signal>][, exit code <code>]",
    fixes=[
        Fix(
            "See the exception itself: load in the main process",
            "DataLoader(dataset, num_workers=0)",
            Kind.EDIT,
        ),
        Fix("See what the kernel killed for want of memory", 'sudo dmesg -T | grep -i "killed process"'),
        Fix(
            "Fewer workers, and fewer batches waiting in each",
            "DataLoader(dataset, num_workers=2, prefetch_factor=1)",
            Kind.EDIT,
        ),
        Fix(
            "Hold large lists as one array, which the workers share",
            "self.paths = numpy.array(paths)  # a list of strings is copied page by page",
            Kind.EDIT,
        ),
    ],
)

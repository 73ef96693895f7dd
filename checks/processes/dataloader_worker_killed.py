"""A DataLoader worker process died.

## What happens

"DataLoader worker (pid 19597) is killed by signal: Killed", or "DataLoader worker (pid(s) 123, 456) exited
unexpectedly". The traceback shows whatever line the main process was at when it noticed, mostly not the one at fault.
Sometimes all that shows is a `ConnectionResetError` below `rebuild_storage_fd`: the training process came for a tensor
whose worker had gone. "Broken pipe" and "queue.Empty" around it follow from the death.

## Why

The signal tells:

| signal | what happened |
|---|---|
| Killed | memory ran out, of the machine, the container or the job, and the kernel chose the worker (`host-oom-killed`) |
| Bus error | /dev/shm is full (`shm-too-small`) |
| Segmentation fault, Aborted, Floating point exception | native code crashed in the worker: often OpenCV, HDF5, or a library whose threads did not survive `fork` |
| Terminated | the launcher or the scheduler ended the job; the reason is elsewhere |
| none: "exited unexpectedly" | the worker ended itself, by an exception at its start or `os._exit`, or was killed before it could say how |

Each worker holds a copy of the dataset object, and the copies grow when Python touches their reference counts.

## How to tell

`num_workers=0` runs the same code in the main process, where an exception shows. `cat /sys/fs/cgroup/memory.events` counts
the kills when memory ran out in a container (`oom_kill`), `sacct -j JOBID --format=JobID,State,MaxRSS` shows it of a
Slurm job.

## See also

- [DataLoader: multi-process loading](https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading): what runs in a worker, and its memory
- [pytorch#20433](https://github.com/pytorch/pytorch/issues/20433): workers' memory, measured with a list of strings and with one array
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Role, Severity, Sighting, Symptom
from gpudoctor.wordings import SOMEBODY

MAIN = Fix(
    "See the exception itself: load in the main process", "DataLoader(dataset, num_workers=0)", Kind.EDIT
)
MEMORY = Fix("See whether memory ran out in a container or a job", "cat /sys/fs/cgroup/memory.events")
UNDER_SLURM = Fix(
    "Under Slurm: see how much the job used, and had", "sacct -j JOBID --format=JobID,State,MaxRSS,ReqMem"
)
KERNEL = Fix(
    "See what the kernel killed because memory ran out",
    'sudo dmesg -T | grep -i "killed process"',
    Kind.ADMIN,
)
FEWER = Fix(
    "Fewer workers, and fewer batches waiting in each",
    "DataLoader(dataset, num_workers=2, prefetch_factor=1)",
    Kind.EDIT,
)
ARRAY = Fix(
    "Hold large lists as one array, which the workers share",
    "self.paths = numpy.array(paths)  # a list of strings is copied page by page",
    Kind.EDIT,
)
NATIVE = Fix(
    "Keep native libraries from using threads or files of the parent: OpenCV, HDF5",
    "cv2.setNumThreads(0)  # and open an HDF5 file in __getitem__, at the first use",
    Kind.EDIT,
)
FRESH = Fix(
    "Start workers afresh instead of forking them, under the main guard",
    'DataLoader(dataset, num_workers=4, multiprocessing_context="spawn")',
    Kind.EDIT,
)
WHERE = Fix(
    "See which call crashes: with num_workers=0 Python prints it (in a worker, torch's own handler of signals is in the way)",
    "PYTHONFAULTHANDLER=1 torchrun --nproc-per-node=N train.py",
)
ALIVE = Fix(
    "Let the process that puts tensors into a queue live until they were taken",
    "queue.put(tensor)\ntaken.wait()  # an Event that the process which got the tensor sets",
    Kind.EDIT,
    source="https://docs.pytorch.org/docs/stable/multiprocessing.html",
)
LOADER = re.compile(r"dataloader\.py|[Dd]ataLoader|_utils/data")
KILLED = r"[Dd]ata ?[Ll]oader workers? (?:is |are |was |were |gets? |got |being |been )?(?P<told>killed|dies|died|crashe[sd])"
"""What somebody says in words."""
CRASHED = ("Segmentation fault", "Aborted", "Floating point exception", "Illegal instruction")
OWN_ERROR = re.compile(
    r"(?:spawn_main|forkserver|^Process \w+-\d+(?::\d+)?:)[\s\S]{0,6000}?"
    r"^(?P<error>(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception)(?:: .{1,200})?)$",
    re.MULTILINE,
)
"""What a child printed that died of an exception at its start."""

check = Check(
    severity=Severity.ERROR,
    follows=[
        "host-oom-killed",
        "spawn-main-guard",
        "shm-too-small",
        "too-many-open-files",
        "scheduler-ended-job",
    ],
    symptoms=[
        r"DataLoader (?:worker|process) \(pid (?P<pid>\d+)\) (?:exited )?is killed by signal: (?P<signal>(?!Bus)[A-Z][\w ]+)",
        r"DataLoader worker \(pid\(s\) \{\}\) exited unexpectedly'\.f",  # the line that raises it, cut off below
        r"DataLoader [Ww]orker \(pid\(?s?\)? ?(?P<pid>[\d, ]+)\) (?:exited|quit|terminated|stopped|died) unexpectedly(?: with exit code (?P<code>-?\d+))?",
        # or cut off in the middle of the message
        r"DataLoader worker \(pid (?P<pid>\d+)\) is killed(?: by(?: (?:an )?unknown signal|(?: signal:?)? *$)|$)",
        # or above it
        Symptom(
            r"\b(?:signal_handling|dataloader)\.py\", line \d+, in handler\b",
            unless=r"DataLoader worker \(pid",
        ),
        r"ERROR: Unexpected (?P<crash>segmentation fault|floating-point exception) encountered in worker",
        # somebody's words
        Symptom(rf"{KILLED}\b", near=rf"(?m:{SOMEBODY}{KILLED}\b)", asked=True),
        r"Pin memory thread exited (?P<pin>unexpectedly)",
        r"DataLoader timed out after (?P<seconds>[\d.]+) seconds",
        Symptom(
            r"(?P<gone>(?:ConnectionReset|ConnectionRefused|BrokenPipe)Error): \[Errno \d+\]",
            near=r"in rebuild_storage_fd",
            unless=r"DataLoader worker \(pid",
        ),
    ],
    fixes=[MAIN, MEMORY, UNDER_SLURM, FEWER, ARRAY, NATIVE, FRESH, KERNEL],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say what the signal means; a worker that was told to end has not failed."""
    groups = sighting.groups
    signal = groups.get("signal", "").strip()
    who = f"worker process {groups['pid'].strip()}" if "pid" in groups else "a worker process"
    role, fixes = Role.CAUSE, list(check.fixes)
    if signal == "Terminated":
        message = f"{who} was told to end (SIGTERM): the launcher or the scheduler was ending the job"
        role, fixes = Role.CONSEQUENCE, [MAIN]
    elif "Killed" in (signal, groups.get("told", "").capitalize()):
        message = f"{who} was killed (SIGKILL), mostly by the kernel because memory ran out"
        fixes = [FEWER, ARRAY, MEMORY, UNDER_SLURM, KERNEL]
    elif "crash" in groups or signal in CRASHED:
        message = f"{who} crashed in native code: {groups.get('crash') or signal.lower()}"
        fixes = [WHERE, MAIN, NATIVE, FRESH]
    elif "seconds" in groups:
        message = f"no worker gave a batch within {groups['seconds']} seconds: they hang, or the storage is too slow"
        fixes = [MAIN, NATIVE, FRESH]
    elif "pin" in groups:
        message = "the thread that copies batches into pinned memory died, and its exception is above"
        fixes = [MAIN, MEMORY, UNDER_SLURM, FEWER]
    elif "gone" in groups:
        message = f"a worker process was gone before its tensor could be fetched ({groups['gone']}): it died, or had ended"
        if not LOADER.search(sighting.around):
            fixes = [ALIVE, MEMORY, KERNEL]
    elif error := OWN_ERROR.search(sighting.around):
        message = f"{who} died of an exception of its own: {error['error']}"
        fixes = [MAIN]
    else:
        by = f": {signal}" if signal else ""
        code = f" with exit code {groups['code']}" if "code" in groups else ""
        message = f"{who} died{by}{code}, and its own error shows with num_workers=0"
    yield check.found(message, role=role, fixes=fixes)

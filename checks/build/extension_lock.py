"""The start waits for the lock of an extension that nobody compiles.

## What happens

The log ends with "Using /home/me/.cache/torch_extensions/py311_cu128 as PyTorch extensions root...", and nothing
happens any more: no error, GPUs idle, one thread that sleeps. Some ranks go on and wait in their first collective. After
Ctrl-C the traceback ends in `torch/utils/file_baton.py`, in `wait`.

## Why

The first process that compiles an extension makes a file named `lock` beside it, and the others wait until it is gone.
A process that was killed while it compiled (Ctrl-C, memory, the scheduler) leaves the file behind, and every later run
waits without end. Where the folder is on a file system that all nodes share, the lock of one node stops the others. torch
2.15 takes a lock of the kernel instead, which goes away with its process; compiling itself may still take minutes.

## How to tell

`find ~/.cache/torch_extensions -name lock` shows such files. Where `ps aux | grep -E 'ninja|nvcc|g[+][+]'` shows no compiler
on any node, nobody is compiling. `py-spy dump --pid PID` shows `wait (torch/utils/file_baton.py)`.

## See also

- [pytorch 189245](https://github.com/pytorch/pytorch/issues/189245): a lock that is left behind
- [OpenRLHF 208](https://github.com/OpenRLHF/OpenRLHF/issues/208): the log ends there, on several nodes
- [torch.utils.cpp_extension](https://docs.pytorch.org/docs/stable/cpp_extension.html): TORCH_EXTENSIONS_DIR
"""

import re
import shlex
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Severity, Sighting

ROOT = r"as PyTorch extensions root"
# What a scheduler, a launcher or Ctrl-C adds to a log whose program said nothing more.
ENDED = re.compile(
    r"as PyTorch extensions root|CANCELLED|slurmstepd|srun: |Terminated|Killed|KeyboardInterrupt|SIGTERM|\^C|Traceback"
    r"|file_baton|cpp_extension|time\.sleep|^\s|^[-=*\s.]*$"
)
OWN_DISK = Fix(
    "Keep compiled extensions on each node's own disk",
    "export TORCH_EXTENSIONS_DIR=/tmp/$USER/torch_extensions",
)
COMPILED_ONCE = Fix(
    "Compile once with a single process, before several start", "torchrun --nproc-per-node=1 train.py"
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        rf"Using (?P<folder>\S{{1,300}}) {ROOT}",
        r"Lock file exists in build directory: '(?P<lock>[^']{1,300})'",
        r'Waited on lock file "(?P<lock>[^"]{1,300})" for',
        r"[/\\]torch[/\\]utils[/\\]file_baton\.py\", line \d+, in wait",
    ],
    fixes=[
        Fix(
            "Delete the locks, once no process compiles",
            "find ~/.cache/torch_extensions -name lock -print -delete",
        ),
        OWN_DISK,
        COMPILED_ONCE,
    ],
    no_reproduction="since torch 2.15 such a lock ends with its process",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """The line that names the folder is normal; it tells where nothing comes after it."""
    lock, folder = sighting.groups.get("lock"), sighting.groups.get("folder")
    if folder is not None:
        after = sighting.around.rpartition(ROOT)[2].splitlines()[1:]
        if not all(ENDED.search(line) for line in after):
            return
        yield check.found(
            f"the log ends where torch waits for an extension in {folder}: a lock that was left there stops it, or it compiles"
        )
    elif lock is not None:
        delete = Fix("Delete the lock, once no process compiles", f"rm -f {shlex.quote(lock)}")
        yield check.found(
            f"a lock stops the start: {lock}; whoever made it may be gone",
            fixes=[delete, OWN_DISK, COMPILED_ONCE],
        )
    else:
        yield check.found("torch waits for the lock of an extension, and whoever made it may be gone")

"""The Python that trains does not answer.

## What happens

`python` hangs before the first line of any script, or dies at once, or prints something that is no Python. A job that
starts it shows nothing at all, or ends with a signal before its own first message.

## Why

- The interpreter or its packages are on a network file system that does not answer (NFS, Lustre, a home folder that
  Kerberos has locked): every import waits.
- A `sitecustomize.py`, `usercustomize.py` or a `.pth` file of an environment runs something that blocks, or ends the
  process.
- An environment module or container that was changed since: the interpreter's own shared library is of another version.
- `PYTHONHOME` names the home of another Python, or none: every Python dies before its first line, with "No module named
  'encodings'". A module or an old `setup.sh` exports it. The command `gpudoctor` dies of it too;
  `python -I -m gpudoctor check` does not.
- What was named is a wrapper script, a launcher or another program, and no Python.

## How to tell

`python -S -c "print(1)"` starts without site packages, `python -I -c "print(1)"` without your own variables and folder,
too: if one of them answers and `python -c "print(1)"` does not, the fault is in what was left out. Where both hang,
`strace -f -e trace=openat python -c ""` shows the last file that was opened, mostly on a file system that hangs.

## See also

- [python -I, -S, -X importtime](https://docs.python.org/3/using/cmdline.html): leave out site and its files, or time each import
- [site](https://docs.python.org/3/library/site.html): what runs at every start: sitecustomize, usercustomize, .pth files
"""

import shlex
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Severity
from gpudoctor.facts import Launch, Python, Silence

LOOK = Fix("See whether it starts without site packages", "python -S -c 'print(1)'")
NETWORK = Fix(
    "See whether its files can be read at all; where this hangs, the file system does",
    'timeout 10 ls -l "$(dirname "$(command -v python)")"',
)
FRESH = Fix(
    "Make a fresh environment on a local disk", "python3 -m venv /tmp/fresh && /tmp/fresh/bin/python -V"
)
HOME = Fix(
    "No virtual or conda environment needs it: do without", "unset PYTHONHOME", proof="unset PYTHONHOME"
)
LEAVE_OUT = Fix(
    "Where a file system hangs: tell the administrators which, and leave this node out meanwhile",
    "sbatch --exclude=NODE job.sh",
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"Fatal Python error: init_(?:fs_encoding|import_site|sys_streams)\b",
        r"No module named ['\"]?encodings\b",
    ],
    message="Python does not find its own standard library: PYTHONHOME names another Python, or its files are gone",
    fixes=[HOME, LOOK, NETWORK, FRESH, LEAVE_OUT],
)


@check.environment
def environment(silence: Silence | None, python: Python | None, launch: Launch | None) -> Iterator[Finding]:
    """The interpreter that was asked gave no answer at all."""
    if silence is None and python is None:
        raise CannotTell("python: not in this report")
    if silence is not None:
        executable = shlex.quote(silence.executable)
        look = Fix(LOOK.summary, f"{executable} -S -c 'print(1)'")
        folder = Fix(NETWORK.summary, f'timeout 10 ls -lL "$(dirname {executable})"')
        home = launch.variables.get("PYTHONHOME") if launch is not None else None
        said = f"; PYTHONHOME is {home}, where Python looks for its standard library" if home else ""
        yield check.found(
            f"{silence.executable}: {silence.how}{said}; so nothing is known of its torch",
            evidence=[Evidence(silence.said, where="standard error")] if silence.said else [],
            fixes=[*([HOME] if home else []), look, folder, FRESH, LEAVE_OUT],
        )

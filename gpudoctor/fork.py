"""A child that is forked instead of started anew: what its own Python would first have to import is there already.

Each of gpudoctor's own probes costs some 0.08 s of processor time as an interpreter of its own, most of it imports.
"""

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

import msgspec

ONLY_FORKED = [sys.executable, "-c", "raise SystemExit(1)"]
"""The command of a child that is a fork or nothing: a Python of its own could not go on with what this one holds."""
UNFORKABLE = ("torch", "pynvml", "cupy", "jax", "tensorflow")
"""Modules that may hold a driver's state, which a fork must not inherit."""


class Forked:
    """A forked child, with what `gpudoctor.child` asks of a `subprocess.Popen`."""

    def __init__(self, pid: int, stdout: BinaryIO, stderr: BinaryIO) -> None:
        self.pid = pid
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None
        """The exit status; negative: the signal that ended it."""

    def poll(self) -> int | None:
        """Return how it ended, or ``None`` while it runs."""
        if self.returncode is None:
            with contextlib.suppress(ChildProcessError):
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def tell(value: Any) -> None:
    """Write a value as a line of JSON on standard output, all of it: for the process that forked this one."""
    data = msgspec.json.encode(value) + b"\n"
    while data:
        data = data[os.write(1, data) :]


def may_fork() -> bool:
    """Return whether this process can be forked without harm: no second thread holds a lock, no driver a state."""
    alone = threading.active_count() == 1
    return sys.platform == "linux" and alone and not any(name in sys.modules for name in UNFORKABLE)


def fork(function: Callable[[], None], keep: Sequence[int] = ()) -> Forked:
    """Run a function in a child of its own session, and return it; raises OSError where no process can be had.

    Of the caller's descriptors the child has those in `keep`.
    """
    out, err = os.pipe(), os.pipe()
    try:
        pid = os.fork()
    except OSError:
        for end in (*out, *err):
            os.close(end)
        raise
    if pid == 0:
        _run(function, out[1], err[1], keep)
    os.close(out[1])
    os.close(err[1])
    return Forked(pid, os.fdopen(out[0], "rb"), os.fdopen(err[0], "rb"))


def _run(function: Callable[[], None], out: int, err: int, keep: Sequence[int]) -> None:
    """Be the child: take its streams, run, and end without the parent's duties."""
    status = 1
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for old, new in ((nothing, 0), (out, 1), (err, 2)):
            os.dup2(old, new)
        # A socket that the caller listens on would have two owners, of which the probe of sockets sees one.
        first = 3
        for kept in sorted({*keep, min(os.sysconf("SC_OPEN_MAX"), 2**20)}):
            os.closerange(first, kept)
            first = kept + 1
        sys.path[:] = [
            entry for entry in sys.path if entry
        ]  # as patient_process.OWN: never the working folder
        function()
        status = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode(errors="replace"))
    finally:
        os._exit(status)

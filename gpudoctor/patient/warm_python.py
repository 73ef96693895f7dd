"""A Python that has imported torch, and forks for every script: ``python warm_python.py SOCKET COMMAND MODULE...``.

Importing torch is most of the time that a short script takes, and each rank does it again. Here it is imported once.
Who runs COMMAND, the client, as an interpreter (``-c CODE``, ``-m MODULE`` or a script) gets a fork of this process: a
process of its own, with the caller's folder, environment and open files, and modules from its PYTHONPATH in the
place of those that were imported. What it starts by ``sys.executable`` or by multiprocessing's spawn is a fork as well.
What another environment variable changes at the import of torch is not seen here.
Signals reach the client and not the fork; where the client is killed, the fork ends with all that it started.
"""

import array
import contextlib
import ctypes
import gc
import importlib
import importlib.util
import json
import multiprocessing
import os
import random
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
import types
import warnings
from pathlib import Path

LOOK_AGAIN = 0.5
"""Seconds between two looks whether the process that started this one is there."""
MOST_DESCRIPTORS = 253
"""That one message may carry (SCM_MAX_FD of Linux)."""


def main(path, command, modules):
    """Answer requests on a Unix socket until the process that started this one is gone."""
    parent = os.getppid()
    with contextlib.suppress(OSError, AttributeError):
        # prctl(2), PR_SET_CHILD_SUBREAPER: what a script leaves behind is found here, and ends with this process.
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path + ".new")
    listener.listen(64)  # before the import: who asks meanwhile waits
    os.rename(path + ".new", path)
    sys.path[:] = sys.path[1:]
    for module in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    gc.collect()
    gc.freeze()  # what a fork does not touch, it need not copy
    threading.Thread(target=end_with, args=(parent,), daemon=True).start()
    while True:
        client, _ = listener.accept()
        with client:
            streams, asked = received(client)
            pid = os.fork() if asked else 0
            if asked and pid == 0:
                answer(streams, command, **asked)
            for stream in streams:
                os.close(stream)
            if asked:
                threading.Thread(target=wait, args=(pid, client.dup()), daemon=True).start()


def received(client):
    """Return the caller's three streams, and what it asks for; nothing where it was gone before it had asked."""
    ancillary = socket.CMSG_LEN(MOST_DESCRIPTORS * array.array("i").itemsize)
    size, sent, _, _ = client.recvmsg(8, ancillary)
    streams = array.array("i")
    for _, _, data in sent:
        streams.frombytes(data)
    text = client.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL) if len(size) == 8 else b""
    asked = json.loads(text) if text else None
    return list(streams), asked if asked and len(asked["held"]) == len(streams) else None


def answer(streams, command, arguments, folder, environment, held):
    """Run what an interpreter would run; never return."""
    os.setsid()
    take_descriptors(streams, held)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # what was imported has asked for the folder: TMPDIR may be another now
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", errors="backslashreplace")
    os.environ.setdefault("PYTHON_EXEC", command)  # what torchrun starts its ranks with
    sys.executable = command
    multiprocessing.set_executable(command)
    draw_anew()
    status = 0
    try:
        run(arguments)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
            frames = frames.tb_next
        traceback.print_exception(type(error), error, frames)
        status = 1
    finish(status)


def take_descriptors(received, held):
    """Give the caller's descriptors the numbers that they have there, and close all others."""
    above = max(int(name) for name in os.listdir("/proc/self/fd")) + 1
    above = max(above, *held) + 1
    for number, stream in enumerate(received):
        os.dup2(stream, above + number)
    os.closerange(0, above)
    for number, target in enumerate(held):
        os.dup2(above + number, target)
    os.closerange(above, above + len(held))


def finish(status):
    """End as an interpreter does: join threads, call what was registered for the end, and flush."""
    with contextlib.suppress(BaseException):
        threading._shutdown()
    with contextlib.suppress(BaseException):
        importlib.import_module("atexit")._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status & 0xFF)


def draw_anew():
    """Give the fork random numbers of its own, as a fresh interpreter has them."""
    random.seed()
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()


def run(arguments):
    """Run what the arguments of an interpreter name: ``-c CODE``, ``-m MODULE`` or a script."""
    while arguments[0] in ("-B", "-u", "-W"):
        if arguments.pop(0) == "-W":
            warnings.simplefilter(arguments.pop(0))
    take_python_path()
    # torchrun asks for the module of each frame, and one of none costs a search through all of them: half a second.
    sys.modules["warm_python"] = sys.modules["__main__"]
    sys.modules["__main__"] = module = types.ModuleType("__main__")
    if arguments[0] == "-m":
        sys.path.insert(0, os.getcwd())
        spec = importlib.util.find_spec(arguments[1])
        if spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec("%s.__main__" % arguments[1])
        sys.argv = [spec.origin, *arguments[2:]]
        module.__file__, module.__spec__, module.__package__ = spec.origin, spec, spec.parent
        exec(spec.loader.get_code(spec.name), module.__dict__)
    elif arguments[0] == "-c":
        sys.argv, sys.path[:0] = ["-c", *arguments[2:]], [""]
        exec(compile(arguments[1], "<string>", "exec"), module.__dict__)
    else:
        sys.argv, sys.path[:0] = arguments, [os.path.dirname(os.path.abspath(arguments[0]))]
        module.__file__ = os.path.abspath(arguments[0])
        text = Path(arguments[0]).read_text(encoding="utf-8")
        exec(compile(text, arguments[0], "exec"), module.__dict__)


def take_python_path():
    """Put the folders of PYTHONPATH first, and forget the modules that they hold."""
    folders = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    sys.path[:0] = folders
    held = {
        entry.partition(".")[0] for folder in folders if os.path.isdir(folder) for entry in os.listdir(folder)
    }
    for name in [name for name in sys.modules if name.partition(".")[0] in held]:
        del sys.modules[name]


def wait(pid, client):
    """Tell the client how the process ended; end it, with all that it started, where the client was killed."""
    ended = threading.Event()

    def watch():
        try:
            there = client.recv(1)
        except OSError:  # the client was killed; or it was told of the end before this thread began
            there = b""
        if not there and not ended.is_set():
            end_tree(pid)

    threading.Thread(target=watch, daemon=True).start()
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # while it is not buried, its number is nobody else's
    ended.set()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(OSError):
        client.sendall(b"%d\n" % status)
        client.shutdown(socket.SHUT_RDWR)
    client.close()


def end_tree(pid):
    """Kill a process and what descends from it; it does nothing more meanwhile, such as going on after its child."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    for one in [*descendants(pid), pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


def descendants(pid):
    """List the processes that descend from one."""
    found = []
    for path in Path("/proc/%d/task" % pid).glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in path.read_text().split()]
    return [one for child in found for one in (child, *descendants(child))]


def end_with(parent):
    """End this process when the one that started it is gone."""
    while os.getppid() == parent:
        time.sleep(LOOK_AGAIN)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])

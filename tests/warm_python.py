"""A Python in which torch is imported already: the import costs a fresh interpreter 3 s, for hundreds of tests.

`warm_python` returns a command that takes ``-c CODE``, ``-m MODULE`` or a script as an interpreter does. Behind it
stands a server, ``python warm_python.py SOCKET``, which imports torch and torchvision once and then forks for every
request: a process of its own, with the caller's folder, environment and streams. What an environment variable changes
at the import of torch is not seen here: tests of that start an interpreter.
"""

import atexit
import contextlib
import functools
import importlib
import json
import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
from pathlib import Path

CLIENT = """#!{python} -SE
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({path!r})
asked = dict(arguments=sys.argv[1:], folder=os.getcwd(), environment=dict(os.environ))
socket.send_fds(server, [len(text := json.dumps(asked).encode()).to_bytes(8, "big")], [0, 1, 2])
server.sendall(text)
status = int(server.makefile().readline() or 256)
if os.WIFSIGNALED(status):
    os.kill(os.getpid(), os.WTERMSIG(status))
sys.exit(os.waitstatus_to_exitcode(status))
"""


@functools.cache
def warm_python(python: str = sys.executable) -> str:
    """Return the command; the server, of an interpreter with torch, is started once in each process that asks."""
    folder = Path(tempfile.mkdtemp(prefix="gpudoctor-warm-"))
    command, path = folder / "python", folder / "socket"
    command.write_text(CLIENT.format(python=python, path=str(path)))
    command.chmod(0o755)
    server = subprocess.Popen([python, __file__, path], stdin=subprocess.PIPE)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.kill)
    ends = time.monotonic() + 120
    while not path.exists() and server.poll() is None and time.monotonic() < ends:
        time.sleep(0.05)
    return str(command)


def serve(path: str) -> None:
    """Answer requests on a Unix socket until the process that started this one is gone."""
    for module in ("torch", "torchvision"):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        client, _ = listener.accept()
        size, streams, _, _ = socket.recv_fds(client, 8, 3)
        asked = json.loads(client.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
        pid = os.fork()
        if pid == 0:
            listener.close()
            _answer(streams, **asked)
        for stream in streams:
            os.close(stream)
        threading.Thread(target=_wait, args=(pid, client), daemon=True).start()


def _answer(streams: list[int], arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    """Run what an interpreter would run; never return."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, mode) for n, mode in enumerate(("r", "w", "w")))
    sys.modules["torch"].default_generator.seed()  # a fresh interpreter has a seed of its own, too
    status = 0
    try:
        _run(arguments)
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
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status & 0xFF)


def _run(arguments: list[str]) -> None:
    """Run what the arguments of an interpreter name: ``-c CODE``, ``-m MODULE`` or a script."""
    while arguments[0] in ("-B", "-u"):
        arguments = arguments[1:]
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    if arguments[0] == "-m":
        sys.argv, sys.path[:0] = arguments[1:], [os.getcwd()]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv, sys.path[:0] = ["-c", *arguments[2:]], [""]
        exec(compile(arguments[1], "<string>", "exec"), main.__dict__)
    else:
        sys.argv, sys.path[:0] = arguments, [os.path.dirname(os.path.abspath(arguments[0]))]
        main.__file__ = os.path.abspath(arguments[0])
        exec(compile(Path(arguments[0]).read_text(), arguments[0], "exec"), main.__dict__)


def _wait(pid: int, client: socket.socket) -> None:
    """Tell the client how the process ended; end it where the client was killed."""

    def watch() -> None:
        if not client.recv(1):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(OSError):
        client.sendall(f"{status}\n".encode())
        client.shutdown(socket.SHUT_RDWR)
    client.close()


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1])

"""A Python in which torch is imported already: the import costs a fresh interpreter 3 s, for hundreds of tests.

`warm_python` returns a command that takes ``-c CODE``, ``-m MODULE`` or a script as an interpreter does. Behind it
stands a server, ``python warm_python.py SOCKET``, which imports torch and torchvision once and then forks for every
request: a process of its own, with the caller's folder, environment and streams, and modules from the caller's
PYTHONPATH in the place of those that were imported. What another environment variable changes at the import of torch
is not seen here: tests of that start an interpreter. Torch computes in one thread here, as torchrun has it.

`warm_gpudoctor` is the same for ``python -m gpudoctor``, whose modules and checks are loaded already. Signals reach the
command that was started and not the fork behind it, and limits and namespaces of the caller are not those of the fork:
tests of these start an interpreter, too.
"""

import atexit
import contextlib
import functools
import gc
import importlib.util
import json
import os
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
import warnings
from pathlib import Path

COMMANDS = [
    f"gpudoctor.{name}"
    for name in """
        cli.check cli.checkpoint.fix cli.checkpoint.inspect cli.explain cli.report cli.repro cli.show
        collect diagnose importers render.json render.markdown render.terminal
    """.split()
]
"""What is imported for `warm_gpudoctor`."""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
"""Of the servers: as it is before a test changes it."""
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


def warm_python(python: str = sys.executable) -> str:
    """Return the command; the server, of an interpreter with torch, is started once in each process that asks."""
    return _command(python, "torch", "torchvision")


def warm_gpudoctor() -> list[str]:
    """Return the command that stands for ``python -m gpudoctor``."""
    return [_command(sys.executable, *COMMANDS), "-m", "gpudoctor"]


@functools.cache
def _command(python: str, *modules: str) -> str:
    folder = Path(tempfile.mkdtemp(prefix="gpudoctor-warm-"))
    command, path = folder / "bin/python", folder / "socket"
    command.parent.mkdir()
    command.write_text(CLIENT.format(python=python, path=str(path)))
    command.chmod(0o755)
    server = subprocess.Popen(
        [python, __file__, path, *modules],
        stdin=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.kill)
    ends = time.monotonic() + 120
    while not path.exists() and server.poll() is None and time.monotonic() < ends:
        time.sleep(0.05)
    return str(command)


def warm_environment() -> dict[str, str]:
    """Return the variables under which this Python is the active environment, and torchrun starts its ranks with it."""
    folder = Path(warm_python()).parent.parent
    path = f"{folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    return {"VIRTUAL_ENV": str(folder), "PATH": path, "PYTHON_EXEC": warm_python()}


def serve(path: str, modules: list[str]) -> None:
    """Answer requests on a Unix socket until the process that started this one is gone."""
    sys.path[0] = str(Path(__file__).parent.parent)
    for module in modules:
        with contextlib.suppress(*[ImportError] if module in ("torch", "torchvision") else []):
            importlib.import_module(module)
    del sys.path[0]
    if "gpudoctor" in sys.modules:
        from gpudoctor.registry import Registry

        Registry.of(()).checks()
    gc.freeze()  # what a fork does not touch, it need not copy
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
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", errors="backslashreplace")
    if "torch" in sys.modules:  # a fresh interpreter has a seed of its own, too
        sys.modules["torch"].default_generator.seed()
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
    while arguments[0] in ("-B", "-u", "-W"):
        if arguments.pop(0) == "-W":
            warnings.simplefilter(arguments.pop(0))
    _take_python_path()
    # Torchrun asks for the module of each frame again and again, and a frame of none (ours, or runpy's) costs a search
    # through all of them: half a second for each run.
    sys.modules["warm_python"] = sys.modules["__main__"]
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    if arguments[0] == "-m":
        sys.path.insert(0, os.getcwd())
        spec = importlib.util.find_spec(arguments[1])
        if spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{arguments[1]}.__main__")
        sys.argv = [spec.origin, *arguments[2:]]
        main.__file__, main.__spec__, main.__package__ = spec.origin, spec, spec.parent
        exec(spec.loader.get_code(spec.name), main.__dict__)
    elif arguments[0] == "-c":
        sys.argv, sys.path[:0] = ["-c", *arguments[2:]], [""]
        exec(compile(arguments[1], "<string>", "exec"), main.__dict__)
    else:
        sys.argv, sys.path[:0] = arguments, [os.path.dirname(os.path.abspath(arguments[0]))]
        main.__file__ = os.path.abspath(arguments[0])
        exec(compile(Path(arguments[0]).read_text(), arguments[0], "exec"), main.__dict__)


def _take_python_path() -> None:
    """Put the folders of PYTHONPATH first, and forget the modules that they hold."""
    folders = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    sys.path[:0] = folders
    held = {
        entry.partition(".")[0] for folder in folders if os.path.isdir(folder) for entry in os.listdir(folder)
    }
    for name in [name for name in sys.modules if name.partition(".")[0] in held]:
        del sys.modules[name]


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
    serve(sys.argv[1], sys.argv[2:])

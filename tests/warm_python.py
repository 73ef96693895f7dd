"""Commands that behave as an interpreter with torch, or gpudoctor, imported already: hundreds of tests start one.

The import of torch costs a fresh interpreter 3 s. Behind each command stands the server of
`gpudoctor/patient/warm_python.py`, which forks for every request; it says there what such a fork does not see. Torch
computes in one thread here, as torchrun has it. Limits and namespaces of the caller are not those of the fork: tests of
these start an interpreter.
"""

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gpudoctor.proving.warm_patient import CLIENT, MODULES, SERVER

HERE = Path(__file__).parent
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


def warm_python(python: str = sys.executable) -> str:
    """Return the command; the server, of an interpreter with torch, is started once in each process that asks."""
    return _command(python, *MODULES)


def warm_gpudoctor() -> list[str]:
    """Return the command that stands for ``python -m gpudoctor``, whose modules and checks are loaded already."""
    return [_command(sys.executable, *COMMANDS, "loaded_checks"), "-m", "gpudoctor"]


@functools.cache
def _command(python: str, *modules: str) -> str:
    folder = Path(tempfile.mkdtemp(prefix="gpudoctor-warm-"))
    command, path = folder / "bin/python", folder / "socket"
    command.parent.mkdir()
    command.write_text(CLIENT.format(python=python, path=str(path)))
    command.chmod(0o755)
    environment = {**ENVIRONMENT, "PYTHONPATH": str(HERE)} if "loaded_checks" in modules else ENVIRONMENT
    server = subprocess.Popen(
        [python, SERVER, path, command, *modules], stdin=subprocess.PIPE, env=environment
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

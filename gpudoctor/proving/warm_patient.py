"""The patient with torch imported already, for many short scripts: `patient/warm_python.py`, and who asks it."""

import ast
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gpudoctor.child import Child, end, run
from gpudoctor.interpreter import Patient
from gpudoctor.proving.scripts import HEADER

SERVER = Path(__file__).parent.parent / "patient/warm_python.py"
MODULES = ("torch", "torchvision")
PATIENCE = 60.0
"""Seconds for importing torch, which takes three; from a slow network disk it may take a minute."""
LIFE = 86400.0
"""Seconds; whoever starts it ends it."""
HARMLESS = {"torch", "torchvision", "Linux", "1 GPU or simulated ones", "2 GPUs or simulated ones"}
"""Needs of scripts to which a Python that has imported torch is as good as a fresh one."""
CLIENT = """#!{python} -SE
import array, json, os, socket, sys
held = [0, 1, 2]
for number in range(3, 256):  # what whoever starts this hands over, as multiprocessing does
    try:
        os.fstat(number)
        held.append(number)
    except OSError:
        pass
server = socket.socket(socket.AF_UNIX)
server.connect({path!r})
asked = dict(arguments=sys.argv[1:], folder=os.getcwd(), environment=dict(os.environ), held=held)
text = json.dumps(asked).encode()
streams = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", held))]
server.sendmsg([len(text).to_bytes(8, "big")], streams)
server.sendall(text)
status = int(server.makefile().readline() or 256)
if os.WIFSIGNALED(status):
    os.kill(os.getpid(), os.WTERMSIG(status))
sys.exit(os.WEXITSTATUS(status))
"""


@contextlib.contextmanager
def warm(patient: Patient) -> Iterator[Patient | None]:
    """Give a patient whose scripts find torch imported; ``None`` where that cannot be had.

    A folder for temporary files from which nothing may be executed is such a place.
    """
    if not sys.platform.startswith("linux"):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="gpudoctor-") as folder:
        path, command = os.path.join(folder, "socket"), os.path.join(folder, "python")
        Path(command).write_text(CLIENT.format(python=patient.executable, path=path), encoding="utf-8")
        os.chmod(command, 0o755)
        # OpenMP reads its variable once; torchrun sets it for ranks. The import makes folders, too.
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": folder}
        server = Child(
            "warm Python", [patient.executable, str(SERVER), path, command, *MODULES], LIFE, _ignore, environment,
            merge_errors=True,
        )  # fmt: skip
        server.start()
        try:
            yield Patient(command, patient.chosen) if _answers(command, path, server) else None
        finally:
            end([server])


def _answers(command: str, path: str, server: Child) -> bool:
    """Return whether a script runs under the command, once the modules are imported."""
    until = time.monotonic() + PATIENCE
    while server.process is not None and server.process.poll() is None and time.monotonic() < until:
        if os.path.exists(path):
            first = Child("first script", [command, "-c", "pass"], PATIENCE, _ignore, merge_errors=True)
            run([first])
            return first.end is None
        time.sleep(0.01)
    return False


def _ignore(line: bytes) -> None:
    """Leave what it says unread: what a script says goes to the script's own streams."""


def suits(reproduction: Path) -> bool:
    """Return whether both scripts of a reproduction import torch, and need nothing that must be there before."""
    return all(_suits(reproduction / name) for name in ("broken.py", "fixed.py"))


def _suits(script: Path) -> bool:
    text = script.read_text(encoding="utf-8")
    needs = {value for key, value in HEADER.findall(text) if key == "needs"}
    imported: set[str] = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            imported.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    return needs <= HARMLESS and "torch" in imported

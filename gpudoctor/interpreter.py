"""Choose the patient: the interpreter under which the user trains."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from gpudoctor.bad_input import BadInput


class Unusable(BadInput):
    """``--python`` names nothing that can be run; the text is one clear line."""


@dataclass(frozen=True)
class Patient:
    """An interpreter to examine, and why it was chosen."""

    executable: str
    chosen: str
    by_default: bool = False

    @property
    def torchrun(self) -> list[str]:
        """The command that starts this interpreter's own torchrun."""
        return [self.executable, "-m", "torch.distributed.run"]


def choose_patient(python: str | None = None) -> Patient:
    """Return the interpreter that `python` names, else that of the active environment, else gpudoctor's own.

    `python` may be an executable, a name on PATH, or the folder of an environment. Of an active virtual environment
    and an active conda environment the one that comes first on PATH wins, as it does for the user's own ``python``.
    Raises `Unusable`.
    """
    if python is not None:
        return Patient(_named(python), "--python")
    path = os.environ.get("PATH", "").split(os.pathsep)
    active = []
    for variable, kind in (("VIRTUAL_ENV", "virtual"), ("CONDA_PREFIX", "conda")):
        if prefix := os.environ.get(variable):
            place = path.index(f"{prefix}/bin") if f"{prefix}/bin" in path else len(path)
            executable = _in_environment(Path(prefix))
            if executable is not None:
                active.append((place, executable, f"active {kind} environment"))
    if active:
        _, executable, words = min(active, key=lambda entry: entry[0])
        return Patient(executable, words)
    return Patient(
        sys.executable, "the interpreter that gpudoctor runs in; no environment is active", by_default=True
    )


def _named(python: str) -> str:
    python = os.path.expanduser(python)
    path = Path(python)
    if os.path.isdir(path):  # unlike Path.is_dir, it takes a path that this user may not follow for none
        executable = _in_environment(path)
        if executable is None:
            raise Unusable(f"--python {python}: this folder holds no bin/python")
        return executable
    found = shutil.which(python)  # as text: ./python is a file here, python a name on PATH
    if found is not None:
        return os.path.abspath(found)
    try:
        path.stat()
    except PermissionError:
        raise Unusable(f"--python {python}: {_barred(path)}") from None
    except OSError:
        raise Unusable(f"--python {python}: no such file, and no such command on PATH") from None
    raise Unusable(f"--python {python}: not an executable file")


def _barred(path: Path) -> str:
    """Return what this user may not follow: mostly the link of an environment to a Python in somebody's home."""
    target = os.path.realpath(path)
    where = "" if target == os.path.abspath(path) else f", which leads to {target}"
    return f"this user may not reach that file{where}"


def _in_environment(prefix: Path) -> str | None:
    return next(
        (str(p) for name in ("python", "python3") if os.access(p := prefix / "bin" / name, os.X_OK)), None
    )

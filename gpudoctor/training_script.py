"""The script of a training mode, as one stand-alone file that can be pasted into a ticket."""

import ast
from pathlib import Path

PATIENT = Path(__file__).parent / "patient"
SHARED = "digits_training"
MODES = ("single", "dp", "ddp")


def training_script(mode: str) -> str:
    """The mode's script, with the text of `digits_training.py` in place of its import.

    `mode` is the name of a script in `patient/`: "single", "dp" or "ddp". Anything else is a ValueError.
    """
    path = PATIENT / f"{mode}.py"
    if not mode.isidentifier() or not path.is_file():
        raise ValueError(f"no training mode {mode!r}")
    text = path.read_text(encoding="utf-8")
    imports = [
        node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom) and node.module == SHARED
    ]
    if len(imports) != 1:
        raise ValueError(f"no training mode {mode!r}")
    lines = text.splitlines()
    lines[imports[0].lineno - 1 : imports[0].end_lineno] = _shared_lines()
    return "\n".join(lines) + "\n"


def _shared_lines() -> list[str]:
    """`digits_training.py` without what may only stand at the top of a file: docstring and `__future__`."""
    text = (PATIENT / f"{SHARED}.py").read_text(encoding="utf-8")
    _, _, rest = text.partition("\nfrom __future__ import annotations\n")
    return rest.strip("\n").split("\n")

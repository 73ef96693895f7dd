"""The script of a training mode, as one stand-alone file that can be pasted into a ticket."""

import ast
from dataclasses import dataclass, fields
from pathlib import Path

GROUND = ("python", "gpus", "launch", "host", "names")
"""Probes that tell on what a mode will run: the quick ones, none that imports torch."""
PATIENT = Path(__file__).parent.parent / "patient"
PARTS = (
    "image_sets",
    "learning",
    "mode_run",
    "networks",
    "one_process",
    "pictures",
    "ranks",
    "replicas",
    "right_answer",
    "step_times",
)
"""What modes share: modules of `patient/`, each of which imports only what does not import it."""
MODES = ("single", "manual", "functional", "dp", "average", "ddp")
LAUNCHED = ("average", "ddp")
"""Modes of a process for each rank."""
FUTURE = "\nfrom __future__ import annotations\n"


@dataclass(frozen=True)
class Choice:
    """What is trained, and how; ``None`` is the script's own default."""

    model: str | None = None
    data: str | None = None
    data_dir: str | None = None
    batch_size: int | None = None
    epochs: int | None = None
    backend: str | None = None
    devices: str | None = None

    @property
    def arguments(self) -> list[str]:
        """The options of the script."""
        chosen = [(f.name, getattr(self, f.name)) for f in fields(self)]
        words = [(f"--{name.replace('_', '-')}", str(value)) for name, value in chosen if value is not None]
        return [word for pair in words for word in pair]


DEFAULT = Choice()
"""The small MNIST drawn on the spot, and a small network."""


def training_script(mode: str) -> str:
    """The mode's script, with the text of each shared part in place of its first import.

    `mode` is one of `MODES`. Anything else is a ValueError.
    """
    if mode not in MODES:
        raise ValueError(f"no training mode {mode!r}")
    head, future, rest = (PATIENT / f"{mode}.py").read_text(encoding="utf-8").partition(FUTURE)
    return head + future + "\n".join(_expanded(rest, set())) + "\n"


def _expanded(text: str, taken: set[str]) -> list[str]:
    """Return the lines of a script, each import of a part replaced by the part, or by nothing where it is there."""
    lines = text.rstrip("\n").split("\n")
    done: list[str] = []
    after = 0
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.module in PARTS:
            done += lines[after : node.lineno - 1]
            after = node.end_lineno or node.lineno
            if node.module not in taken:
                taken.add(node.module)
                # Without what may only stand at the top of a file: docstring and `__future__`.
                _, _, part = (PATIENT / f"{node.module}.py").read_text(encoding="utf-8").partition(FUTURE)
                done += _expanded(part.strip("\n"), taken)
    return done + lines[after:]

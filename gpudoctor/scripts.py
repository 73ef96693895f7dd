"""The two scripts of a reproduction: what their headers say, and how they differ."""

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from gpudoctor.interpreter import Patient
from gpudoctor.patient_process import launched

HEADER = re.compile(r"^# (run|needs|shown on): (.+?)\s*$", re.MULTILINE)
RUN_LINE = re.compile(r"^# run: .*$", re.MULTILINE)


@dataclass(frozen=True)
class Script:
    """One half of a reproduction, with what its header says."""

    path: Path
    command: list[str]
    """Its ``# run:`` line, the patient put in the place of python and torchrun."""
    needs: list[str]
    """Its ``# needs:`` lines."""
    shown_on: str | None = None
    """What is there in the place of the real thing, its ``# shown on:`` line: ``a stand-in for the NVIDIA driver``."""


def read_script(path: Path, patient: Patient) -> Script:
    """Read a script's header; without a run line it is run as ``python NAME``."""
    text = path.read_text(encoding="utf-8")
    headers = HEADER.findall(text)
    line = next((value for key, value in headers if key == "run"), f"python {path.name}")
    needs = [value for key, value in headers if key == "needs"]
    return Script(path, launched(line, patient), needs, shown_on(text))


def shown_on(text: str) -> str | None:
    """Return what a script's header says it runs on in the place of the real thing."""
    return next((value for key, value in HEADER.findall(text) if key == "shown on"), None)


def difference(reproduction: Path) -> str:
    """Return the unified diff from ``broken.py`` to ``fixed.py``; that their names differ is no difference."""
    broken, fixed = ((reproduction / name).read_text(encoding="utf-8") for name in ("broken.py", "fixed.py"))
    fixed = RUN_LINE.sub(lambda line: line[0].replace("fixed.py", "broken.py"), fixed)
    before, after = broken.splitlines(keepends=True), fixed.splitlines(keepends=True)
    return "".join(difflib.unified_diff(before, after, "broken.py", "fixed.py", n=2))

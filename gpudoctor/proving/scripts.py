"""The two scripts of a reproduction: what their headers say, and how they differ."""

import difflib
import re
from dataclasses import dataclass, replace
from pathlib import Path

from gpudoctor.interpreter import Patient
from gpudoctor.patient_process import launched

HEADER = re.compile(r"^# (run|needs|shown on): (.+?)\s*$", re.MULTILINE)
SIMULATOR = Path(__file__).parent.parent / "patient/simulated_gpus.py"
SIMULATED = "simulated GPUs"
"""What stands in the place of GPUs; nothing else may be taken for a proof on real ones."""
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
    own = next((value for key, value in headers if key == "shown on"), None)
    return Script(path, launched(line, patient), needs, own)


def shown_on(text: str) -> str | None:
    """Return what a script's header says it runs on in the place of the real thing, always or where that is missing."""
    headers = HEADER.findall(text)
    own = next((value for key, value in headers if key == "shown on"), None)
    simulated = any(key == "needs" and value.endswith(" or simulated ones") for key, value in headers)
    return own or (f"{SIMULATED}, where there are no real ones" if simulated else None)


def on_simulated_gpus(script: Script, number: int) -> Script:
    """Return the script as it is run on GPUs that are not there; its header says that it may be."""
    place = script.command.index(script.path.name)
    command = [*script.command[:place], str(SIMULATOR), str(number), *script.command[place:]]
    return replace(script, command=command, shown_on=SIMULATED)


def difference(reproduction: Path) -> str:
    """Return the unified diff from ``broken.py`` to ``fixed.py``; that their names differ is no difference."""
    broken, fixed = ((reproduction / name).read_text(encoding="utf-8") for name in ("broken.py", "fixed.py"))
    fixed = RUN_LINE.sub(lambda line: line[0].replace("fixed.py", "broken.py"), fixed)
    before, after = broken.splitlines(keepends=True), fixed.splitlines(keepends=True)
    return "".join(difflib.unified_diff(before, after, "broken.py", "fixed.py", n=2))

"""Run a reproduction, both halves, and keep the proof."""

import re
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from gpudoctor.child import Child, run
from gpudoctor.facts import Torch
from gpudoctor.interpreter import Patient
from gpudoctor.logs.lines import plain
from gpudoctor.logs.placeholders import filled_fixes
from gpudoctor.logs.symptoms import Seen, matches
from gpudoctor.model import Check
from gpudoctor.patient_process import surroundings
from gpudoctor.proving.needs import GPUS, to_simulate, unmet
from gpudoctor.proving.scripts import SIMULATED, Script, difference, on_simulated_gpus, read_script
from gpudoctor.proving.state_proof import asks_for_check, state_proof, with_check
from gpudoctor.report import Proof, ProofStatus
from gpudoctor.snapshot import Snapshot

DEADLINE = 120.0
"""Seconds for each half; the scripts end by themselves in a fraction of that."""
LINES_KEPT = 4000
LINES_TOLD = 40
"""Lines of its output that a proof keeps, up to the one that the symptom matched."""

# An exception of a rank, as Python ends a traceback; not torchrun's own.
EXCEPTION = re.compile(
    r"(?:\[\w+\]:\s?)?(?!.*ChildFailedError)(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt)\b"
)


class Ran(NamedTuple):
    """What a script did."""

    child: Child
    output: str
    """Standard output and error together, in order; the last lines."""


def run_script(script: Script, folder: Path, deadline: float) -> Ran:
    """Run a script in `folder`, where a copy of it lies."""
    lines: deque[bytes] = deque(maxlen=LINES_KEPT)
    # A launch that gpudoctor was started in is not the script's.
    environment = surroundings(str(folder), launch=False)
    child = Child(
        script.path.name, script.command, deadline, lines.append, environment, str(folder), merge_errors=True
    )
    run([child])
    return Ran(child, b"\n".join(lines).decode(errors="replace"))


def reproduce(
    check: Check,
    reproduction: Path,
    patient: Patient,
    snapshot: Snapshot,
    *,
    deadline: float = DEADLINE,
    on_script: Callable[[str], None] = lambda name: None,
) -> Proof:
    """Run ``broken.py``, look for the check's own symptom in what it says, then run ``fixed.py``.

    `snapshot` holds the facts that the scripts' needs are compared with; `on_script` is told each script's name.
    """
    scripts = [read_script(reproduction / name, patient) for name in ("broken.py", "fixed.py")]
    looks = asks_for_check(scripts[0])
    if looks:
        scripts = [with_check(script, patient) for script in scripts]
    missing = next((m for script in scripts if (m := unmet(script.needs, snapshot))), None)
    if missing:
        return Proof(id=check.id, broken=ProofStatus.NOT_RUN, fixed=ProofStatus.NOT_RUN, reason=missing)
    if number := to_simulate(scripts[0].needs, snapshot):
        scripts = [on_simulated_gpus(script, number) for script in scripts]
    with tempfile.TemporaryDirectory(prefix="gpudoctor-") as folder:
        for script in scripts:
            shutil.copy(script.path, folder)
        on_script("broken.py")
        broken = run_script(scripts[0], Path(folder), deadline)
        on_script("fixed.py")
        fixed = run_script(scripts[1], Path(folder), deadline)
        if looks:
            proof = state_proof(check, broken.child, fixed.child, Path(folder), difference(reproduction))
        else:
            proof = _proof(check, broken, fixed, difference(reproduction))
    torch = snapshot.get(Torch)
    return replace(
        proof,
        torch=torch.version if torch else None,
        device=_device(scripts, torch),
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        shown_on=scripts[0].shown_on,
    )


def _device(scripts: list[Script], torch: Torch | None) -> str:
    """Return what scripts ran on: those that need a GPU on the first one or on simulated ones, any other on the CPU."""
    if scripts[0].shown_on == SIMULATED:
        return SIMULATED
    needs_gpu = any(GPUS.fullmatch(need) for script in scripts for need in script.needs)
    return torch.devices[0].name if needs_gpu and torch and torch.devices else "CPU"


def _proof(check: Check, broken: Ran, fixed: Ran, diff: str) -> Proof:
    symptom: Seen | None = next(iter(matches(broken.output, [check])), None)
    if broken.child.timed_out:
        first = ProofStatus.TIMEOUT
    elif broken.child.returncode == 0:
        first = ProofStatus.PASSED
    else:
        first = ProofStatus.FAILED_AS_EXPECTED if symptom else ProofStatus.FAILED_OTHERWISE
    failed = ProofStatus.TIMEOUT if fixed.child.timed_out else ProofStatus.FAILED
    last = failed if fixed.child.end else ProofStatus.PASSED
    return Proof(
        id=check.id,
        broken=first,
        fixed=last,
        seconds=round(broken.child.seconds + fixed.child.seconds, 3),
        reason=_trouble(first, broken, last, fixed),
        error=_up_to(plain(broken.output), symptom.line.number) if symptom else last_words(broken.output),
        symptom=symptom.line.text if symptom else None,
        difference=diff,
        notes=_offers(check, symptom),
    )


def _offers(check: Check, symptom: Seen | None) -> list[str]:
    """Name the commands of gpudoctor's own that mend what the script shows, made for it."""
    fixes = filled_fixes(check, symptom.sighting.groups) if symptom else []
    return [f"{fix.summary}: {fix.command}" for fix in fixes if fix.command.startswith("gpudoctor ")]


def _trouble(first: ProofStatus, broken: Ran, last: ProofStatus, fixed: Ran) -> str | None:
    """Return what went otherwise than a proof must, with the last words of the script that did."""
    if first is ProofStatus.PASSED:
        return "broken.py passes here: this patient does not have the failure"
    if first is not ProofStatus.FAILED_AS_EXPECTED:
        return f"broken.py: {broken.child.end}, without the check's own symptom"
    if last is not ProofStatus.PASSED:
        return f"fixed.py: {fixed.child.end}; its last words:\n{last_words(fixed.output, 12)}"
    return None


def last_words(output: str, lines: int = LINES_TOLD) -> str:
    """Return the first exception with what leads to it, else the last lines that say anything.

    What torchrun prints after an exception (its own traceback, the summary) tells nothing about it.
    """
    rows = plain(output)
    first = next((n for n, row in enumerate(rows, 1) if EXCEPTION.match(row)), None)
    return _up_to(rows, first or len(rows), lines)


def _up_to(rows: list[str], number: int, lines: int = LINES_TOLD) -> str:
    """Return the lines that lead to a line, counted from 1, and that line."""
    return "\n".join([row.rstrip() for row in rows[:number] if row.strip()][-lines:])

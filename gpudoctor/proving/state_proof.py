"""Prove a check of the environment: a script makes the state, and ``gpudoctor check`` looks at it there.

Such a script runs the command that stands behind its name: ``# run: python broken.py gpudoctor check --only ID``.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from gpudoctor.child import Child
from gpudoctor.interpreter import Patient
from gpudoctor.model import Check
from gpudoctor.proving.scripts import Script
from gpudoctor.report import CheckStatus, Proof, ProofStatus, Report

OWN = "gpudoctor"


class Seen(NamedTuple):
    """What ``gpudoctor check`` said of one check, in the state that a script made."""

    status: CheckStatus | None
    """``None``: there is no report."""
    words: str
    """The finding's message, else why there is none."""


def asks_for_check(script: Script) -> bool:
    """Return whether a script makes a state for ``gpudoctor check`` to look at."""
    return OWN in script.command


def with_check(script: Script, patient: Patient) -> Script:
    """Return a script that runs this very gpudoctor, which leaves its report beside the script."""
    at = script.command.index(OWN)
    # Not redacted: whoever shows the proof does that, or does not.
    told = ["--python", patient.executable, "--no-redact", "--output", _report(script.path.name)]
    command = [*script.command[:at], sys.executable, "-m", OWN, *script.command[at + 1 :], *told]
    return replace(script, command=command)


def state_proof(check: Check, broken: Child, fixed: Child, folder: Path, difference: str) -> Proof:
    """Return the proof: found in the state that ``broken.py`` made, passed in the one of ``fixed.py``."""
    before, after = _seen(check.id, broken, folder), _seen(check.id, fixed, folder)
    first = ProofStatus.FAILED_OTHERWISE
    if before.status in (CheckStatus.FOUND, CheckStatus.PASSED):
        found = before.status is CheckStatus.FOUND
        first = ProofStatus.FAILED_AS_EXPECTED if found else ProofStatus.PASSED
    last = ProofStatus.PASSED if after.status is CheckStatus.PASSED else ProofStatus.FAILED
    held = first is ProofStatus.FAILED_AS_EXPECTED and last is ProofStatus.PASSED
    return Proof(
        id=check.id,
        broken=ProofStatus.TIMEOUT if broken.timed_out else first,
        fixed=ProofStatus.TIMEOUT if fixed.timed_out else last,
        seconds=round(broken.seconds + fixed.seconds, 3),
        reason=None if held else f"with broken.py: {before.words}; with fixed.py: {after.words}",
        error=before.words,
        symptom=before.words if before.status is CheckStatus.FOUND else None,
        difference=difference,
        notes=[
            f"nothing fails in a log: gpudoctor check --only {check.id} saw the state that broken.py makes"
        ],
    )


def _report(name: str) -> str:
    return name.replace(".py", ".json")


def _seen(id: str, child: Child, folder: Path) -> Seen:
    """Read the report that a script's command left."""
    try:
        report = msgspec.json.decode((folder / _report(child.name)).read_bytes(), type=Report)
    except (OSError, msgspec.MsgspecError) as error:
        return Seen(None, f"{child.end or 'it ended'}, and there is no report: {error}")
    finding = next((finding for finding in report.findings if finding.id == id), None)
    if finding is not None:
        return Seen(CheckStatus.FOUND, finding.message)
    result = next((result for result in report.checks if result.id == id), None)
    return Seen(result.status if result else None, (result.reason if result else None) or "it found nothing")

"""Examine a checkpoint with the checks that know one, and say in a sentence what it comes to."""

import time
import traceback
from collections.abc import Iterable, Sequence
from typing import Any

from gpudoctor.facts import CheckpointFile
from gpudoctor.model import Check, CheckStatus, Finding, Result, Severity, Status, Verdict

KEYS = "state-dict"
"""How the ids of checks begin that know what is wrong with keys, which is what keeps a model from loading."""


def examine(file: CheckpointFile, checks: Iterable[Check]) -> tuple[list[Finding], list[Result]]:
    """Run the checks that have a checkpoint function; whatever one raises is its result, never the end of the run."""
    findings: list[Finding] = []
    results: list[Result] = []
    for check in checks:
        if check.checkpoint_function is None:
            continue
        begun = time.monotonic()
        reason = None
        found: list[Any] = []
        try:
            found = list(check.checkpoint_function(file))
            if wrong := next((f for f in found if not isinstance(f, Finding)), None):
                raise TypeError(f"it yields {wrong!r}, which is no Finding")
            status = CheckStatus.FOUND if found else CheckStatus.PASSED
        except (Exception, SystemExit) as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            status, found = CheckStatus.CRASHED, []
            reason = f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})"
        seconds = round(time.monotonic() - begun, 6)
        results.append(Result(id=check.id, status=status, reason=reason, seconds=seconds))
        findings += found
    return ranked(findings), results


def ranked(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings, the most likely cause first: of those that are as bad, what is wrong with keys before the file."""
    return sorted(findings, key=lambda finding: (*finding.order, not finding.id.startswith(KEYS)))


def verdict(
    files: Sequence[CheckpointFile], findings: Sequence[Finding], compared: str | None = None
) -> Verdict:
    """Say in one sentence what checkpoints come to; `findings` are those of all, the worst first.

    `compared` is the sentence of a comparison that was asked for: unless something is broken, it is the answer.
    """
    worst = min(findings, key=lambda finding: finding.severity.rank, default=None)
    if worst is not None and worst.severity is Severity.NOTE:
        worst = None
    if worst is not None:
        status = Status.BROKEN if worst.severity is Severity.ERROR else Status.SUSPECT
        if status is Status.SUSPECT and compared is not None:
            return Verdict(status=status, primary=worst.id, sentence=compared)
        words = "Most likely cause" if status is Status.BROKEN else "Nothing is broken; worth a look"
        return Verdict(status=status, primary=worst.id, sentence=f"{words}: {worst.id}: {worst.message}.")
    return Verdict(status=Status.HEALTHY, sentence=compared or _healthy(files))


def _healthy(files: Sequence[CheckpointFile]) -> str:
    """Say what is there where nothing is wrong; a part of something says that it is one."""
    parts = next((state.sharded for file in files for state in file.state_dicts if state.sharded), "")
    besides = f"; it is {parts}" if parts else ""
    if len(files) != 1:
        return f"Nothing wrong in {len(files)} checkpoints{besides}."
    keys = sum(len(state.keys) for state in files[0].state_dicts)
    where = "1 state dict" if len(files[0].state_dicts) == 1 else f"{len(files[0].state_dicts)} state dicts"
    held = f"{keys} tensor{'s' * (keys != 1)} in {where}" if keys else "no state dict"
    return f"Nothing wrong: {held}{besides}."

"""Reproductions as scripts: what lint says of each broken.py, and that it leaves each fixed.py alone."""

import difflib
from pathlib import Path

import pytest

from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from tests.check_files import examined

REGISTRY = Registry.of(())
CHECKS = [check for check in REGISTRY.checks() if Source.CODE in check.functions]
PAIRS = {id: folder for id in REGISTRY.modules if (folder := REGISTRY.reproduction(id))}
IN_CODE = [check.id for check in CHECKS if check.id in PAIRS]
ELSEWHERE = {
    "seed-same-for-data": "it draws by hand; the rule knows data sets",
    "rendezvous-env-missing": "the command that starts it is at fault; the rule knows scripts for Slurm",
    "spawn-in-torchrun": "the command that starts it is at fault",
    "dp-replica-state": "it reads a state that was made for the whole batch; the rule knows states that forward writes",
    "dp-scalar-gather": "it returns a plain number; the rule knows a loss that is not averaged",
    "dp-small-batch": "it cuts a tensor by hand; the rule knows a loader",
}
"""Why the script of a pair does not show the failure, although another script may."""
AFAR = {
    "ddp-unused-parameters": "the layer is named where it is made, and frozen where the model is",
    "eval-not-gathered": "the loop is named, and what it counts is summed behind it",
    "loss-logged-per-rank": "the print is named, and the loss is averaged before the test for the rank",
    "sampler-set-epoch": "the sampler is named, and the fix stands in the loop over epochs",
    "uneven-inputs": "the loader is named, and the share is cut above it",
}
"""Why lint names another line than those that the fix changes."""


def found(path: Path):
    return examined(path, CHECKS).findings


def changed(folder):
    """The lines of broken.py that fixed.py changes, and those beside what it adds."""
    broken, fixed = ((folder / name).read_text().splitlines() for name in ("broken.py", "fixed.py"))
    matcher = difflib.SequenceMatcher(None, broken, fixed, autojunk=False)
    lines = set()
    for kind, first, last, _, _ in matcher.get_opcodes():
        if kind != "equal":
            lines.update(
                range(first, last + 2)
            )  # what is added belongs to the line above and to the one below
    return lines


@pytest.mark.parametrize("id", PAIRS)
def test_the_fixed_script_is_left_alone(id):
    assert [f for f in found(PAIRS[id] / "fixed.py") if f.severity is not Severity.NOTE] == []


@pytest.mark.parametrize("id", sorted(set(IN_CODE) - set(ELSEWHERE)))
def test_the_broken_script_is_flagged_where_it_differs(id):
    lines = [f.location.line for f in found(PAIRS[id] / "broken.py") if f.id == id]
    assert lines, "not flagged"
    assert id in AFAR or set(lines) & changed(PAIRS[id]), (
        f"flagged in {lines}, and the fix is in {sorted(changed(PAIRS[id]))}"
    )

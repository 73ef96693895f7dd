"""Reproductions as scripts: what lint says of each broken.py, and that it leaves each fixed.py alone."""

import difflib
from pathlib import Path

import pytest

from gpudoctor.code.examination import look
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry

REGISTRY = Registry.of(())
CHECKS = [check for check in REGISTRY.checks() if Source.CODE in check.functions]
PAIRS = {id: folder for id in REGISTRY.modules if (folder := REGISTRY.reproduction(id))}
IN_CODE = [check.id for check in CHECKS if check.id in PAIRS]
ELSEWHERE = {"ddp-unused-parameters": "the layer is defined in one place, and frozen in another"}
"""Why the script of a pair does not show the failure, although another script may."""


def found(path: Path):
    examined = look([(path, path.name)], CHECKS)
    assert not examined.unread
    return examined.findings


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
    assert set(lines) & changed(PAIRS[id]), (
        f"flagged in {lines}, and the fix is in {sorted(changed(PAIRS[id]))}"
    )

"""Checks of scripts, on snippets: each test file of a check has some that it flags, and some that are fine.

A snippet is a text, or a good script of ``scripts/`` and what is changed in it: ``("spawn.py", {"old": "new  # <-"})``.
"""

import re
from pathlib import Path

import pytest

from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from tests.check_files import examined, its_tests

HERE = Path(__file__).parent
MARK = re.compile(r"# <-((?: [a-z][a-z0-9-]+)*)")
CHECKS = [check for check in Registry.of(()).checks() if Source.CODE in check.functions]


def snippets(id, kind):
    return getattr(its_tests(id), kind, [])


def cases(kind):
    return [
        pytest.param(check.id, written(snippet), id=f"{check.id}-{number}")
        for check in CHECKS
        for number, snippet in enumerate(snippets(check.id, kind))
    ]


def written(snippet):
    if isinstance(snippet, str):
        return snippet
    name, changes = snippet
    text = (HERE / "scripts" / name).read_text()
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def found(tmp_path, text):
    path = tmp_path / ("train.ipynb" if text.lstrip().startswith("{") else "train.py")
    path.write_text(text.lstrip("\n"))
    seen = examined(path, CHECKS)
    assert not [result for result in seen.results.values() if result.status.value == "crashed"], seen.results
    return seen.findings


def marked(text):
    """The lines that are marked, and of each the ids that are named beside the check's own."""
    lines = text.lstrip("\n").split("\n")
    return {n: found[1].split() for n, line in enumerate(lines, 1) if (found := MARK.search(line))}


@pytest.mark.parametrize("id, text", cases("FLAGGED"))
def test_flagged(tmp_path, id, text):
    """A line marked ``# <-`` gets the check's own finding, ``# <- id`` another one's; no other is above a note."""
    lines = marked(text)
    expected = {(name, line) for line, names in lines.items() for name in names or [id]}
    got = {
        (f.id, f.location.line)
        for f in found(tmp_path, text)
        if f.severity is not Severity.NOTE or f.id == id
    }
    assert got == expected


@pytest.mark.parametrize("id, text", cases("FINE"))
def test_fine(tmp_path, id, text):
    """What looks alike gets no finding of the check's own, and none of others above a note."""
    assert [f for f in found(tmp_path, text) if f.severity is not Severity.NOTE or f.id == id] == []


def test_every_check_of_scripts_has_both():
    assert [check.id for check in CHECKS if not snippets(check.id, "FLAGGED")] == [], (
        "no snippet that it flags"
    )
    assert [check.id for check in CHECKS if not snippets(check.id, "FINE")] == [], (
        "none looks alike and is fine"
    )


@pytest.mark.parametrize("path", sorted((HERE / "scripts").glob("*.py")), ids=lambda path: path.stem)
def test_good_scripts_are_left_alone(tmp_path, path):
    assert [f for f in found(tmp_path, path.read_text()) if f.severity is not Severity.NOTE] == []

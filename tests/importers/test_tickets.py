"""Labelled tickets: what each text says, which failures it shows, and what must not be claimed of it."""

import json
import re
from pathlib import Path

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry

TICKETS = Path(__file__).parent / "tickets"
LABELS = json.loads((TICKETS / "labels.json").read_text())
STEP = re.compile(r"\.(\w+)|\[(\d+)\]|\['([^']+)'\]")


def value(facts, path):
    """Follow ``gpus.devices[1].name`` and the like; ``len(…)`` counts, a path that leads nowhere is ``None``."""
    if path.startswith("len("):
        found = value(facts, path[4:-1])
        return None if found is None else len(found)
    topic = re.match(r"\w+", path)[0]
    found = facts.get(topic)
    for attribute, index, key in STEP.findall(path[len(topic) :]):
        if found is None:
            return None
        found = getattr(found, attribute) if attribute else found[int(index)] if index else found.get(key)
    return found


@pytest.fixture(scope="module")
def registry():
    return Registry()


@pytest.mark.parametrize("name", sorted(LABELS))
def test_a_ticket(name, read_text, registry):
    label = LABELS[name]
    snapshot = read_text((TICKETS / f"{name}.txt").read_bytes()).snapshot
    for path, expected in label.get("facts", {}).items():
        topic = re.search(r"(?:len\()?(\w+)", path)[1]
        if topic in registry.topics:
            assert value(snapshot.facts, path) == expected, path
    checks = registry.checks(registry.select((), ()))
    report = diagnose(snapshot, checks)
    found = {finding.id for finding in report.findings}
    asked = {check.id for check in checks if Source.ENVIRONMENT in check.functions}
    known = {*label.get("expected", ()), *label.get("acceptable", ())}
    assert asked.intersection(label.get("expected", ())) <= found
    claimed = {f.id for f in report.findings if f.severity is not Severity.NOTE}
    assert not claimed.intersection(label.get("forbidden", ()))
    assert {f.id for f in report.findings if f.severity is Severity.ERROR} <= known

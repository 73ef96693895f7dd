"""What torch itself and torchvision hold is read to its end, and holds no fault for which somebody should be woken."""

import importlib.util
from pathlib import Path

import pytest

import gpudoctor
from gpudoctor.model import Severity
from gpudoctor.report import CheckStatus

ROOTS = [
    Path(place)
    for name in ("torch", "torchvision")
    if (found := importlib.util.find_spec(name)) is not None
    for place in found.submodule_search_locations or ()
]
FOLDERS = [
    folder
    for root in ROOTS
    for folder in (
        [root / name for name in ("distributed", "nn", "utils")] if root.name == "torch" else [root]
    )
]


@pytest.mark.skipif(not FOLDERS, reason="torch is not installed here")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_nothing_crashes_and_nothing_is_above_a_note(folder):
    report = gpudoctor.lint([folder])
    crashed = [(check.id, check.reason) for check in report.checks if check.status is CheckStatus.CRASHED]
    assert crashed == []
    loud = [(f.id, str(f.location), f.message) for f in report.findings if f.severity is not Severity.NOTE]
    assert loud == []

"""Every injected fault is found, with the right id first; nothing is found on a healthy machine."""

import importlib
import pkgutil

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.model import Severity
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Report, Status
from tests.scenarios import faults
from tests.scenarios.fault import Fault, Variant
from tests.scenarios.healthy import HEALTHY
from tests.scenarios.machine import snapshot

AREAS = [
    importlib.import_module(f"{faults.__name__}.{m.name}") for m in pkgutil.iter_modules(faults.__path__)
]
FAULTS: list[Fault] = [fault for area in AREAS for fault in area.FAULTS]
VARIANTS: list[Variant] = [variant for area in AREAS for variant in getattr(area, "VARIANTS", [])]


def crashed(report: Report) -> list[tuple[str, str | None]]:
    return [(result.id, result.reason) for result in report.with_status(CheckStatus.CRASHED)]


def above_a_note(report: Report) -> list[tuple[str, str]]:
    return [(f.id, f.message) for f in report.findings if f.severity is not Severity.NOTE]


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_machine_is_left_in_peace(name: str, registry: Registry) -> None:
    report = diagnose(snapshot(HEALTHY[name]), registry.checks())
    assert above_a_note(report) == []
    assert crashed(report) == []
    assert report.verdict.status is Status.HEALTHY, report.verdict.sentence


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_healthy_variant_is_left_in_peace(variant: Variant, registry: Registry) -> None:
    report = diagnose(variant.change(snapshot(HEALTHY[variant.on])), registry.checks())
    assert above_a_note(report) == []
    assert crashed(report) == []


def test_faults_have_names_of_their_own() -> None:
    names = [fault.name for fault in FAULTS]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_found_and_comes_first(fault: Fault, registry: Registry) -> None:
    report = diagnose(fault.change(snapshot(HEALTHY[fault.on])), registry.checks())
    assert crashed(report) == []
    found = [f for f in report.findings if fault.note or f.severity is not Severity.NOTE]
    assert fault.expect in [f.id for f in found], [(f.id, f.message) for f in report.findings]
    finding = next(f for f in found if f.id == fault.expect)
    assert fault.says in finding.message
    others = [id for id, _ in above_a_note(report) if id != fault.expect and id not in fault.also]
    assert others == []
    if fault.note:
        assert finding.severity is Severity.NOTE
    else:
        assert report.findings[0].id == fault.expect
        assert report.verdict.status in (Status.BROKEN, Status.SUSPECT)


def test_what_is_promised_is_there() -> None:
    """At least 150 faults and 40 healthy machines."""
    assert len(FAULTS) >= 150
    assert len(HEALTHY) >= 40

"""Facts to checks by type, each check on its own, findings in order, and one sentence that says what it comes to."""

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any, Optional

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.facts import CheckpointFile, CheckpointValues, Comparison, Gpus, Launch, Outcome, Torch
from gpudoctor.guard import examine
from gpudoctor.model import CannotTell, Check, Finding, Role, Severity, Source
from gpudoctor.report import CheckStatus, ProbeResult, ProbeStatus
from gpudoctor.snapshot import Snapshot

OK = ProbeResult(name="launch", status=ProbeStatus.OK)


def make(
    function: Callable[..., Any] | None,
    id: str = "some-check",
    family: str = "network",
    severity: Severity = Severity.ERROR,
) -> Check:
    check = Check(severity=severity)
    check.describe(id=id, family=family, docstring="A thing is broken.\n\nWhy.")
    if function is not None:
        check.environment(function)
    return check


def one(function: Callable[..., Any], snapshot: Snapshot) -> tuple[CheckStatus, str | None]:
    result, _ = examine(make(function), Source.ENVIRONMENT, snapshot)
    return result.status, result.reason


def finding(
    id: str = "some-check",
    family: str = "network",
    severity: Severity = Severity.ERROR,
    role: Role = Role.CAUSE,
) -> Finding:
    return make(None, id, family, severity).found("a value", role=role)


# Facts by type


def test_facts_are_handed_in_by_their_type_whatever_the_parameters_name() -> None:
    seen = []

    def environment(a: Launch, b: Torch) -> Iterator[Finding]:
        seen.append((a, b))
        yield from ()

    launch, torch = Launch(variables={"RANK": "0"}), Torch(version="2.9")
    assert one(environment, Snapshot({"torch": torch, "launch": launch})) == (CheckStatus.PASSED, None)
    assert seen == [(launch, torch)]


def test_a_required_fact_that_is_missing_makes_it_unknown_with_the_probes_own_reason() -> None:
    def environment(launch: Launch, gpus: Gpus) -> Iterator[Finding]:
        raise AssertionError("must not be called")

    hung = ProbeResult(name="gpus", status=ProbeStatus.TIMEOUT, reason="no answer in 15 s")
    snapshot = Snapshot({"launch": Launch()}, [OK, hung])
    assert one(environment, snapshot) == (CheckStatus.UNKNOWN, "gpus: no answer in 15 s")


def test_a_required_fact_that_nobody_asked_for_is_said_to_be_absent() -> None:
    def environment(gpus: Gpus) -> Iterator[Finding]:
        raise AssertionError("must not be called")

    assert one(environment, Snapshot()) == (CheckStatus.UNKNOWN, "gpus: not in this report")
    skipped = Snapshot(probes=[ProbeResult(name="gpus", status=ProbeStatus.SKIPPED)])
    assert one(environment, skipped) == (CheckStatus.UNKNOWN, "gpus: skipped")


def test_an_optional_fact_that_is_missing_is_none() -> None:
    seen = []

    def new(launch: Launch, gpus: Gpus | None) -> Iterator[Finding]:
        seen.append(gpus)
        yield from ()

    def old(launch: Launch, gpus: Optional[Gpus] = None) -> Iterator[Finding]:  # noqa: UP045
        seen.append(gpus)
        yield from ()

    snapshot = Snapshot({"launch": Launch()})
    assert one(new, snapshot) == one(old, snapshot) == (CheckStatus.PASSED, None)
    snapshot.facts["gpus"] = Gpus(error="x")
    one(new, snapshot)
    assert seen == [None, None, Gpus(error="x")]


def test_a_check_without_an_environment_function_is_not_asked() -> None:
    assert diagnose(Snapshot(), [make(None)]).checks == []


# Each check on its own


def test_found_and_passed() -> None:
    check = make(None)

    @check.environment
    def environment(launch: Launch) -> Iterator[Finding]:
        if launch.variables:
            yield check.found("a value")

    for variables, status, count in (({"RANK": "0"}, CheckStatus.FOUND, 1), ({}, CheckStatus.PASSED, 0)):
        report = diagnose(Snapshot({"launch": Launch(variables=variables)}, [OK]), [check])
        assert [r.status for r in report.checks] == [status]
        assert len(report.findings) == count


def test_a_check_may_say_that_its_facts_do_not_suffice() -> None:
    def environment(launch: Launch) -> Iterator[Finding]:
        yield finding()
        raise CannotTell("the kernel log needs root")

    result, found = examine(make(environment), Source.ENVIRONMENT, Snapshot({"launch": Launch()}))
    assert (result.status, result.reason) == (CheckStatus.UNKNOWN, "the kernel log needs root")
    assert found in ([], [finding()])


def raises(launch: Launch) -> Iterator[Finding]:
    yield finding()
    raise KeyError("gone")


def returns_nothing(launch: Launch) -> Any:
    return None


def yields_text(launch: Launch) -> Any:
    yield "port 29500 is taken"


def recurses(launch: Launch) -> Any:
    return recurses(launch)


def wants_the_unknown(launch: "NoSuchFact") -> Any:  # type: ignore[name-defined]  # noqa: F821
    return []


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (raises, "KeyError: 'gone'"),
        (returns_nothing, "TypeError: "),
        (yields_text, "which is no Finding"),
        (recurses, "RecursionError: "),
        (wants_the_unknown, "NameError: "),
    ],
)
def test_a_check_that_crashes_is_its_own_result_and_the_others_go_on(
    function: Callable[..., Any], words: str
) -> None:
    def good(launch: Launch) -> Iterator[Finding]:
        yield finding("good")

    checks = [make(good, "before"), make(function, "bad"), make(good, "after")]
    report = diagnose(Snapshot({"launch": Launch()}, [OK]), checks)
    assert [r.status for r in report.checks] == [CheckStatus.FOUND, CheckStatus.CRASHED, CheckStatus.FOUND]
    reason = report.checks[1].reason or ""
    assert words in reason
    assert re.match(r"/.+\.py:\d+: ", reason), "names no file and line"
    assert [f.id for f in report.findings] == ["good", "good"]


# Order


def test_findings_come_most_likely_cause_first() -> None:
    """Causes before consequences, then the more severe, then the lower layer."""
    expected = [
        finding("a", "driver", Severity.ERROR),
        finding("b", "network", Severity.ERROR),
        finding("c", "own-family", Severity.ERROR),
        finding("d", "hardware", Severity.WARNING),
        finding("e", "data", Severity.WARNING),
        finding("f", "hardware", Severity.NOTE),
        finding("g", "hardware", Severity.ERROR, Role.CONSEQUENCE),
        finding("h", "network", Severity.WARNING, Role.CONSEQUENCE),
    ]
    for order in itertools.islice(itertools.permutations(expected), 0, 40320, 997):
        checks = [make(lambda f=f: [f], f.id) for f in order]
        report = diagnose(Snapshot(), checks)
        assert [f.id for f in report.findings] == list("abcdefgh")
        assert report.verdict.primary == "a"


def test_findings_of_one_layer_keep_the_order_of_the_checks() -> None:
    checks = [make(lambda name=name: [finding(name)], name) for name in ("z", "a", "m")]
    assert [f.id for f in diagnose(Snapshot(), checks).findings] == ["z", "a", "m"]


# Every kind of evidence by one guard


def test_a_checkpoints_facts_reach_a_check_by_type_and_those_not_asked_for_are_not_missed() -> None:
    seen = []
    plain, compares = make(None, "plain"), make(None, "compares")

    @plain.checkpoint
    def of_file(file: CheckpointFile, values: CheckpointValues | None) -> Iterator[Finding]:
        seen.append((file.path, values))
        yield from ()

    @compares.checkpoint
    def of_comparison(comparison: Comparison) -> Iterator[Finding]:
        yield compares.found(comparison.sentence)

    first = CheckpointFile(path="runs/a.pt", kind="torch zip")
    second = CheckpointFile(path="runs/b.pt", kind="torch zip")
    values = CheckpointValues(path="runs/b.pt")
    facts = {"checkpoint": first, "checkpoint.2": second, "values.2": values}
    report = diagnose(Snapshot(facts), [plain, compares])
    assert seen == [("runs/a.pt", None), ("runs/b.pt", values)]
    assert [(r.id, r.status) for r in report.checks] == [("plain", CheckStatus.PASSED)]
    differs = Comparison(outcome=Outcome.SHAPE, sentence="Other shapes.")
    report = diagnose(Snapshot({**facts, "comparison.2": differs}), [compares])
    assert [(f.message, f.source) for f in report.findings] == [("b.pt: Other shapes.", Source.CHECKPOINT)]


def test_a_check_that_cannot_tell_of_a_checkpoint_is_unknown_and_of_several_the_worst_result_stays() -> None:
    check = make(None)

    @check.checkpoint
    def checkpoint(file: CheckpointFile) -> Iterator[Finding]:
        if file.path == "b.pt":
            raise CannotTell("written by a newer torch")
        yield from ()

    files = {
        f"checkpoint{n}": CheckpointFile(path=p, kind="torch zip") for n, p in (("", "a.pt"), (".2", "b.pt"))
    }
    (result,) = diagnose(Snapshot(files), [check]).checks
    assert (result.status, result.reason) == (CheckStatus.UNKNOWN, "written by a newer torch")


def test_a_file_that_could_not_be_read_is_not_examined() -> None:
    check = make(None)

    @check.checkpoint
    def checkpoint(file: CheckpointFile) -> Iterator[Finding]:
        raise AssertionError("must not be called")

    report = diagnose(
        Snapshot({"checkpoint": CheckpointFile(path="a.pt", kind="unknown", unread=True)}), [check]
    )
    assert report.checks == []
    assert "1 file could not be read" in report.verdict.sentence


def test_a_checkpoint_alone_says_nothing_of_the_machine() -> None:
    def environment(gpus: Gpus | None) -> Iterator[Finding]:
        raise AssertionError("must not be called")

    facts = {"checkpoint": CheckpointFile(path="a.pt", kind="torch zip")}
    assert diagnose(Snapshot(facts), [make(environment)]).checks == []


def test_a_report_carries_the_facts_and_what_became_of_the_probes() -> None:
    snapshot = Snapshot({"launch": Launch()}, [OK])
    report = diagnose(snapshot, [])
    assert (report.facts, report.probes) == ({"launch": Launch()}, [OK])
    assert report.schema == "gpudoctor.report/1"


# What follows from what


def linked(id: str, family: str, follows: tuple[str, ...] = (), severity: Severity = Severity.ERROR) -> Check:
    check = Check(severity=severity, follows=follows)
    check.describe(id=id, family=family, docstring="A thing is broken.\n\nWhy.")

    @check.environment
    def environment(launch: Launch) -> Iterator[Finding]:
        yield check.found("a value")

    return check


def roles(*checks: Check) -> dict[str, Role]:
    return {f.id: f.role for f in diagnose(Snapshot({"launch": Launch()}, [OK]), checks).findings}


def test_what_follows_from_another_finding_is_its_consequence_and_says_so() -> None:
    driver = linked("no-driver", "driver")
    report = diagnose(
        Snapshot({"launch": Launch()}, [OK]), [linked("no-cuda", "build", ("no-driver",)), driver]
    )
    assert [(f.id, f.role, f.severity) for f in report.findings] == [
        ("no-driver", Role.CAUSE, Severity.ERROR),
        ("no-cuda", Role.CONSEQUENCE, Severity.NOTE),
    ]
    assert report.findings[1].message == "a value (follows from no-driver)"


@pytest.mark.parametrize(
    "cause",
    [
        linked("no-driver", "driver", severity=Severity.WARNING),  # an error does not follow from a warning
        linked("no-driver", "launch"),  # nor from a layer above it
        linked("no-driver", "driver", ("no-cuda",)),  # nor from what follows from itself
    ],
)
def test_nothing_follows_from_what_is_milder_or_higher_or_its_own_consequence(cause: Check) -> None:
    assert roles(cause, linked("no-cuda", "build", ("no-driver",)))["no-cuda"] is Role.CAUSE

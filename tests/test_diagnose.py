"""Facts to checks by type, each check on its own, findings in order, and one sentence that says what it comes to."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Optional

import pytest

from gpudoctor.diagnose import diagnose, examine, verdict
from gpudoctor.facts import Driver, Gpu, Gpus, Launch, Pci, PciDevice, Raised, Torch, TorchDevice
from gpudoctor.model import CannotTell, Check, Finding, Role, Severity
from gpudoctor.report import CheckStatus, ProbeResult, ProbeStatus, Proof, ProofStatus, Report, Result, Status
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
    result, _ = examine(make(function), snapshot)
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

    result, found = examine(make(environment), Snapshot({"launch": Launch()}))
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
        (raises, "KeyError: 'gone' (raises, line "),
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
    assert words in (report.checks[1].reason or "")
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


# The verdict


def verdict_on(
    facts: dict[str, Any] | None = None,
    findings: list[Finding] | None = None,
    probes: list[ProbeResult] | None = None,
    proofs: list[Proof] | None = None,
) -> tuple[Status, str]:
    snapshot = Snapshot(facts, probes or [OK])
    checks = [] if proofs else [Result(id="port-in-use", status=CheckStatus.PASSED)]
    report = Report(findings=findings or [], checks=checks, probes=snapshot.probes, proofs=proofs or [])
    found = verdict(report, snapshot)
    assert (found.primary is not None) == (bool(findings) and found.status in (Status.BROKEN, Status.SUSPECT))
    return found.status, found.sentence


def test_nothing_examined_is_not_healthy() -> None:
    assert verdict(Report(), Snapshot()).status is Status.UNKNOWN
    blind = Report(checks=[Result(id="port-in-use", status=CheckStatus.UNKNOWN, reason="sockets: not asked")])
    assert verdict(blind, Snapshot()).sentence == "Nothing could be examined: sockets: not asked."


def test_an_error_is_broken_and_names_the_most_likely_cause() -> None:
    assert verdict_on(findings=[finding("port-in-use")]) == (Status.BROKEN, "Most likely cause: port-in-use.")


def test_a_warning_is_suspect() -> None:
    status, sentence = verdict_on(findings=[finding("shm-too-small", severity=Severity.WARNING)])
    assert status is Status.SUSPECT
    assert "Nothing is broken" in sentence
    assert "shm-too-small" in sentence


def test_a_note_is_no_illness() -> None:
    assert verdict_on(findings=[finding(severity=Severity.NOTE)])[0] is Status.HEALTHY


@pytest.mark.parametrize("status", [ProbeStatus.TIMEOUT, ProbeStatus.CRASHED, ProbeStatus.FAILED])
def test_what_could_not_be_looked_at_never_counts_as_healthy(status: ProbeStatus) -> None:
    blind = ProbeResult(name="gpus", status=status, reason="no answer in 15 s")
    found, sentence = verdict_on(probes=[OK, blind])
    assert found is Status.UNKNOWN
    assert "gpus (no answer in 15 s)" in sentence


def test_a_probe_that_was_not_asked_is_no_reason_for_doubt() -> None:
    assert verdict_on(probes=[OK, ProbeResult(name="gpus", status=ProbeStatus.SKIPPED)])[0] is Status.HEALTHY


def test_a_check_that_crashed_is_a_reason_for_doubt() -> None:
    report = diagnose(Snapshot({"launch": Launch()}, [OK]), [make(raises, "bad")])
    assert report.verdict.status is Status.UNKNOWN
    assert "bad" in report.verdict.sentence


def test_an_error_counts_more_than_what_was_not_seen() -> None:
    blind = ProbeResult(name="gpus", status=ProbeStatus.TIMEOUT)
    assert verdict_on(findings=[finding()], probes=[blind])[0] is Status.BROKEN


@pytest.mark.parametrize("status", [ProofStatus.FAILED, ProofStatus.TIMEOUT])
def test_a_training_mode_that_fails_without_a_known_cause_is_broken_all_the_same(status: ProofStatus) -> None:
    found, sentence = verdict_on(proofs=[Proof(id="ddp", fixed=status)])
    assert found is Status.BROKEN
    assert "ddp" in sentence


def test_a_training_mode_that_passes_is_health_and_one_that_was_not_run_is_not() -> None:
    assert verdict_on(proofs=[Proof(id="ddp", fixed=ProofStatus.PASSED)])[0] is Status.HEALTHY
    status, sentence = verdict_on(proofs=[Proof(id="ddp", fixed=ProofStatus.NOT_RUN, reason="needs 2 GPUs")])
    assert status is Status.UNKNOWN
    assert "needs 2 GPUs" in sentence


GPU = {"pci": Pci(nvidia=[PciDevice(address="0000:01:00.0", device_class="0x0302")])}


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({}, "Nothing wrong in what could be seen"),
        ({"torch": Torch(imported=False)}, "Nothing wrong in what could be seen"),
        (
            {
                "torch": Torch(
                    imported=True,
                    version="2.9+cu130",
                    cuda_available=True,
                    device_count=2,
                    nccl_available=True,
                    devices=[TorchDevice(ordinal=n, name="H100") for n in range(2)],
                ),
                **GPU,
            },
            "torch 2.9+cu130 sees 2 GPUs; distributed training over NCCL",
        ),
        (
            {
                "torch": Torch(
                    imported=True, version="2.9", cuda_available=True, device_count=1, gloo_available=True
                )
            },
            "sees 1 GPU; distributed training over gloo",
        ),
        (
            {"torch": Torch(imported=True, version="2.9+cpu", cuda_available=False, gloo_available=True)},
            "Healthy for CPU training: torch 2.9+cpu, distributed over gloo; no NVIDIA GPU here",
        ),
    ],
    ids=["nothing", "no-torch", "two-gpus", "gloo-alone", "cpu"],
)
def test_a_machine_without_findings_is_told_what_it_can_do(facts: dict[str, Any], words: str) -> None:
    status, sentence = verdict_on(facts | {"driver": Driver()})
    assert status is Status.HEALTHY
    assert words in sentence


@pytest.mark.parametrize("facts", [GPU, {"gpus": Gpus(devices=[Gpu(index=0)])}], ids=["bus", "nvml"])
def test_a_gpu_that_torch_cannot_use_is_not_healthy(facts: dict[str, Any]) -> None:
    error = Raised(
        type="RuntimeError", message="CUDA unknown error. Setting the available devices to be zero."
    )
    torch = Torch(imported=True, version="2.9", cuda_available=False, cuda_error=error)
    status, sentence = verdict_on({"torch": torch, "driver": Driver(), **facts})
    assert status is Status.UNKNOWN
    assert sentence.endswith("cannot use this machine's GPU: CUDA unknown error.")


def test_a_report_carries_the_facts_and_what_became_of_the_probes() -> None:
    snapshot = Snapshot({"launch": Launch()}, [OK])
    report = diagnose(snapshot, [])
    assert (report.facts, report.probes) == ({"launch": Launch()}, [OK])
    assert report.schema == "gpudoctor.report/1"

"""One order and one sentence for findings of every kind of evidence."""

import itertools
from typing import Any

import pytest
from msgspec.structs import replace

from gpudoctor.diagnose import diagnose
from gpudoctor.facts import (
    CheckpointFile,
    Comparison,
    Driver,
    Format,
    Gpu,
    Gpus,
    Launch,
    Log,
    Outcome,
    Pci,
    PciDevice,
    Raised,
    Run,
    Torch,
    TorchDevice,
)
from gpudoctor.model import Check, Evidence, Finding, Role, Severity, Source
from gpudoctor.report import CheckStatus, ProbeResult, ProbeStatus, Proof, ProofStatus, Report, Result, Status
from gpudoctor.snapshot import Snapshot
from gpudoctor.verdict import conclude, exit_code, ranked, verdict

OK = ProbeResult(name="launch", status=ProbeStatus.OK)


def finding(
    id: str = "some-check",
    family: str = "network",
    severity: Severity = Severity.ERROR,
    role: Role = Role.CAUSE,
    source: Source = Source.ENVIRONMENT,
    **more: Any,
) -> Finding:
    check = Check(severity=severity)
    check.describe(id=id, family=family, docstring="A thing is broken.\n\nWhy.")
    return replace(check.found("a value", role=role), source=source, **more)


def verdict_on(
    facts: dict[str, Any] | None = None,
    findings: list[Finding] | None = None,
    probes: list[ProbeResult] | None = None,
    proofs: list[Proof] | None = None,
) -> tuple[Status, str]:
    snapshot = Snapshot(facts, probes or [OK])
    checks = [] if proofs else [Result(id="port-in-use", status=CheckStatus.PASSED)]
    report = Report(findings=findings or [], checks=checks, probes=snapshot.probes, proofs=proofs or [])
    report.facts = snapshot.facts
    found = verdict(report)
    assert (found.primary is not None) == (bool(findings) and found.status in (Status.BROKEN, Status.SUSPECT))
    return found.status, found.sentence


def test_nothing_examined_is_not_healthy() -> None:
    assert verdict(Report()).status is Status.UNKNOWN
    blind = Report(checks=[Result(id="port-in-use", status=CheckStatus.UNKNOWN, reason="sockets: not asked")])
    assert verdict(blind).sentence == "Nothing could be examined: sockets: not asked."


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
    check = Check(severity=Severity.ERROR)
    check.describe(id="bad", family="network", docstring="A thing is broken.")

    @check.environment
    def environment(launch: Launch) -> Any:
        return 1 / 0

    report = diagnose(Snapshot({"launch": Launch()}, [OK]), [check])
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
                "gpus": Gpus(devices=[Gpu(index=n, name="H100") for n in range(2)]),
                **GPU,
            },
            "torch 2.9+cu130 sees 2 GPUs; distributed training over NCCL",
        ),
        (
            {
                "torch": Torch(
                    imported=True, version="2.9", cuda_available=True, device_count=1, gloo_available=True
                ),
                "gpus": Gpus(devices=[Gpu(index=0, name="T4")]),
            },
            "sees 1 GPU; distributed training over gloo",
        ),
        (
            {"torch": Torch(imported=True, version="2.9+cpu", cuda_available=False, gloo_available=True)},
            "Healthy for CPU training: torch 2.9+cpu, distributed over gloo; no NVIDIA GPU here",
        ),
        # of a pasted text: it is not said that there is no GPU
        (
            {"torch": Torch(imported=True, version="2.1.0+cu118", cuda="11.8")},
            "whether torch 2.1.0+cu118 can use a GPU is not told",
        ),
        (
            {"torch": Torch(imported=True, version="2.9+cpu", cuda_available=False)},
            "torch 2.9+cpu; whether a GPU is there is not told",
        ),
    ],
    ids=["nothing", "no-torch", "two-gpus", "gloo-alone", "cpu", "not-told", "cpu-alone"],
)
def test_a_machine_without_findings_is_told_what_it_can_do(facts: dict[str, Any], words: str) -> None:
    status, sentence = verdict_on(facts | {"driver": Driver()})
    assert status is Status.HEALTHY
    assert words in sentence


USED = Torch(imported=True, version="2.9", cuda_available=True, device_count=2, nccl_available=True)
ROCM = Torch(imported=True, version="2.9+rocm6.4", hip="6.4", cuda_available=True, device_count=2)


@pytest.mark.parametrize(
    "facts,words",
    [
        (
            {"torch": USED, "gpus": Gpus(error="Driver Not Loaded", error_code=9)},
            "No GPU was examined: NVML tells nothing of them (Driver Not Loaded).",
        ),
        (
            {"torch": USED, "gpus": Gpus(devices=[Gpu(index=0, name="T4"), Gpu(index=1)])},
            "1 of 2 GPUs were examined.",
        ),
        ({"torch": ROCM}, "this machine has 2 AMD GPUs, which gpudoctor does not examine."),
        (
            {"torch": ROCM, "pci": Pci(amd=[PciDevice(address="0000:0c:00.0")] * 8)},
            "this machine has 8 AMD GPUs, which gpudoctor does not examine.",
        ),
        (
            {
                "torch": Torch(imported=True, version="2.9+xpu"),
                "pci": Pci(intel=[PciDevice(address="0000:03:00.0")]),
            },
            "this machine has 1 Intel GPU, which gpudoctor does not examine.",
        ),
    ],
    ids=["no-nvml", "one-lost", "rocm", "rocm-bus", "xpu"],
)
def test_what_was_not_examined_is_never_called_healthy(facts: dict[str, Any], words: str) -> None:
    status, sentence = verdict_on(facts | {"driver": Driver()})
    assert status is Status.UNKNOWN
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


# Mixed evidence

LOG_LINE = {"source": Source.LOG, "evidence": [Evidence("RuntimeError: ...", "train.log:7", 3)], "ranks": [3]}


def test_what_happened_comes_before_what_is_merely_there_and_a_worse_thing_before_both() -> None:
    expected = [
        finding("oom", "placement", **LOG_LINE),
        finding("driver", "driver"),
        finding("keys", "checkpoint", source=Source.CHECKPOINT),
        finding("state-dict-late", "zzz"),
        finding("warned", "nccl", Severity.WARNING, **LOG_LINE),
        finding("shm", "launch", Severity.WARNING),
        finding("followed", "hardware", Severity.ERROR, Role.CONSEQUENCE, **LOG_LINE),
    ]
    for order in itertools.islice(itertools.permutations(expected), 0, 5040, 131):
        assert [f.id for f in ranked(order)] == [f.id for f in expected]


def test_a_note_on_how_machines_mostly_are_comes_after_other_notes() -> None:
    usual = finding("hostname-resolution", "network", Severity.NOTE)
    said = finding("omp-threads", "launch", Severity.NOTE)
    report = conclude(Report(findings=[usual, said]))
    assert [f.id for f in report.findings] == ["omp-threads", "hostname-resolution"]
    worse = finding("hostname-resolution", "network", Severity.WARNING)
    assert conclude(Report(findings=[said, worse])).findings[0].id == "hostname-resolution"


def test_of_a_checkpoint_what_is_wrong_with_its_keys_comes_first() -> None:
    unsafe = finding("checkpoint-unsafe", "checkpoint", source=Source.CHECKPOINT)
    keys = finding("state-dict-prefix", "checkpoint", source=Source.CHECKPOINT)
    assert [f.id for f in ranked([unsafe, keys])] == ["state-dict-prefix", "checkpoint-unsafe"]


def concluded(*findings: Finding, **report: Any) -> tuple[Status, str | None, str]:
    found = conclude(Report(findings=list(findings), **report)).verdict
    return found.status, found.primary, found.sentence


def test_a_log_beside_facts_names_the_rank_and_the_line() -> None:
    assert concluded(finding("shm", "launch"), finding("oom", "placement", **LOG_LINE)) == (
        Status.BROKEN,
        "oom",
        "Most likely cause: oom (rank 3), train.log:7.",
    )


def test_a_warning_of_a_log_does_not_hide_an_error_of_the_machine() -> None:
    status, primary, sentence = concluded(
        finding("slow", "nccl", Severity.WARNING, **LOG_LINE), finding("shm", "launch")
    )
    assert (status, primary, sentence) == (Status.BROKEN, "shm", "Most likely cause: shm.")


def test_what_only_followed_is_said_to_be_that() -> None:
    behind = "Another rank failed or stalled first, and its output is not here."
    _, _, sentence = concluded(finding("nccl-timeout", "nccl", behind=behind, **LOG_LINE))
    assert sentence == f"Only what followed shows here: nccl-timeout (rank 3), train.log:7. {behind}"


def test_a_checkpoint_beside_a_machine_says_what_is_wrong_with_it() -> None:
    wrong = replace(finding("state-dict-shape", "checkpoint", source=Source.CHECKPOINT), message="fc is [10]")
    status, primary, sentence = concluded(wrong, finding("shm", "launch", Severity.WARNING))
    assert (status, primary) == (Status.BROKEN, "state-dict-shape")
    assert sentence == "Most likely cause: state-dict-shape: fc is [10]."


def test_a_comparison_that_was_asked_for_is_the_answer_unless_something_is_broken() -> None:
    file = CheckpointFile(path="runs/a.pt", kind="torch zip")
    loads = Comparison(outcome=Outcome.LOADS, sentence="It loads: 4 tensors.")
    facts = {"checkpoint": file, "comparison": loads}
    warned = finding("checkpoint-unsafe", "checkpoint", Severity.WARNING, source=Source.CHECKPOINT)
    assert concluded(facts=facts) == (Status.HEALTHY, None, "It loads: 4 tensors.")
    assert concluded(warned, facts=facts) == (Status.SUSPECT, "checkpoint-unsafe", "It loads: 4 tensors.")
    two = facts | {"checkpoint.2": replace(file, path="runs/b.pt"), "comparison.2": loads}
    assert concluded(facts=two)[2] == "All 2 that hold a state dict load into it."
    one = facts | {"checkpoint.2": replace(file, path="runs/b.pt")}
    assert concluded(facts=one)[2] == "a.pt: It loads: 4 tensors."


def test_a_file_that_could_not_be_read_never_counts_as_healthy() -> None:
    lost = CheckpointFile(path="b.pt", kind="unknown", unread=True)
    facts = {"checkpoint": CheckpointFile(path="a.pt", kind="torch zip"), "checkpoint.2": lost}
    status, _, sentence = concluded(facts=facts)
    assert status is Status.UNKNOWN
    assert sentence.endswith("1 file could not be read.")


def test_a_log_without_a_failure_is_counted_and_a_run_that_failed_is_not_well() -> None:
    facts: dict[str, Any] = {"log": Log(lines=12)}
    assert concluded(facts=facts) == (Status.HEALTHY, None, "No failure shows in 12 lines.")
    facts["run"] = Run(name="train.sh", exit_code=3, seconds=1.0)
    status, _, sentence = concluded(facts=facts)
    assert status is Status.UNKNOWN
    assert sentence == (
        "train.sh ended with exit code 3 after 1.0 s; no other failure that gpudoctor knows shows in its output."
    )


def test_a_log_that_ends_in_the_middle_is_not_called_well() -> None:
    status, primary, sentence = concluded(facts={"log": Log(lines=12, middle="epoch 3 of 10")})
    assert (status, primary) == (Status.UNKNOWN, None)
    assert "the log ends in the middle, at epoch 3 of 10" in sentence
    assert exit_code(Report(facts={"log": Log(lines=12, middle="epoch 3 of 10")}), "error") == 3
    assert exit_code(Report(facts={"log": Log(lines=12)}), "error") == 0


def test_an_unknown_exception_is_quoted() -> None:
    unknown = replace(finding("unrecognised-error", "processes", **LOG_LINE), message="KeyError: 'lr'")
    assert concluded(unknown)[2] == "A failure that gpudoctor does not know: KeyError: 'lr'."


def test_a_proof_that_did_not_hold_is_not_hidden_by_a_warning_or_a_note() -> None:
    for severity in (Severity.WARNING, Severity.NOTE):
        report = conclude(
            Report(findings=[finding(severity=severity)], proofs=[Proof(id="ddp", fixed=ProofStatus.FAILED)])
        )
        assert report.verdict.status is Status.BROKEN
        assert exit_code(report, "error") == 1


def test_a_comparison_that_does_not_load_is_no_health_where_its_check_was_left_out() -> None:
    file = CheckpointFile(path="a.pt", kind=Format.TORCH_ZIP)
    other = Comparison(outcome=Outcome.ARCHITECTURE, sentence="No name is the same.")
    assert concluded(facts={"checkpoint": file, "comparison": other})[0] is Status.UNKNOWN


def test_only_what_was_read_is_counted_as_well() -> None:
    kinds = {"checkpoint": False, "checkpoint.2": False, "checkpoint.3": True}
    files = {t: CheckpointFile(path=t, kind=Format.TORCH_ZIP, unread=lost) for t, lost in kinds.items()}
    assert concluded(facts=files)[2] == "Nothing wrong in 2 checkpoints. 1 file could not be read."


def test_of_many_proofs_the_sentence_counts_and_of_few_it_names():
    def proof(n, reason=None):
        done = ProofStatus.NOT_RUN if reason else ProofStatus.PASSED
        begun = ProofStatus.NOT_RUN if reason else ProofStatus.FAILED_AS_EXPECTED
        return Proof(id=f"failure-{n}", broken=begun, fixed=done, reason=reason)

    def said(*proofs):
        return conclude(Report(command="repro", proofs=list(proofs))).verdict.sentence

    idle = [proof(n, "needs 1 GPU") for n in range(2)]
    assert said(proof(7), idle[0]) == "Proven: failure-7. Not run: failure-0 (needs 1 GPU)."
    many = said(*map(proof, range(10, 20)), *idle, proof(5, "needs root"))
    assert many == "Proven: 10 failures and their fixes. Not run: 2 (needs 1 GPU), 1 (needs root)."

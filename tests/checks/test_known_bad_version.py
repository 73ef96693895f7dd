"""known-bad-version: what runs has a published fault."""

import pytest

from gpudoctor.facts import Distribution, Distributions, Launch, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("known-bad-version")


def run(torch, **variables):
    return examine(
        CHECK, Source.ENVIRONMENT, Snapshot({"torch": torch, "launch": Launch(variables=variables)})
    )


def torch(version, nccl, cudnn=None):
    return Torch(imported=True, version=version, cuda="12.8", nccl=nccl, cudnn=cudnn)


def test_an_unconditional_fault_is_a_warning_with_its_source():
    _, [finding] = run(torch("2.10.0+cu128", "2.29.2"))
    assert finding.severity is Severity.WARNING
    assert "NCCL 2.29.2" in finding.message
    assert "pull/174338" in finding.message


def test_a_fault_that_some_trainings_meet_is_a_note():
    _, [finding] = run(torch("2.7.0+cu126", "2.26.2"))
    assert finding.severity is Severity.NOTE
    assert "device_id" in finding.message


@pytest.mark.parametrize(
    ("name", "version", "says"),
    [
        ("accelerate", "1.13.0", "FSDP2"),
        ("deepspeed", "0.18.2", "gradients"),
        ("deepspeed", "0.18.6", "slower"),
        ("deepspeed", "0.18.4", ""),
        ("accelerate", "1.12.0", ""),
    ],
)
def test_a_library_that_has_a_fault_is_a_note(name, version, says):
    facts = {
        "torch": torch("2.15.0+cu132", "2.30.7", "9.26.0"),
        "distributions": Distributions(installed=[Distribution(name=name, version=version)]),
    }
    _, found = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
    assert [says in finding.message for finding in found] == [True] * bool(says)
    assert all(finding.severity is Severity.NOTE for finding in found)
    assert all(f"--upgrade {name}" in finding.fixes[0].command for finding in found)


def test_a_fault_that_needs_a_variable():
    assert run(torch("2.0.1+cu118", "2.14.3"))[1] == []
    assert run(torch("2.0.1+cu118", "2.14.3"), CUDA_LAUNCH_BLOCKING="0")[1] == []
    _, [finding] = run(torch("2.0.1+cu118", "2.14.3"), CUDA_LAUNCH_BLOCKING="1")
    assert finding.severity is Severity.WARNING
    assert finding.fixes[-1].command == "unset CUDA_LAUNCH_BLOCKING"


@pytest.mark.parametrize(
    "facts",
    [
        torch("2.15.0+cu132", "2.30.7", "9.26.0"),
        torch("2.10.0", "2.29.3", "9.15.1"),
        torch("2.9.1", "2.27.5", "9.15.0"),
        torch("2.7.1", "2.26.2"),
        torch("a build of our own", "2.27.5"),
        Torch(imported=True, version="2.7.0+cpu"),
    ],
)
def test_passed(facts):
    result, found = run(facts)
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_unknown():
    assert run(Torch())[0].status is CheckStatus.UNKNOWN

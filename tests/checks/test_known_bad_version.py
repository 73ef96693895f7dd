"""known-bad-version: what runs has a published fault."""

import pytest

from gpudoctor.facts import Distribution, Distributions, Host, Launch, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("known-bad-version")


def run(torch, machine="x86_64", **variables):
    facts = {"torch": torch, "launch": Launch(variables=variables), "host": Host(machine=machine)}
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def torch(version, nccl, cudnn=None):
    return Torch(imported=True, version=version, cuda="12.8", nccl=nccl, cudnn=cudnn)


@pytest.mark.parametrize("nccl", ["2.28.9", "2.29.2"])
def test_a_hang_is_a_warning_with_its_source_on_the_machines_that_hang(nccl):
    _, [finding] = run(torch("2.10.0+cu130", nccl), "aarch64")
    assert finding.severity is Severity.WARNING
    assert f"NCCL {nccl}" in finding.message
    assert "releases/tag/v2.29.3-1" in finding.message
    assert run(torch("2.10.0+cu130", nccl), "x86_64")[1] == []
    assert run(torch("2.10.0+cu130", "2.29.3"), "aarch64")[1] == []


@pytest.mark.parametrize(
    ("version", "cudnn", "found"),
    [("2.9.0", "9.10.2", 1), ("2.9.0", "9.15.1", 1), ("2.9.1", "9.13.0", 1), ("2.9.1", "9.15.0", 0)],
)
def test_a_newer_cudnn_helps_the_torch_that_looks_for_it(version, cudnn, found):
    _, findings = run(torch(version, "2.27.5", cudnn))
    assert ["conv3d" in finding.message for finding in findings] == [True] * found
    helps = [any("cudnn" in fix.command for fix in finding.fixes) for finding in findings]
    assert helps == [version == "2.9.1"] * found


def test_a_fault_that_some_trainings_meet_is_a_note():
    _, [finding] = run(torch("2.7.0+cu126", "2.26.2"))
    assert finding.severity is Severity.NOTE
    assert "device_id" in finding.message


@pytest.mark.parametrize(
    ("name", "version", "says"),
    [
        ("accelerate", "1.13.0", "FSDP2"),
        ("deepspeed", "0.18.5", "slower"),
        ("deepspeed", "0.18.9", "stage 1"),
        ("deepspeed", "0.18.11", ""),
        ("deepspeed", "0.18.4", ""),
        ("deepspeed", "0.17.5", ""),
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


def test_gradients_that_are_lost_without_a_word_are_a_warning():
    facts = {
        "torch": torch("2.15.0+cu132", "2.30.7", "9.26.0"),
        "distributions": Distributions(installed=[Distribution(name="deepspeed", version="0.18.2")]),
    }
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
    assert finding.severity is Severity.WARNING
    assert "last accumulated batch" in finding.message


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

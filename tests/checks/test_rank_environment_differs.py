"""rank-environment-differs: reports of ranks set side by side."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.facts import Driver, Launch, Rank, Ranks, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("rank-environment-differs")


def of(*each, launch=None):
    ranks = Ranks(each=[Rank.of(f"r{n}.json", facts) for n, facts in enumerate(each)])
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"ranks": ranks, "launch": launch or Launch()}))


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (
            {"RANK": "0", "NCCL_PROTO": "LL"},
            {"RANK": "1"},
            "NCCL_PROTO is LL in r0.json and not set in r1.json",
        ),
        (
            {"RANK": "0", "TORCH_DISTRIBUTED_DEBUG": "DETAIL"},
            {"RANK": "1", "TORCH_DISTRIBUTED_DEBUG": "OFF"},
            "TORCH_DISTRIBUTED_DEBUG is DETAIL in r0.json and OFF in r1.json",
        ),
        ({"RANK": "0", "NCCL_SOCKET_IFNAME": "ens1"}, {"RANK": "1", "NCCL_SOCKET_IFNAME": "eth0"}, ""),
        ({"RANK": "0", "NCCL_RAS_ADDR": "ip-1"}, {"RANK": "1", "NCCL_RAS_ADDR": "ip-2"}, ""),
        ({"RANK": "0", "NCCL_DEBUG": "INFO"}, {"RANK": "1"}, ""),
        ({"RANK": "0", "NCCL_PROTO": "LL"}, {}, ""),  # taken outside of the launch
        ({"RANK": "0", "OMP_NUM_THREADS": "4"}, {"RANK": "1", "OMP_NUM_THREADS": "8"}, ""),
    ],
)
def test_variables(first, second, says):
    result, found = of([Launch(variables=first)], [Launch(variables=second)])
    assert [says in finding.message for finding in found] == [True] * bool(says)
    assert result.status is (CheckStatus.FOUND if says else CheckStatus.PASSED)


def torch(version, nccl):
    return Torch(imported=True, version=version, nccl=nccl)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (torch("2.14.1+cu130", "2.30.7"), "torch is 2.15.0+cu132 in r0.json and 2.14.1+cu130 in r1.json"),
        (torch("2.8.0+cu128", "2.27.3"), ""),  # NCCL refuses: nccl-version-mismatch
        (torch("2.15.0+cu132", "2.30.7"), ""),
        (torch(None, None), ""),
    ],
)
def test_versions_of_torch(other, says):
    _, found = of([torch("2.15.0+cu132", "2.30.7")], [other])
    assert [says in finding.message for finding in found] == [True] * bool(says)


def test_another_driver_is_a_note():
    _, [finding] = of([Driver(version="580.95.05")], [Driver(version="570.86.10")], [Driver()])
    assert finding.severity is Severity.NOTE
    assert "the NVIDIA driver is 580.95.05 in r0.json and 570.86.10 in r1.json" in finding.message


@pytest.mark.parametrize(
    ("variables", "status"),
    [
        ({}, "passed"),
        ({"RANK": "0", "WORLD_SIZE": "1"}, "passed"),
        ({"RANK": "0", "WORLD_SIZE": "8"}, "unknown"),
    ],
)
def test_one_machine_alone(variables, status):
    facts = Snapshot({"launch": Launch(variables=variables)})
    assert examine(CHECK, Source.ENVIRONMENT, facts)[0].status.value == status


def test_reports_that_check_itself_saved(tmp_path: Path):
    command = [sys.executable, "-m", "gpudoctor", "check", "--only", CHECK.id]
    for rank in "01":
        variables = {"RANK": rank, "WORLD_SIZE": "2", **({"NCCL_ALGO": "Ring"} if rank == "0" else {})}
        launched = ["env", *(f"{name}={value}" for name, value in variables.items())]
        subprocess.run(
            [*launched, *command, "-q", "-o", f"rank{rank}.json"], cwd=tmp_path, capture_output=True
        )
    told = subprocess.run([*command, "--json", "rank0.json", "rank1.json"], cwd=tmp_path, capture_output=True)
    [finding] = json.loads(told.stdout)["findings"]
    assert finding["message"].startswith("NCCL_ALGO is Ring in rank0.json and not set in rank1.json")

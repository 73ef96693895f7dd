"""The whole command line on machines with GPUs, as far as NVML goes: the C stand-in answers the real pynvml."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.warm_python import warm_python

UUID = "GPU-{0}1111111-2222-3333-4444-555555555555"
H100 = "gpu name=NVIDIA H100 80GB HBM3 uuid={uuid} capability=9.0 memory=85899345920 pci=00000000:{bus}:00.0"
TWO = "\n".join(
    ["driver 580.82.07", "cuda 13000", *(H100.format(uuid=UUID.format(n), bus=f"{n}B") for n in (3, 5))]
)
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def check(nvml: Callable[[str], dict[str, str]]) -> Run:
    """Run ``gpudoctor check --json`` on a machine with the GPUs of a scenario."""

    def run(scenario: str, *options: str, **variables: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "gpudoctor", "check", "--json", *options]
        environment = {**os.environ, **nvml(scenario), **variables}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    return run


def found(report: dict[str, Any]) -> dict[str, str]:
    return {f["id"]: f["message"] for f in report["findings"] if f["severity"] != "note"}


@pytest.fixture
def launch() -> tuple[str, ...]:
    """Options: what is asked of a launch alone, of a Python that has torch imported already."""
    return "--only", "cuda-visible-devices", "--python", warm_python()


def test_two_gpus_without_a_variable_are_fine(check: Run, launch: tuple[str, ...]) -> None:
    report = check(TWO, *launch)
    assert found(report) == {}
    assert [gpu["name"] for gpu in report["facts"]["gpus"]["devices"]] == ["NVIDIA H100 80GB HBM3"] * 2


def test_a_gpu_that_is_not_there_is_named(check: Run, launch: tuple[str, ...]) -> None:
    message = found(check(TWO, *launch, CUDA_VISIBLE_DEVICES="0,7"))["cuda-visible-devices"]
    assert "names 7" in message
    assert "1 of the 2" in message


def test_a_uuid_is_found_by_its_first_digits_and_leaves_as_an_alias(
    check: Run, launch: tuple[str, ...]
) -> None:
    report = check(TWO, *launch, CUDA_VISIBLE_DEVICES=UUID.format(5)[:12])
    assert found(report) == {}
    assert "1111111" not in json.dumps(report)


def test_a_machine_whose_driver_and_library_differ_says_so(check: Run, launch: tuple[str, ...]) -> None:
    report = check("init 18", *launch)
    assert report["facts"]["gpus"]["error_code"] == 18
    assert "mismatch" in report["facts"]["gpus"]["error"]


def test_nvml_that_hangs_is_not_healthy(check: Run, launch: tuple[str, ...]) -> None:
    report = check("hang nvmlInit_v2", *launch, "--timeout", "2")
    (probe,) = [p for p in report["probes"] if p["name"] == "gpus"]
    assert probe["status"] == "timeout"
    assert report["verdict"]["status"] == "unknown"


def test_gpus_that_torch_cannot_use_are_not_healthy(check: Run, torch_folder: object, gpu_count: int) -> None:
    """NVML shows two GPUs; this machine's torch reaches no driver."""
    if gpu_count:
        pytest.skip("torch can use this machine's GPU")
    report = check(TWO)
    assert report["verdict"]["status"] == "unknown" or found(report)

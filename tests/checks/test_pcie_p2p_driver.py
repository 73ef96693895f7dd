"""pcie-p2p-driver: RTX 40 cards and the drivers that promise too much."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Launch
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("pcie-p2p-driver")


def run(**facts: object) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))  # type: ignore[arg-type]


def nvml(driver: str | None, *names: str) -> Gpus:
    return Gpus(driver_version=driver, devices=[Gpu(index=n, name=name) for n, name in enumerate(names)])


CARD, OTHER = "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4070 Ti SUPER"
OFF = Launch(variables={"NCCL_P2P_DISABLE": "1"})


@pytest.mark.parametrize("driver", ["525.60.13", "550.40.06", "535.183.01", "545.29"])
def test_found(driver):
    _, [finding] = run(gpus=nvml(driver, CARD, OTHER))
    assert finding.severity is Severity.WARNING
    assert f"driver {driver} with 2 RTX 40 cards" in finding.message


def test_worked_around_it_is_a_note():
    _, [finding] = run(gpus=nvml("525.60.13", CARD, CARD), launch=OFF)
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    "gpus",
    [
        nvml("550.40.07", CARD, CARD),
        nvml("580.82.07", CARD, CARD),
        nvml("525.60.13", CARD),
        nvml("525.60.13", "NVIDIA GeForce RTX 3090", "NVIDIA GeForce RTX 3090"),
        nvml("525.60.13", "Quadro RTX 4000", "Quadro RTX 4000"),
        nvml(None, "NVIDIA RTX 4000 Ada Generation", "NVIDIA RTX 4000 Ada Generation"),
    ],
)
def test_passes(gpus):
    assert run(gpus=gpus)[0].status is CheckStatus.PASSED


@pytest.mark.parametrize("facts", [{}, {"gpus": nvml(None, CARD, CARD)}])
def test_unknown(facts):
    assert run(**facts)[0].status is CheckStatus.UNKNOWN

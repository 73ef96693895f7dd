"""What models should give: names find their rows, and the figures make sense."""

import re

import pytest

from gpudoctor.facts import DeviceSpeed, Measurements, Missing, gpu_model, pcie_speed, siblings_median
from gpudoctor.facts.gpu_models import MODELS

NAMES = {
    "Tesla V100-SXM2-32GB": "Tesla V100 SXM2",
    "Tesla V100-PCIE-16GB": "Tesla V100 PCIe",
    "NVIDIA A100-SXM4-40GB": "A100 SXM 40 GB",
    "A100-SXM4-40GB": "A100 SXM 40 GB",
    "NVIDIA A100-SXM4-80GB": "A100 SXM 80 GB",
    "NVIDIA A100-PCIE-40GB": "A100 PCIe 40 GB",
    "NVIDIA A100 80GB PCIe": "A100 PCIe 80 GB",
    "NVIDIA H100 80GB HBM3": "H100 SXM",
    "NVIDIA H100 PCIe": "H100 PCIe",
    "NVIDIA H100 NVL": "H100 NVL",
    "NVIDIA H200": "H200 SXM",
    "NVIDIA GH200 480GB": "GH200",
    "NVIDIA B200": "B200",
    "NVIDIA GB200": "GB200",
    "NVIDIA L40S": "L40S",
    "NVIDIA L4": "L4",
    "Tesla T4": "Tesla T4",
}


@pytest.mark.parametrize(("name", "row"), NAMES.items())
def test_a_name_finds_its_row_and_no_other(name: str, row: str) -> None:
    assert [model.name for model in MODELS if re.search(model.pattern, name)] == [row]
    model = gpu_model(name)
    assert model is not None
    assert model.name == row


@pytest.mark.parametrize(
    "name",
    [
        "",
        "NVIDIA GeForce RTX 4090",
        "NVIDIA L40",
        "NVIDIA A10",
        "NVIDIA A100-SXM-64GB",
        "NVIDIA GB300",
        "NVIDIA H20",
        "NVIDIA H800",
        "NVIDIA A800-SXM4-80GB",
        "NVIDIA T400",
        "NVIDIA A100-SXM4-80GB MIG 3g.40gb",
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
    ],
)
def test_what_is_not_in_the_table_is_not_judged(name: str) -> None:
    assert gpu_model(name) is None


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_the_least_lies_well_below_what_is_usual_and_has_a_source(model: object) -> None:
    figures = [
        figure
        for name in ("memory", "matrix_product", "all_reduce")
        if (figure := getattr(model, name)) is not None
    ]
    assert figures
    for figure in figures:
        assert 0.4 <= figure.least / figure.usual <= 0.7
        assert figure.source


def test_what_a_link_carries() -> None:
    assert pcie_speed(5, 16) == 63
    assert pcie_speed(4, 8) == 15.75
    assert pcie_speed(4, 0) is pcie_speed(None, 16) is pcie_speed(9, 16) is None


def test_the_median_of_siblings_needs_two() -> None:
    assert siblings_median([3.0]) is None
    assert siblings_median([3.0, 5.0]) == 4
    assert siblings_median([9.0, 1.0, 2.0]) == 2


def test_why_something_is_missing() -> None:
    measured = Measurements(missing=[Missing(what="GPU 3: memory", why="out of memory")])
    assert measured.why("GPU 3") == "out of memory"
    assert measured.why("gloo") == ""


def test_the_clock_meanwhile_is_the_median() -> None:
    assert DeviceSpeed(ordinal=0, sm_clocks=[1980, 900, 1000]).sm_clock == 1000
    assert DeviceSpeed(ordinal=0).sm_clock is None

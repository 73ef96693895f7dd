"""What PyTorch's own wheels have code for."""

import pytest

from gpudoctor.facts import capability_of, left_out


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("GeForce GTX 680", (3, 0)),
        ("Quadro K4000", (3, 0)),
        ("Quadro K620", (5, 0)),
        ("NVIDIA GeForce GT 730", (3, 5)),
        ("GeForce GTX TITAN Black", (3, 5)),
        ("GeForce GTX TITAN X", (5, 2)),
        ("Tesla K80", (3, 7)),
        ("GeForce GTX 750 Ti", (5, 0)),
        ("NVIDIA GB10", (12, 1)),
        ("Tesla V100-SXM2-16GB", (7, 0)),
        ("NVIDIA GeForce GTX 1080 Ti", (6, 1)),
        ("Tesla P100-PCIE-16GB", (6, 0)),
        ("Tesla P4", (6, 1)),
        ("Tesla T4", (7, 5)),
        ("A100-SXM4-40GB", (8, 0)),
        ("NVIDIA A10G", (8, 6)),
        ("NVIDIA RTX A6000", (8, 6)),
        ("NVIDIA L40S", (8, 9)),
        ("NVIDIA RTX 6000 Ada Generation", (8, 9)),
        ("NVIDIA H20", (9, 0)),
        ("NVIDIA GH200 480GB", (9, 0)),
        ("NVIDIA B200", (10, 0)),
        ("NVIDIA GeForce RTX 5070 Ti", (12, 0)),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", (12, 0)),
        ("NVIDIA Graphics Device", None),
        ("AMD Instinct MI300X", None),
    ],
)
def test_models(name, own):
    assert capability_of(name) == own


@pytest.mark.parametrize(
    ("version", "cuda", "own"),
    [
        ("2.9.1+cu130", "13.0", (7, 0)),
        ("2.8.0+cu128", "12.8", (6, 1)),
        ("2.11.0+cu128", "12.8", (7, 0)),
        ("2.5.1+cu121", "12.1", (3, 7)),
        ("1.4.0", "10.1", (3, 5)),
        ("2.5.1+cu124", "12.4", (12, 0)),
        ("2.0.1+cu117", "11.7", (9, 0)),
        ("1.9.0+cu102", "10.2", (8, 6)),
    ],
)
def test_left_out(version, cuda, own):
    assert left_out(version, cuda, own)


@pytest.mark.parametrize(
    ("version", "cuda", "own"),
    [
        ("2.9.1+cu130", "13.0", (7, 5)),
        ("2.7.1+cu128", "12.8", (7, 0)),  # of Windows' wheel
        ("2.9.1+cu128", "12.8", (7, 0)),
        ("2.10.0+cu129", "12.9", (7, 0)),
        ("2.11.0+cu126", "12.6", (5, 0)),
        ("1.12.1+cu116", "11.6", (3, 7)),
        ("1.2.0", "10.0", (3, 5)),
        ("2.9.0+cu129", "12.9", (12, 1)),
        ("2.9.1+cu126", "12.6", (6, 1)),
        ("2.7.1+cu128", "12.8", (12, 0)),
        ("1.7.1+cu110", "11.0", (8, 6)),  # runs the code for 8.0
        ("2.0.1+cu118", "11.8", (9, 0)),
        ("2.6.0a0+ecf3bae40a.nv25.01", "12.8", (7, 0)),  # NVIDIA's own build
        ("2.5.1+cu124", "", (12, 0)),
    ],
)
def test_has_code_or_may_have(version, cuda, own):
    assert not left_out(version, cuda, own)


def test_the_wheel_of_2_7_for_linux_begins_later():
    assert left_out("2.7.1+cu128", "12.8", (7, 0), linux=True)
    assert not left_out("2.7.1+cu128", "12.8", (7, 5), linux=True)
    assert not left_out("2.7.1+cu126", "12.6", (6, 1), linux=True)

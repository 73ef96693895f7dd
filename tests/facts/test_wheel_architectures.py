"""What PyTorch's own wheels have code for."""

import pytest

from gpudoctor.facts import capability_of, left_out


@pytest.mark.parametrize(
    ("name", "own"),
    [
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
        ("2.7.1+cu128", "12.8", (7, 0)),
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

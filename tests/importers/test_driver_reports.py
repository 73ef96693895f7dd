"""GPUs and driver as programs beside nvidia-smi list them."""

import pytest

from gpudoctor.facts import Gpu

CONTAINER_CLI = """\
NVRM version:   460.39
CUDA version:   11.2

Device Index:   0
Device Minor:   0
Model:          GeForce RTX 3090
Brand:          GeForce
GPU UUID:       GPU-a1b8699b-3405-6df4-6bcf-5f83706d661e
Bus Location:   00000000:01:00.0
Architecture:   8.6
"""
CUDNN = """\
==== GPU / Driver ====
Driver version       : 595.71.05
GPU 0 (CUDA order)   : NVIDIA L40S | SM89 | 142 SMs | 44.4 GiB
GPU 1 (CUDA order)   : NVIDIA L40S | SM89 | 142 SMs | 44.4 GiB
"""


def test_container_cli(facts_of):
    facts = facts_of(CONTAINER_CLI)
    assert facts["driver"].version == "460.39"
    assert facts["gpus"].devices == [
        Gpu(
            index=0,
            name="GeForce RTX 3090",
            uuid="GPU-a1b8699b-3405-6df4-6bcf-5f83706d661e",
            pci_address="0000:01:00.0",
            capability="8.6",
        )
    ]


def test_cudnn(facts_of):
    facts = facts_of(CUDNN)
    assert facts["driver"].version == "595.71.05"
    assert [gpu.name for gpu in facts["gpus"].devices] == ["NVIDIA L40S"] * 2


def test_the_same_words_elsewhere_are_no_list(facts_of):
    facts = facts_of(
        "Model:   Dell R750\nDriver version: 550.54.15\nPackage  Version\n-------\ntorch  2.4.0\n"
    )
    assert "gpus" not in facts


@pytest.mark.parametrize(
    "line", ["Nvidia-driver: 460.91.03", "5. Nvidia Driver:460.91.03", "- GPU driver version = 460.91.03"]
)
def test_a_version_that_is_typed(line, facts_of):
    assert facts_of(f"CUDA available\n{line}\n")["driver"].version == "460.91.03"


@pytest.mark.parametrize(
    "line",
    [
        "It runs on two A10G, driver 535.104.05, kernel 5.15",
        "and my nvidia driver version is 535.104.05",
    ],
)
def test_a_version_in_a_sentence(line, facts_of):
    assert facts_of(f"torch 2.3.0+cu121\n{line}\n")["driver"].version == "535.104.05"


@pytest.mark.parametrize(
    "line",
    [
        "Driver: nvidia (560.35.03)",
        "the driver version 460.91.03 is too old",
        "driver: 5.2",
        "CUDA 12.1 needs driver 530.30.02",
        "I tried driver 460.91.03, too",
        "node A has driver 535.104.05, node B driver 550.54.15",
    ],
)
def test_no_version(line, facts_of):
    assert "driver" not in facts_of(f"CPU(s):    8\n{line}\n")


NVRM = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\n"


@pytest.mark.parametrize(
    ("package", "library"),
    [
        (
            "ii  libnvidia-compute-535:amd64  535.183.01-0ubuntu0.22.04.1  amd64  libraries\n",
            "libcuda.so.535.183.01",
        ),
        ("nvidia-driver-cuda-libs-550.54.14-1.el9.x86_64\n", "libcuda.so.550.54.14"),
        ("ii  nvidia-smi     535.129.03-1  amd64        NVIDIA System Management Interface\n", None),
        ("ii  nvidia-smi     535.183.01-1  amd64  x\nii  libcuda1:amd64  535.54.03-1  amd64  y\n", None),
        ("rc  nvidia-utils-535  535.183.01-0ubuntu1  amd64  removed\n", None),
    ],
)
def test_libraries_of_another_version_than_the_module(package, library, facts_of):
    facts = facts_of(NVRM + package)
    assert (facts["cuda"].library if "cuda" in facts else None) == library

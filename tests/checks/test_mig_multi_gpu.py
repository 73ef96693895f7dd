"""mig-multi-gpu: seen in logs."""

import pytest

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity
from gpudoctor.registry import Registry

CHECK = Registry().check("mig-multi-gpu")
EXAMPLES = [
    "CUDA_VISIBLE_DEVICES=MIG-00000000-1111-2222-3333-444444444444,MIG-00000000-1111-2222-3333-555555555555",
    (
        "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-00000000-1111-2222-3333-444444444444)\n"
        "  MIG 3g.40gb     Device  0: (UUID: MIG-00000000-1111-2222-3333-444444444444)\n"
        "  MIG 3g.40gb     Device  1: (UUID: MIG-00000000-1111-2222-3333-555555555555)"
    ),
    "            nvidia.com/mig-1g.10gb: 4",
    "#SBATCH --gres=gpu:1g.10gb:4",
    "No MIG devices found",
    (
        "  MIG 3g.40gb     Device  0: (UUID: MIG-00000000-1111-2222-3333-444444444444)\n"
        "\n"
        "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000"
    ),
    "GPU 0: NVIDIA A100 (UUID: GPU-1), MIG mode: Enabled\nRuntimeError: device >= 0 && device < num_gpus INTERNAL ASSERT FAILED at CUDAContext.cpp:50",
]
NOT_THIS = [
    "NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000",
    "|                               |                      |               MIG M. |",
    "CUDA_VISIBLE_DEVICES=MIG-00000000-1111-2222-3333-444444444444",
    "  MIG 3g.40gb     Device  0: (UUID: MIG-00000000-1111-2222-3333-444444444444)",
    "            nvidia.com/mig-1g.10gb: 1",
]


@pytest.mark.parametrize(
    ("number", "message", "severity"),
    [
        (
            0,
            "CUDA_VISIBLE_DEVICES names 2 MIG instances, of which a CUDA process sees one",
            Severity.ERROR,
        ),
        (
            1,
            "several MIG instances (3g.40gb) are there: a process sees one, and NCCL cannot use two of one GPU",
            Severity.WARNING,
        ),
        (
            5,
            "ranks are on MIG instances of one GPU, which NCCL takes for one and the same GPU",
            Severity.ERROR,
        ),
        (4, "MIG is on and no instance was made: CUDA sees no GPU there", Severity.ERROR),
    ],
)
def test_says_what_shows_it(number, message, severity):
    (seen,) = matches(EXAMPLES[number], [CHECK])
    assert seen.finding.message == message
    assert seen.finding.severity is severity

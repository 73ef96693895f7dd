"""gpus-far-apart: what CUDA_VISIBLE_DEVICES leaves, by the matrix."""

import pytest

from gpudoctor.facts import Gpu, GpuPair, GpuProcess, Gpus, Launch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpus-far-apart")


def server(number=8, busy=(), near="PHB"):
    """Make a server with two sockets, half of the GPUs on each."""
    half = number // 2
    pairs = [
        GpuPair(first=a, second=b, path=near if (a < half) == (b < half) else "SYS")
        for a in range(number)
        for b in range(a + 1, number)
    ]
    held = [GpuProcess(pid=7, memory_bytes=9 << 30)]
    devices = [
        Gpu(index=n, name="NVIDIA L40S", uuid=f"GPU-{n}", processes=held if n in busy else [])
        for n in range(number)
    ]
    return Gpus(devices=devices, pairs=pairs)


def run(visible, gpus, **more):
    variables = {**({} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}), **more}
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": gpus, "launch": Launch(variables=variables)}))


@pytest.mark.parametrize(
    ("visible", "gpus", "says"),
    [
        ("0,4", server(), "GPU 0 and GPU 4 are on two sockets (SYS), while GPUs 0, 1 are free"),
        ("0,4", server(busy=(1, 2, 3)), "GPUs 4, 5 are free and close together (PHB)"),
        ("0,2", server(4, near="NV12"), "GPUs 0, 1 are free and close together (NV12)"),
        ("3,4", server(near="NODE"), "while GPUs 0, 1 are free and on one (NODE)"),
    ],
)
def test_found(visible, gpus, says):
    _, [finding] = run(visible, gpus)
    assert finding.severity is Severity.NOTE
    assert says in finding.message
    assert finding.fixes[0].command.startswith("export CUDA_VISIBLE_DEVICES=")


@pytest.mark.parametrize(
    ("visible", "gpus", "more"),
    [
        (None, server(), {}),
        ("0,1", server(), {}),
        ("0", server(), {}),
        ("0,1,2,3,4", server(), {}),  # so many are close together nowhere
        ("0,4", server(busy=(1, 2, 3, 5, 6, 7)), {}),
        ("0,4", server(), {"SLURM_JOB_ID": "7"}),
        ("0,1,2,3,4,5,6,7", server(), {}),
    ],
)
def test_passed(visible, gpus, more):
    result, found = run(visible, gpus, **more)
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_unknown():
    assert run("0,4", Gpus(devices=server().devices))[0].status is CheckStatus.UNKNOWN
    assert run("0,4", Gpus(error="Unknown Error", error_code=999))[0].status is CheckStatus.UNKNOWN

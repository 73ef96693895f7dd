"""nccl-not-built: a CUDA build of torch without NCCL."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Host, Launch, Python, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Kind, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("nccl-not-built")
MESSAGE = (
    "this torch has no NCCL: it is a CPU build, one for Windows or macOS, or one that was made without it"
)
EXAMPLES = {
    "RuntimeError: Distributed package doesn't have NCCL built in": MESSAGE,
    "UserWarning: PyTorch is not compiled with NCCL support": MESSAGE,
    "UserWarning: Attempted to get default timeout for nccl backend, but NCCL support is not compiled": MESSAGE,
    "AttributeError: module 'torch.distributed' has no attribute 'ProcessGroupNCCL'": MESSAGE,
    (
        "RuntimeError: the distributed NCCL backend is not available; try to recompile the "
        "THD package with CUDA and NCCL 2+"
    ): MESSAGE,
    "AttributeError: module 'torch._C' has no attribute '_nccl_version'": MESSAGE,
    "ImportError: cannot import name 'ProcessGroupNCCL' from 'torch._C._distributed_c10d'": MESSAGE,
}
NOT_THIS = [
    "RuntimeError: Distributed package doesn't have MPI built in",
    "ProcessGroupNCCL is only supported with GPUs, no GPUs found!",
]
LINUX = Host(system="Linux")


def torch(**fields):
    given = {
        "imported": True,
        "version": "2.5.0",
        "cuda": "12.4",
        "nccl_available": False,
        "distributed_available": True,
    }
    return Torch(**{**given, **fields})


def gpus(count):
    return Gpus(devices=[Gpu(index=index) for index in range(count)])


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"host": LINUX, **facts}))


def test_an_error_where_several_gpus_are_to_train_together():
    _, [finding] = run(
        torch=torch(), gpus=gpus(2), python=Python(executable="/env/bin/python", version="3.11.7")
    )
    assert finding.severity is Severity.ERROR
    assert "torch 2.5.0 is built for CUDA 12.4 without NCCL" in finding.message
    assert "/env/bin/python -m pip install --force-reinstall" in finding.fixes[0].command
    assert finding.fixes[1].kind is Kind.EDIT


def test_an_error_where_several_nodes_with_one_gpu_train_together():
    launch = Launch(variables={"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1"})
    _, [finding] = run(torch=torch(), gpus=gpus(1), launch=launch)
    assert finding.severity is Severity.ERROR


def test_one_gpu_is_a_warning_and_none_a_note():
    assert run(torch=torch(), gpus=gpus(1))[1][0].severity is Severity.WARNING
    assert run(torch=torch())[1][0].severity is Severity.NOTE


def test_windows_has_no_nccl_and_is_told_of_gloo():
    _, [finding] = run(torch=torch(), gpus=gpus(2), host=Host(system="Windows"))
    assert finding.severity is Severity.NOTE
    assert "gloo" in finding.message
    assert run(torch=torch(), gpus=gpus(1), host=Host(system="Windows"))[0].status is CheckStatus.PASSED


@pytest.mark.parametrize(
    "torch",
    [
        torch(nccl_available=True),
        torch(cuda=None),  # the CPU build is the failure
        torch(distributed_available=False),
    ],
)
def test_passes(torch):
    assert run(torch=torch, gpus=gpus(2))[0].status is CheckStatus.PASSED


@pytest.mark.parametrize("torch", [torch(nccl_available=None), Torch(imported=False), Torch()])
def test_unknown(torch):
    assert run(torch=torch, gpus=gpus(2))[0].status is CheckStatus.UNKNOWN


def test_unknown_without_torch():
    assert run()[0].reason == "torch: not in this report"

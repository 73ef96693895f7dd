"""driver-hangs: a call of NVML, of the CUDA driver library or of torch into them passed its deadline."""

import pytest

from gpudoctor.facts import Cuda, Gpu, Gpus, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("driver-hangs")
MESSAGE = "the driver did not answer in time: no container with a GPU can be started, and what calls it hangs"
EXAMPLES = {
    "After a kill `nvidia-smi` never returns on that node.": MESSAGE,
    "the nvidia-smi command does not respond any more": MESSAGE,
    "nvidia-container-cli: detection error: driver error: timed out: unknown": MESSAGE,
    'stderr: \\"nvidia-container-cli: initialization error: driver rpc error: timed out\\n\\"': MESSAGE,
}
NOT_THIS = [
    "With persistence mode nvidia-smi no longer hangs, that fixed it.",
    "nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown.",
]
HANGING = Cuda(library="/usr/lib/libcuda.so.1", stage="cuInit", interrupted="no answer in 10 s")
TORCH = Torch(imported=True, stage="torch.cuda.is_available()", interrupted="no answer in 13 s")


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_the_call_is_named():
    _, [finding] = run(cuda=HANGING, gpus=Gpus(devices=[Gpu(index=0, persistence=True)]), torch=TORCH)
    assert finding.severity is Severity.ERROR
    assert finding.message == "cuInit: no answer in 10 s: a training that makes that call hangs"


def test_a_driver_that_sleeps_may_only_be_slow():
    _, [finding] = run(cuda=HANGING, gpus=Gpus(devices=[Gpu(index=0, persistence=False)]))
    assert finding.severity is Severity.WARNING
    assert any("nvidia-smi --persistence-mode=1" in fix.command for fix in finding.fixes)


def test_calls_of_nvml_are_counted():
    _, [finding] = run(gpus=Gpus(hanging=["nvmlDeviceGetName of GPU 0", "nvmlDeviceGetName of GPU 1"]))
    assert "NVML's nvmlDeviceGetName of GPU 0 and 1 more call did not return" in finding.message


def test_torch_alone_is_named_where_nothing_else_is():
    _, [finding] = run(torch=TORCH)
    assert "torch.cuda.is_available(): no answer in 13 s" in finding.message
    assert finding.severity is Severity.ERROR
    _, [finding] = run(torch=TORCH, cuda=Cuda(init=0, stage="done"))
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(
    "facts",
    [
        {"cuda": Cuda(init=0, stage="done")},
        {"cuda": Cuda(stage="cuInit", interrupted="killed by SIGSEGV")},  # cuda-init-failed
        {"torch": Torch(stage="import torch", interrupted="no answer in 90 s")},  # a file system, most likely
    ],
)
def test_what_ends_does_not_hang(facts):
    result, found = run(**facts)
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN

"""gpu-busy: seen in logs, and in what NVML tells."""

from gpudoctor.facts import Gpu, GpuProcess, Gpus, Launch, Pci
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-busy")
MESSAGE = "the GPU admits no further process; it is in exclusive mode and taken, closed, or hangs"
EXAMPLES = {
    "RuntimeError: cuda runtime error (46)": MESSAGE,
    "[rank3]: RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable": MESSAGE,
    (
        "RuntimeError: cuda runtime error (46) : all CUDA-capable devices are busy or unavailable at "
        "/pytorch/aten/src/THC/THCGeneral.cpp:50"
    ): MESSAGE,
    "torch.AcceleratorError: CUDA error: CUDA-capable device(s) is/are busy or unavailable": MESSAGE,
    "node0:4711:4811 [1] NCCL WARN Cuda failure 46 'CUDA-capable device(s) is/are busy or unavailable'": MESSAGE,
    "Search for `cudaErrorDevicesUnavailable' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html": MESSAGE,
    "failed to create device context: CUDA_ERROR_DEVICE_UNAVAILABLE": MESSAGE,
    "exclusive-thread device already in use by a different thread": MESSAGE,
    "    Compute Mode                          : Prohibited": (
        "the GPU admits no further process: its compute mode is Prohibited; it is in exclusive mode and taken, "
        "closed, or hangs"
    ),
}
NOT_THIS = [
    "OSError: [Errno 16] Device or resource busy: '.nfs000000000000'",
    "    Compute Mode                          : Default",
    "GPU 00000000:1A:00.0: In use by another client",
    "MPS server is not ready to accept new MPS client requests",
]


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


def one(mode, *processes, index=0):
    return Gpu(index=index, name="T4", compute_mode=mode, processes=list(processes))


def test_found_in_the_facts():
    _, [finding] = run(one("default"), one("prohibited", index=1))
    assert finding.message == "the compute mode of GPU 1 is Prohibited: no process may use CUDA there"
    assert finding.fixes[0].command == "export CUDA_VISIBLE_DEVICES=0"
    _, [finding] = run(one("exclusive_process", GpuProcess(pid=7, name="python")))
    assert finding.severity is Severity.ERROR
    assert finding.evidence[0].text == "GPU 0: process 7 (python)"
    _, [finding] = run(one("exclusive_process"), launch=Launch(variables={"LOCAL_WORLD_SIZE": "2"}))
    assert finding.message.startswith("2 ranks start on 1 GPU, each")
    _, [finding] = run(one("exclusive_process", GpuProcess(pid=7, own=True)))
    assert finding.severity is Severity.NOTE


def test_passes():
    hidden = {"launch": Launch(variables={"CUDA_VISIBLE_DEVICES": "0"})}
    for result, _ in (run(one("default")), run(one("default"), one("prohibited", index=1), **hidden)):
        assert result.status is CheckStatus.PASSED


def test_unknown_without_the_mode():
    result, _ = run(one(None))
    assert result.status is CheckStatus.UNKNOWN


def test_unknown_where_nvml_says_nothing():
    for facts in ({}, {"gpus": Gpus(error="Unknown Error", error_code=999)}):
        result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
        assert result.status is CheckStatus.UNKNOWN


def test_passes_without_a_gpu_on_the_bus():
    result, _ = run(gpus=Gpus(error="NVML Shared Library Not Found", error_code=12), pci=Pci())
    assert result.status is CheckStatus.PASSED

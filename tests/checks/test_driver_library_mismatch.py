"""driver-library-mismatch: seen in logs."""

import pytest

from gpudoctor.facts import Cuda, Driver, Gpu, Gpus
from gpudoctor.guard import examine
from gpudoctor.model import Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("driver-library-mismatch")
MESSAGE = "the driver's libraries and its loaded kernel module are of different versions: no new process can use a GPU"
EXAMPLES = {
    "[803] Call to cuInit results in UNKNOWN_CUDA_ERROR": "the driver's libraries and its loaded kernel module are of different versions: no new process can use a GPU",
    "error looking up devices: cuInit err: 803": "the driver's libraries and its loaded kernel module are of different versions: no new process can use a GPU",
    "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 565.57": (
        "the driver's libraries (565.57) and its loaded kernel module are of different versions: no new "
        "process can use a GPU"
    ),
    "Failed to initialize NVML: Driver/library version mismatch": MESSAGE,
    "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown": MESSAGE,
    "node0:4711:4811 [0] misc/nvmlwrap.cc:183 NCCL WARN nvmlInit_v2() failed: Driver/library version mismatch": MESSAGE,
    "pynvml.NVMLError_LibRmVersionMismatch: RM has detected an NVML/RM version mismatch.": MESSAGE,
    (
        "[ 100.1] NVRM: API mismatch: the client has the version 535.171.04, but\n"
        "[ 100.1] NVRM: this kernel module has the version 535.161.07.  Please\n"
        "[ 100.1] NVRM: make sure that this kernel module and all NVIDIA driver"
    ): (
        "the driver's libraries (535.171.04) and its loaded kernel module (535.161.07) are of different "
        "versions: no new process can use a GPU"
    ),
    (
        "[    9.424670] NVRM: API mismatch: the client 'kwin_wayland' (pid 1005)\n"
        "               NVRM: has the version 595.84, but this kernel module has\n"
        "               NVRM: the version 595.80.  Please make sure that this"
    ): (
        "the driver's libraries (595.84) and its loaded kernel module (595.80) are of different versions: no new process "
        "can use a GPU"
    ),
    "nvidia-modeset: Version mismatch: nvidia.ko(410.73) nvidia-modeset.ko(390.87)": (
        "the driver's libraries and its loaded kernel module are of different versions, so are its modules: "
        "nvidia-modeset.ko is of 390.87, nvidia.ko of 410.73: no new process can use a GPU"
    ),
    "NVRM: API mismatch: the client has the version 535.171.04, but": (
        "the driver's libraries (535.171.04) and its loaded kernel module are of different versions: no new "
        "process can use a GPU"
    ),
    (
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
        "NumCudaDevices() that might have already set an error? Error 803: system has unsupported display driver / cuda "
        "driver combination"
    ): MESSAGE,
    "failed call to cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": MESSAGE,
    "kernel version 440.33.1 does not match DSO version 450.51.6 -- cannot find working devices in this configuration": (
        "the driver's libraries (450.51.6) and its loaded kernel module (440.33.1) are of different versions: "
        "no new process can use a GPU"
    ),
}
NOT_THIS = [
    "RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime version",
    "fabric manager NVIDIA GPU driver interface version 550.127.05 don't match with driver version 550.120.",
    "Failed to initialize NVML: Unknown Error",
    "NVML library version: 565.57",
]


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


OTHER = Cuda(library="/usr/lib/x86_64-linux-gnu/libcuda.so.590.48.01", init=999)
MODULE = Driver(version="580.82.07")


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"gpus": Gpus(error="Driver/library version mismatch", error_code=18)}, "NVML says Driver/library"),
        ({"cuda": Cuda(library="/usr/lib/libcuda.so.1", init=803)}, "error 803"),
        ({"cuda": OTHER}, "the library is of version 590.48.01"),
    ],
)
def test_found(facts, says):
    _, [finding] = run(driver=MODULE, **facts)
    assert says in finding.message
    assert "the module that is loaded is of version 580.82.07" in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        {"cuda": Cuda(library="/usr/lib/x86_64-linux-gnu/libcuda.so.580.82.07", init=999)},
        {"cuda": Cuda(library="/usr/local/cuda/compat/libcuda.so.595.1", init=803)},  # cuda-stub-library
        {"cuda": Cuda(library="/usr/local/cuda/compat/libcuda.so.595.1", init=0)},
        {"cuda": OTHER, "gpus": Gpus(devices=[Gpu(index=0)])},
        {"gpus": Gpus(driver_version="580.82.07", devices=[Gpu(index=0)])},
        {
            "cuda": Cuda(error="no such file"),
            "gpus": Gpus(error="NVML Shared Library Not Found", error_code=12),
        },
    ],
)
def test_environment_passed(facts):
    result, found = run(driver=MODULE, **facts)
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_environment_unknown():
    assert run(driver=MODULE)[0].status is CheckStatus.UNKNOWN

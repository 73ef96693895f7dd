"""cuda-init-failed: seen in logs."""

import pytest

from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

CHECK = Registry().check("cuda-init-failed")
UNEXPECTED = (
    "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
    "NumCudaDevices() that might have already set an error? Error "
)
EXAMPLES = [
    (
        "/data/env/lib/python3.10/site-packages/torch/cuda/__init__.py:128: UserWarning: CUDA initialization: CUDA unknown "
        "error - this may be due to an incorrectly set up environment, e.g. changing env variable CUDA_VISIBLE_DEVICES after "
        "program start. Setting the available devices to be zero."
    ),
    "UserWarning: CUDA initialization: CUDA driver initialization failed, you might not have a CUDA gpu.",
    UNEXPECTED + "804: forward compatibility was attempted on non supported HW",
    UNEXPECTED + "34: CUDA driver is a stub library",
    UNEXPECTED + "304: OS call failed or operation not supported on this OS",
    UNEXPECTED + "805: MPS client failed to connect to the MPS control daemon or the MPS server",
    UNEXPECTED + "100: no CUDA-capable device is detected",
    "RuntimeError: cuda runtime error (999) : unknown error at /opt/work/aten/src/THC/THCGeneral.cpp:50",
    "THCudaCheck FAIL file=/pytorch/aten/src/THC/THCGeneral.cpp line=50 error=30 : unknown error",
    "numba.cuda.cudadrv.driver.CudaAPIError: [34] Call to cuInit results in CUDA_ERROR_STUB_LIBRARY",
    "failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error",
    "[[ CUDA Driver UNAVAILABLE (cuInit(0) returned 804) ]]",
    "CUDA error: MPS server is not ready to accept new MPS client requests",
    "failed to create context: CUDA_ERROR_MPS_CONNECTION_FAILED",
    "NCCL WARN Cuda failure 'initialization error'",
    "RuntimeError: CUDA error: initialization error",
    (
        '  File "/data/env/torch/cuda/__init__.py", line 298, in _lazy_init\n    torch._C._cuda_init()\n'
        "RuntimeError: CUDA error: unknown error"
    ),
]
NOT_THIS = [
    UNEXPECTED + "802: system not yet initialized",
    UNEXPECTED + "803: system has unsupported display driver / cuda driver combination",
    "RuntimeError: CUDA error: unknown error",
    "node0:4711:4811 [0] init.cc:1 NCCL WARN Cuda failure 999 'unknown error'",
    "RuntimeError: Found no NVIDIA driver on your system.",
    (
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
        "'spawn' start method\nRuntimeError: CUDA error: initialization error"
    ),
]


@pytest.mark.parametrize(
    ("number", "said", "fix"),
    [
        (0, ' (error 999 "unknown error")', "nvidia_uvm"),
        (1, "", "nvidia_uvm"),
        (2, ' (error 804 "forward compatibility was attempted on non supported HW")', "LD_LIBRARY_PATH"),
        (3, ' (error 34 "CUDA driver is a stub library")', "LD_LIBRARY_PATH"),
        (
            5,
            ' (error 805 "MPS client failed to connect to the MPS control daemon or the MPS server")',
            "CUDA_MPS_PIPE_DIRECTORY",
        ),
        (11, " (error 804)", "LD_LIBRARY_PATH"),
    ],
)
def test_says_the_code_and_what_helps_against_it(number, said, fix):
    (seen,) = matches(EXAMPLES[number], [CHECK])
    assert seen.finding.message == f"CUDA could not start{said}: no GPU can be used in this process"
    assert fix in seen.finding.fixes[0].command

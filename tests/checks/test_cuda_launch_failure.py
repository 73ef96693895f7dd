"""cuda-launch-failure: seen in logs."""

MESSAGE = "a kernel failed: misaligned address"
EXAMPLES = {
    "RuntimeError: CUDA error: too many blocks in cooperative launch": (
        "a kernel failed: too many blocks in cooperative launch"
    ),
    "process interrupted by RuntimeError: cuda runtime error (4)": "a kernel failed",
    "[rank1]: RuntimeError: CUDA error: unspecified launch failure": (
        "a kernel failed: unspecified launch failure"
    ),
    "THCudaCheck FAIL file=/pytorch/aten/src/THC/generic/THCTensorCopy.cpp line=20 error=4 : unspecified launch failure": (
        "a kernel failed: unspecified launch failure"
    ),
    "RuntimeError: CUDA error: misaligned address": MESSAGE,
    "math_functions.cu:79] Check failed: error == cudaSuccess (74 vs. 0)  misaligned address": MESSAGE,
    "RuntimeError: cuda runtime error (74) : misaligned address at /pytorch/aten/src/THC/THCTensorCopy.cu:84": MESSAGE,
    "RuntimeError: Triton Error [CUDA]: misaligned address": MESSAGE,
    "torch.AcceleratorError: CUDA error: an illegal instruction was encountered": (
        "a kernel failed: an illegal instruction was encountered"
    ),
    "RuntimeError: CUDA error: too many resources requested for launch": (
        "a kernel failed: too many resources requested for launch"
    ),
    "RuntimeError: CUDA error: the launch timed out and was terminated": (
        "a kernel failed: the launch timed out and was terminated"
    ),
    "RuntimeError: CUDA error: invalid configuration argument": (
        "a kernel failed: invalid configuration argument"
    ),
    "RuntimeError: CUDA error: invalid resource handle": "a kernel failed: invalid resource handle",
    "numba.cuda.cudadrv.driver.CudaAPIError: [719] Call to cuMemcpyDtoH results in CUDA_ERROR_LAUNCH_FAILED": (
        "a kernel failed: CUDA_ERROR_LAUNCH_FAILED"
    ),
    (
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: 101376. "
        "Reducing block sizes or `num_stages` may help."
    ): "a kernel failed: it needs 147456 of shared memory and this GPU has 101376",
}
NOT_THIS = [
    "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    "RuntimeError: CUDA error: invalid device ordinal",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "runtime error: load of misaligned address 0x7f for type 'float', which requires 4 byte alignment",
    "OSError: [Errno 22] invalid argument",
]

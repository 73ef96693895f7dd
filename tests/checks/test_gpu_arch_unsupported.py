"""gpu-arch-unsupported: seen in logs."""

MESSAGE = "the installed code does not support this GPU"
EXAMPLES = {
    "RuntimeError: CUDA error: no kernel image is available for execution on the device": MESSAGE,
    "[rank1]: torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device": MESSAGE,
    "RuntimeError: cuda runtime error (48) : no kernel image is available for execution on the device at /pytorch/aten/src/THC/THCTensorCopy.cu:206": MESSAGE,
    "CUDA error (/build/xformers/third_party/flash-attention/csrc/flash_attn/src/flash_fwd_launch_template.h:175): no kernel image is available for execution on the device": MESSAGE,
    "Error no kernel image is available for execution on the device at line 167 in file /src/csrc/ops.cu": MESSAGE,
    "node1:412:530 [0] enqueue.cc:130 NCCL WARN Cuda failure 209 'no kernel image is available for execution on the device'": MESSAGE,
    "Search for `cudaErrorNoKernelImageForDevice' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.": MESSAGE,
    "E0000 00:00:1732 cuda_executor.cc:1228] CUDA_ERROR_NO_BINARY_FOR_GPU": MESSAGE,
    "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.": (
        MESSAGE + ": NVIDIA GeForce RTX 5090 (sm_120)"
    ),
    "    Found GPU0 Tesla K40m which is of cuda capability 3.5.": (
        MESSAGE + ": Tesla K40m, compute capability 3.5"
    ),
    "    PyTorch no longer supports this GPU because it is too old.": MESSAGE,
    "    The minimum cuda capability supported by this library is 3.7.": (
        MESSAGE + "; at least 3.7 is needed"
    ),
    "    Minimum and Maximum cuda capability supported by this version of PyTorch is": MESSAGE,
    "Found GPU0 NVIDIA GeForce GTX 1080 which is of compute capability (CC) 6.1.": (
        MESSAGE + ": NVIDIA GeForce GTX 1080, compute capability 6.1"
    ),
    "Your installed torch==2.15.0 does not include kernels for this GPU. Reinstall the same version against a CUDA build that does, e.g.:": MESSAGE,
    "No published PyTorch CUDA builds for release 2.15.0 support this GPU. Visit https://pytorch.org/get-started/locally/": MESSAGE,
    "    Found GPU0 GeForce RTX 2080 which requires CUDA_VERSION >= 10000 to": (
        MESSAGE + ": GeForce RTX 2080"
    ),
    "RuntimeError: cuDNN version 91900 is not compatible with devices with SM < 7.5. Please install a version of PyTorch": (
        MESSAGE + "; at least 7.5 is needed"
    ),
    "RuntimeError: CUDA error: device kernel image is invalid": MESSAGE,
    "RuntimeError: cuda runtime error (8) : invalid device function at /tmp/ext/src/roi_align_kernel.cu:113": MESSAGE,
    "RuntimeError: cuDNN error: CUDNN_STATUS_ARCH_MISMATCH": MESSAGE,
    "ValueError: Unknown CUDA arch (12.0+PTX) or GPU not supported": MESSAGE + " (12.0+PTX)",
    "nvcc fatal   : Unsupported gpu architecture 'compute_120'": MESSAGE + " (compute_120)",
    "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'": MESSAGE + " (sm_121a)",
    "'sm_120' is not a recognized processor for this target (ignoring processor)": MESSAGE + " (sm_120)",
    "RuntimeError: FlashAttention only supports Ampere GPUs or newer.": MESSAGE,
    "ValueError: FP8 is only supported on GPUs with compute capability of at least 8.9": (
        MESSAGE + "; at least 8.9 is needed"
    ),
    "RuntimeError: Found Tesla P100-PCIE-16GB which is too old to be supported by the triton GPU compiler, which is used as the backend.": (
        MESSAGE + ": Tesla P100-PCIE-16GB"
    ),
    "ValueError: --tf32 requires Ampere or a newer GPU arch, cuda>=11 and torch>=1.7": MESSAGE,
    "The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.": MESSAGE,
}
NOT_THIS = [
    "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
    "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
    "RuntimeError: HIP error: invalid device function",
    "CUDA error: invalid device ordinal",
    "Found GPU0 NVIDIA H100 80GB HBM3, compute capability 9.0, 80 GB",
    "TORCH_CUDA_ARCH_LIST=8.0;9.0 compiling for sm_80 and sm_90",
]

"""nccl-internal: seen in logs."""

MESSAGE = "NCCL failed, and this line does not say of what"
EXAMPLES = {
    "NCCL error in: ProcessGroupNCCL.cpp:784, invalid usage": "NCCL failed, and this line does not say of what",
    "RuntimeError:NCCL error in: ../lib/c10d/ProcessGroupNCCL.cpp:911, unhandled sys": "NCCL failed, and this line does not say of what",
    "gpu-03:811:902 [2] graph/xml.cc:5 NCCL WARN Error : too many XML nodes (max 16)\nRuntimeError: NCCL error in: ../torch/lib/c10d/ProcessGroupNCCL.cpp:784, internal error, NCCL version 2.7.8": "NCCL failed with 'internal error', and this line does not say of what; it had warned: Error : too many XML nodes (max 16)",
    "torch.distributed.DistBackendError: NCCL error in: ../NCCLUtils.hpp:9, internal error, NCCL version 2.21.5\nncclInternalError: Internal check failed.\nLast error:\nError : ring 3 does not contain rank 5": "NCCL failed with 'internal error', and this line does not say of what; its last error: Error : ring 3 does not contain rank 5",
    "RuntimeError: NCCL error in: /src/NCCLUtils.hpp:268, unhandled cuda error, NCCL version 2.21.5\nncclUnhandledCudaError: see below.\nLast error:\nCuda failure 999 'unknown error'": (
        "NCCL failed with 'unhandled cuda error', and this line does not say of what; its last error: Cuda failure 999 'unknown error'"
    ),
    "caffe2::EnforceNotMet: [enforce fail at cuda_nccl_gpu.cc:24] status == ncclSuccess. 2 vs 0.  Error at: nccl.cc24": (
        "NCCL failed, and this line does not say of what"
    ),
    "RuntimeError: NCCL error in: /opt/conda/conda-b": "NCCL failed, and this line does not say of what",
    "XML Import Channel : dev 0 not found.": "NCCL failed, and this line does not say of what",
    "  what():  NCCL failure: unhandled cuda error in nccl_mpi_all_reduce.cu at line: 86 rank: 0": "NCCL failed with 'unhandled cuda error', and this line does not say of what",
    "RuntimeError: NCCL error in: ../torch/lib/c10d/ProcessGroupNCCL.cpp:784, invalid usage, NCCL version 2.7.8": (
        "NCCL failed with 'invalid usage', and this line does not say of what"
    ),
    "RuntimeError: NCCL error in: /opt/conda/conda-bld/pytorch/torch/lib/c10d/ProcessGroupNCCL.cpp:410, unhandled system error, NCCL version 2.4.8": (
        "NCCL failed with 'unhandled system error', and this line does not say of what"
    ),
    (
        "[rank0]: torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:3384, unhandled "
        "cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.25.1"
    ): "NCCL failed with 'unhandled cuda error', and this line does not say of what",
    (
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:219, internal error - please report "
        "this issue to the NCCL developers, NCCL version 2.19.3"
    ): "NCCL failed with 'internal error', and this line does not say of what",
    "RuntimeError: NCCL Error 5: invalid usage (run with NCCL_DEBUG=WARN for details)": (
        "NCCL failed with 'invalid usage', and this line does not say of what"
    ),
    "RuntimeError: NCCL error: unhandled cuda error": (
        "NCCL failed with 'unhandled cuda error', and this line does not say of what"
    ),
    "node0: Test NCCL failure common.cu:954 'unhandled cuda error'": (
        "NCCL failed with 'unhandled cuda error', and this line does not say of what"
    ),
    "tensorflow.python.framework.errors_impl.InternalError: NCCL: unhandled cuda error": (
        "NCCL failed with 'unhandled cuda error', and this line does not say of what"
    ),
    "NCCL operation failed: unhandled system error": (
        "NCCL failed with 'unhandled system error', and this line does not say of what"
    ),
    "gpu3:57:75 [0] NCCL INFO misc/group.cc:69 -> 3 [Async thread]": MESSAGE,
    "gpu3:57:75 [0] NCCL INFO group.cc:64 -> 1 [Async thread]": MESSAGE,
    "[rank1]: ncclUnhandledCudaError: Call to CUDA function failed.": MESSAGE,
    "[rank1]: ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. ": MESSAGE,
    "ncclInternalError: Internal check failed.": MESSAGE,
    "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.": MESSAGE,
    "[rank0]: RuntimeError: NCCL AllReduce failed: unhandled cuda error (run with NCCL_DEBUG=INFO for details)": (
        "NCCL failed with 'unhandled cuda error', and this line does not say of what"
    ),
    "[rank0]: RuntimeError: NCCL Send failed in all_to_all": MESSAGE,
    "[rank0]: RuntimeError: Failed to initialize NCCL communicator: internal error": (
        "NCCL failed with 'internal error', and this line does not say of what"
    ),
    "RuntimeError: Failed to get NCCL unique ID: invalid usage (run with NCCL_DEBUG=WARN for details)": (
        "NCCL failed with 'invalid usage', and this line does not say of what"
    ),
    "Last error: Unknown NCCL Error": MESSAGE,
    "[2026-09-01 08:30:11] node0:812:860 [0] enqueue.cc:1085 (ncclLaunchKernel) NCCL WARN Cuda failure 500 'named symbol not found'": (
        "NCCL failed with 'named symbol not found', and this line does not say of what"
    ),
    "[rank0]: Cuda failure 1 'invalid argument'": (
        "NCCL failed with 'invalid argument', and this line does not say of what"
    ),
    "cupy.cuda.nccl.NcclError: NCCL_ERROR_SYSTEM_ERROR: unhandled system error": "NCCL failed, and this line does not say of what",
}
NOT_THIS = [
    "node0:4711:4790 [0] NCCL INFO init.cc:1100 -> 3",
    "NCCL version 2.19.3+cuda12.3",
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
    "RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1900, remote process exited or there was a network error",
    "node0:4711:4790 [0] transport/p2p.cc:275 NCCL WARN Cuda failure 1 'invalid argument'",
    "RuntimeError: CUDA error: invalid argument",
    "500 Internal Server Error: internal error",
]

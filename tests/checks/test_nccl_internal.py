"""nccl-internal: seen in logs."""

EXAMPLES = [
    "RuntimeError: NCCL error in: ../torch/lib/c10d/ProcessGroupNCCL.cpp:784, invalid usage, NCCL version 2.7.8",
    "RuntimeError: NCCL error in: /opt/conda/conda-bld/pytorch/torch/lib/c10d/ProcessGroupNCCL.cpp:410, unhandled system error, NCCL version 2.4.8",
    (
        "[rank0]: torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:3384, unhandled "
        "cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.25.1"
    ),
    (
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:219, internal error - please report "
        "this issue to the NCCL developers, NCCL version 2.19.3"
    ),
    "RuntimeError: NCCL Error 5: invalid usage (run with NCCL_DEBUG=WARN for details)",
    "RuntimeError: NCCL error: unhandled cuda error",
    "node0: Test NCCL failure common.cu:954 'unhandled cuda error'",
    "tensorflow.python.framework.errors_impl.InternalError: NCCL: unhandled cuda error",
    "NCCL operation failed: unhandled system error",
    "[rank1]: ncclUnhandledCudaError: Call to CUDA function failed.",
    "[rank1]: ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. ",
    "ncclInternalError: Internal check failed.",
    "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.",
    "[rank0]: RuntimeError: NCCL AllReduce failed: unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
    "[rank0]: RuntimeError: NCCL Send failed in all_to_all",
    "[rank0]: RuntimeError: Failed to initialize NCCL communicator: internal error",
    "RuntimeError: Failed to get NCCL unique ID: invalid usage (run with NCCL_DEBUG=WARN for details)",
    "Last error: Unknown NCCL Error",
    "[2026-09-01 08:30:11] node0:812:860 [0] enqueue.cc:1085 (ncclLaunchKernel) NCCL WARN Cuda failure 500 'named symbol not found'",
    "[rank0]: Cuda failure 1 'invalid argument'",
]
NOT_THIS = [
    "node0:4711:4790 [0] NCCL INFO init.cc:1100 -> 3",
    "NCCL version 2.19.3+cuda12.3",
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
    "RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1900, remote process exited or there was a network error",
    "node0:4711:4790 [0] transport/p2p.cc:275 NCCL WARN Cuda failure 1 'invalid argument'",
    "RuntimeError: CUDA error: invalid argument",
    "500 Internal Server Error: internal error",
]
SAYS = {
    EXAMPLES[0]: "NCCL failed with 'invalid usage', and this line does not say of what",
    EXAMPLES[2]: "NCCL failed with 'unhandled cuda error', and this line does not say of what",
    EXAMPLES[18]: "NCCL failed with 'named symbol not found', and this line does not say of what",
    EXAMPLES[11]: "NCCL failed, and this line does not say of what",
}

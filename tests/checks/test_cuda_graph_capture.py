"""cuda-graph-capture: seen in logs."""

MESSAGE = (
    "while a CUDA graph was captured, something%s was called that cannot be part of one: it waits for the GPU, or sets "
    "something up"
)
EXAMPLES = {
    "gpu-03:811:902 [2] enqueue.cc:90 NCCL WARN Streams given to a communicator within a NCCL group must either be all uncaptured or all captured by the same graph.": "while a CUDA graph was captured, something was called that cannot be part of one: it waits for the GPU, or sets something up",
    "RuntimeError: Attempting CUDA graph capture of step() for an instance of SGD but param_groups' capturable is False.": (
        "while a CUDA graph was captured, something, step(), was called that cannot be part of one: it waits for the GPU, or sets something up"
    ),
    "torch.AcceleratorError: CUDA error: capturing stream has unjoined work": (
        "while a CUDA graph was captured, something was called that cannot be part of one: it waits for the GPU, or sets something up"
    ),
    "gpu-03:811:902 [2] enqueue.cc:77 NCCL WARN Stream is not being captured by the expected graph.": (
        "while a CUDA graph was captured, something was called that cannot be part of one: it waits for the GPU, or sets something up"
    ),
    "RuntimeError: CUDA error: operation not permitted when stream is capturing": MESSAGE % "",
    "torch.AcceleratorError: CUDA error: operation failed due to a previous error during capture": MESSAGE
    % "",
    "CUDA driver error: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": MESSAGE % "",
    "RuntimeError: Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned.": (
        MESSAGE % ""
    ),
    "RuntimeError: Cannot call CUDAGeneratorImpl::current_seed during CUDA graph capture. If you need this call to be captured": (
        MESSAGE % ", CUDAGeneratorImpl::current_seed,"
    ),
}
NOT_THIS = [
    "skipping cudagraphs due to mutated inputs (1 instances)",
    "INFO capturing CUDA graphs for batch sizes [1, 2, 4, 8]",
]

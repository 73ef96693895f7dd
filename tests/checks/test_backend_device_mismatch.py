"""backend-device-mismatch: seen in logs."""

EXAMPLES = [
    "[rank0]: RuntimeError: No backend type associated with device type cpu",
    "ValueError: Default backend not registered for device : cpu",
    "RuntimeError: NCCL only supports CUDA tensors, but got a tensor on cpu",
    "ValueError: Attempt to perform collective on tensor not on device passed to init_process_group",
    "RuntimeError: Tensors must be CUDA and dense",
    "RuntimeError: ProcessGroupNCCL requires CUDA tensors/devices",
    (
        '  File "/opt/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 3100, in broadcast\n'
        "ValueError: Tensors must be contiguous"
    ),
    "RuntimeError: ProcessGroupGloo::allreduce: unsupported layout",
    "RuntimeError: NCCL does not support all_reduce with sparse tensors. Please use dense tensors instead.",
    "RuntimeError: ProcessGroupNCCL does not support gather",
    "RuntimeError: Backend nccl does not support reduce_scatter",
    "RuntimeError: ProcessGroup nccl does not support monitoredBarrier, only GLOO supports monitored barrier.",
    "RuntimeError: Cannot use ReduceOp.AVG with Gloo",
    "TypeError: Input tensor data type is not supported for NCCL process group: ComplexHalf",
    "RuntimeError: Unconvertible NCCL type Short",
    (
        '  File "/opt/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 2500, in all_reduce\n'
        "    work = group.allreduce([tensor], opts)\n"
        "RuntimeError: Invalid scalar type"
    ),
    "RuntimeError: Function argument device_ids not supported for the selected backend gloo",
]
NOT_THIS = [
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    (
        "RuntimeError: module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them "
        "on device: cpu"
    ),
    "RuntimeError: Tensors must be contiguous",
    "RuntimeError: Invalid scalar type",
    "RuntimeError: Adam does not support sparse gradients",
    "ValueError: Backend agg does not support interactive mode",
]
REST = "; the tensor must be on a device, of a type and for a call that the backend knows"
SAYS = {
    EXAMPLES[0]: "the process group's backend cannot do this on device cpu" + REST,
    EXAMPLES[9]: "the process group's backend NCCL cannot do this: gather" + REST,
    EXAMPLES[13]: "the process group's backend NCCL cannot do this with type ComplexHalf" + REST,
}

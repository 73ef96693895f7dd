"""A GPU kernel read or wrote outside of its memory.

## What happens

"CUDA error: an illegal memory access was encountered" (77 or 700), on ROCm "Memory access fault by GPU node-1". Often
the watchdog of NCCL is the one that says it, because it asks the GPU most often. The kernel log has Xid 31 or 13.

## Why

- A compiled extension or a Triton kernel (attention, quantisation, sparse or deformable convolutions) that runs on a
  GPU other than the one that holds its tensors: `torch.cuda.set_device(local_rank)` was not called.
- The extension was built for another torch or GPU, or counts elements in 32 bits and got more than 2^31 of them.
- It expects contiguous tensors and got a view, or memory was given back while another stream still used it.
- A fault of the driver or of one GPU, if it comes at random and always on the same one.

## How to tell

The error is reported late: `CUDA_LAUNCH_BLOCKING=1` makes the traceback point at the operation, and `compute-sanitizer`
names the kernel. The rank that says it first is the one; all that follows in that process is a consequence.

## See also

- [compute-sanitizer](https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html): memcheck names the kernel and the address
- [Xid catalogue](https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html): 13 and 31
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    follows=["device-side-assert", "embedding-index"],
    symptoms=[
        r"illegal memory access was encountered",
        r"\bcudaErrorIllegalAddress\b|\bCUDA_ERROR_ILLEGAL_ADDRESS\b",
        r"Memory access fault by GPU node-(?P<gpu>\d+)",
        r"Invalid __\w+__ (?P<access>read|write|atomic) of size (?P<size>\d+)",
        r"(?:CUDA|Cuda|cuda) (?:[Ee]rror|ERROR|failure):? \(?700\b(?! '?an illegal)",
        # the number alone, before CUDA 10.1 and since
        r"cuda runtime error \((?:77|700)\)(?! ?:)",
    ],
    message="a kernel[ on GPU <gpu>] touched memory that is not its own[, with a <access> of <size> bytes]",
    fixes=[
        Fix(
            "Let the traceback point at the operation",
            "export CUDA_LAUNCH_BLOCKING=1  # then start the training as before",
        ),
        Fix(
            "Choose this process's GPU before anything runs on one",
            'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))',
            Kind.EDIT,
        ),
        Fix("Have the kernel named that does it", "compute-sanitizer --tool memcheck python train.py"),
        Fix(
            "Give an extension what it expects: contiguous tensors on the current device",
            "with torch.cuda.device_of(x):\n    y = extension.forward(x.contiguous())",
            Kind.EDIT,
        ),
        Fix(
            "Go around the suspected kernel; slower, and it shows whether it is the one",
            'model = AutoModel.from_pretrained(name, attn_implementation="eager")',
            Kind.MITIGATION,
        ),
    ],
)

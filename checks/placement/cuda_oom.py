"""The GPU has no memory left for an allocation.

## What happens

"CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.19 GiB is free.
Process 4711 has 77.95 GiB memory in use. Of the allocated memory 70.10 GiB is allocated by PyTorch, and 6.80 GiB is
reserved by PyTorch but unallocated." Until torch 1.x: "cuda runtime error (2) : out of memory".

## Why

- The batch, the sequence or the model is too large. Activations grow with the batch, optimizer state does not.
- Tensors are kept that nobody needs: `losses.append(loss)` keeps every graph, evaluation without `no_grad` does too.
- Every rank is on the same GPU: several processes of this job are named in the message, or all ranks fail on GPU 0.
- Much is "reserved but unallocated": the memory is there, in pieces that are too small.
- Little is allocated by PyTorch and yet nothing is free: another process holds it (`gpu-memory-held`).
- DataParallel gathers outputs and gradients on the first GPU, which is full first.

## How to tell

The message has the numbers: allocated, reserved, free, other processes. `nvidia-smi` shows whose they are.
`torch.cuda.memory_summary()` before the step that fails shows what the memory went to.

## See also

- [CUDA memory management](https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management)
- [Understanding CUDA memory usage](https://docs.pytorch.org/docs/stable/torch_cuda_memory.html): snapshots
"""

from gpudoctor import Check, Fix, Kind, Severity

SIZE = r"[\d.]+ ?(?:[KMGT]i?B|bytes)"
check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # since 2.1 one sentence per number, before that all in brackets
        rf"CUDA out of memory\. Tried to allocate (?P<asked>{SIZE})\. GPU (?P<gpu>\d+) has a total capac\w+ of (?P<total>{SIZE}) of which (?P<free>{SIZE}) is free",
        rf"CUDA out of memory\. Tried to allocate (?P<asked>{SIZE}) \(GPU (?P<gpu>\d+); (?P<total>{SIZE}) total capacity; .{{0,120}}?(?P<free>{SIZE}) free",
        rf"CUDA out of memory(?!\. Tried to allocate {SIZE}[.( ])",
        r"(?:CUDA|cuda runtime) error ?(?:\(2\) ?)?: out of memory",
        r"THCudaCheck FAIL .*error=2 : out of memory",
        r"CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation",
    ],
    message="GPU[ <gpu>] had no room[ for <asked>][: <free> of <total> were free]",
    fixes=[
        Fix(
            "Take a smaller batch per rank, and add up the gradients of several",
            "(loss / 4).backward()\nif step % 4 == 3:\n    optimizer.step()\n    optimizer.zero_grad(set_to_none=True)",
            Kind.EDIT,
        ),
        Fix(
            "See who holds GPU <gpu>",
            "nvidia-smi -i <gpu> --query-compute-apps=pid,process_name,used_memory --format=csv",
        ),
        Fix(
            "See who holds the memory",
            "nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv",
        ),
        Fix("Against pieces that are too small", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
        Fix(
            "Keep numbers instead of graphs, and none while evaluating",
            "total += loss.item()\nwith torch.inference_mode():\n    evaluate(model)",
            Kind.EDIT,
        ),
        Fix(
            "Compute activations again in the backward pass instead of keeping them",
            "from torch.utils.checkpoint import checkpoint\n\nx = checkpoint(self.block, x, use_reentrant=False)",
            Kind.EDIT,
        ),
    ],
)

"""Something that cannot be captured into a CUDA graph was called while it was.

## What happens

"CUDA error: operation not permitted when stream is capturing", mostly followed by "operation failed due to a previous error during
capture"; or torch itself says "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned".

## Why

A capture records kernels and runs none. Whatever waits for a result, or prepares something that has to be there before, cannot be part of it:

- `.item()`, `print(tensor)`, `tensor.cpu()`, `if tensor > 0`, a copy from ordinary memory of the host, `torch.cuda.synchronize()`.
- What is set up at its first use: cuBLAS and cuDNN handles, NCCL communicators, a first `cudaMalloc` of a library. So the step must have run
  a few times before, on a stream of its own.
- A model on another GPU than the current one: the capture begins on a stream of the current GPU.
- Another thread that uses the GPU meanwhile, such as a DataLoader's thread that pins memory.

## How to tell

The innermost frame of your own in the first traceback is the call. `torch.cuda.set_sync_debug_mode("error")` before an ordinary
run of the step raises at every place that waits for the GPU.

## See also

- [CUDA graphs](https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs): what a captured step must not do, and how to warm up
- [pytorch#87794](https://github.com/pytorch/pytorch/issues/87794): warm-up and capture under `torch.cuda.device` of the model's GPU
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"operation not permitted when stream is capturing",
        r"CUDA_ERROR_STREAM_CAPTURE_(?:UNSUPPORTED|INVALIDATED)|cudaErrorStreamCapture(?:Unsupported|Invalidated)",
        r"operation failed due to a previous error during capture",
        r"Cannot copy between CPU and CUDA tensors during CUDA graph capture",
        (
            r"(?:CUDA (?:driver )?error|Cuda failure).{0,12}\b(?:capturing stream has unjoined work|"
            r"dependency created on uncaptured work|capture was not ended in the same stream|"
            r"operation would (?:make the legacy stream depend on a capturing|result in a merge of separate capture)|"
            r"attempt to terminate a thread-local capture|operation not permitted on an event last recorded in a capturing)"
        ),
        # an optimizer that was not made for it, and what NCCL sees
        r"Attempting CUDA graph capture of (?P<call>step\(\)) for an instance of \w+ but ",
        r"NCCL WARN Stream is not being captured by the expected graph",
        r"Streams given to a communicator within a NCCL group must either be all uncaptured",
        r"Cannot call (?P<call>[\w:]+) during CUDA graph capture",
    ],
    message="while a CUDA graph was captured, something[, <call>,] was called that cannot be part of one: it waits for the GPU, or "
    "sets something up",
    fixes=[
        Fix(
            "Keep numbers on the GPU inside of the captured step, and read them after it was replayed",
            "scale = scores.norm()  # without .item()",
            Kind.EDIT,
            proof="scores.norm()",
        ),
        Fix(
            "Run the step a few times before the capture, on a stream of its own: what is set up at its first use must be there",
            "side = torch.cuda.Stream()\nside.wait_stream(torch.cuda.current_stream())\n"
            "with torch.cuda.stream(side):\n    for _ in range(3):\n        step()\n"
            "torch.cuda.current_stream().wait_stream(side)",
            Kind.EDIT,
            source="https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs",
        ),
        Fix(
            "Warm up and capture with the model's own GPU as the current one",
            'with torch.cuda.device("cuda:1"):\n    graph = torch.cuda.CUDAGraph()\n    with torch.cuda.graph(graph):\n        step()',
            Kind.EDIT,
            source="https://github.com/pytorch/pytorch/issues/87794",
        ),
        Fix(
            "Copy from pinned memory",
            "x.copy_(batch.pin_memory(), non_blocking=True)",
            Kind.EDIT,
            source="https://docs.pytorch.org/docs/stable/notes/cuda.html#use-pinned-memory-buffers",
        ),
        Fix(
            "Under torch.compile: do without graphs, which costs speed with small kernels",
            'model = torch.compile(model)  # without mode="reduce-overhead"',
            Kind.MITIGATION,
            source="https://docs.pytorch.org/docs/stable/generated/torch.compile.html",
        ),
    ],
)

"""The GPU has no memory left for an allocation.

## What happens

"CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.19 GiB is free.
Process 4711 has 20.10 GiB memory in use. … this process has 57.80 GiB memory in use. Of the allocated memory 50.10 GiB
is allocated by PyTorch, and 6.80 GiB is reserved by PyTorch but unallocated." Old: "cuda runtime error (2)".

## Why

- The batch or the sequence is too large: activations grow with both.
- The model is too large, and no batch is small enough: with Adam in mixed precision, weights, gradients and optimizer
  state take about 16 bytes for each parameter, before any activation (ZeRO paper).
- Tensors are kept that nobody needs: `losses.append(loss)` keeps every graph, evaluation without `no_grad` does too.
- Several ranks are on one GPU: the message lists processes as large as this one, or all ranks fail on GPU 0. Each
  needs `set_device`, and `map_location` when it loads a checkpoint.
- Much is "reserved by PyTorch but unallocated": the memory is there, in pieces that are too small.
- Other processes hold it, and this one little: `gpu-memory-held`. Inside NCCL it is `nccl-out-of-memory`.
- The request is larger than the GPU, or "more than 1EB": a shape is wrong, and no GPU would be large enough.
- DataParallel gathers outputs and gradients on the first GPU, which is full first.

## How to tell

Read the numbers in the message in this order: asked, total, other processes, reserved but unallocated.
`torch.cuda.memory_summary()` before the step that fails shows what the memory went to. If one rank alone fails, look at
its batch: the longest sample. The other ranks then wait for it and report a time-out.

## See also

- [FSDP tutorial](https://docs.pytorch.org/tutorials/intermediate/FSDP_tutorial.html): `fully_shard`
- [ZeRO](https://arxiv.org/abs/1910.02054): where 16 bytes for each parameter come from
- [FAQ: out of memory](https://docs.pytorch.org/docs/stable/notes/faq.html): history and tensors that are kept
- [Understanding CUDA memory usage](https://docs.pytorch.org/docs/stable/torch_cuda_memory.html): snapshots
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom, byte_size, in_bytes
from gpudoctor.wordings import SOMEBODY

SIZE = r"\d+(?:\.\d+)? ?(?:[KMGT]i?B|bytes)"
DEVICE = r"\b(?:CUDA|HIP|XPU|NPU)"
MOST = 0.8
"""The part of a GPU that leaves no room for other processes worth looking for."""
MUCH = 0.1
"""Of the GPU's memory: with less than that in pieces, putting them together would not carry far."""
# torch.compile and fairseq try, and go on without what did not fit
OTHERS = {
    r"\bNPU\b": "NPU",
    r"\bMPS\b": "GPU",
    r"\bXPU\b|\b(?:UR|ZE)_RESULT_ERROR_": "XPU",
    r"\bTPU\b|\bXLA\b|RESOURCE_EXHAUSTED|Resource exhausted|memory space (?:hbm|vmem)": "accelerator",
}
"""Words for devices that are none of NVIDIA's, nor of AMD's under the same names; what JAX and XLA say may be any one's."""
HANDLED = r"Ignoring this choice|[Ee]rror during autotuning|skipping batch"

SMALLER = Fix(
    "Take a smaller batch per rank, and add up the gradients of several",
    "(loss / 4).backward()\nif step % 4 == 3:\n    optimizer.step()\n    optimizer.zero_grad(set_to_none=True)",
    Kind.EDIT,
    proof="(loss / 4).backward()",
)
LOOK = Fix(
    "See who holds the memory",
    "nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv",
)
PIECES = Fix(
    "Where much is reserved but unallocated: let segments grow, so that fewer pieces are too small",
    "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
)
OWN_GPU = Fix(
    "One GPU per process: choose it first, and load checkpoints elsewhere than onto the GPU they came from",
    'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))\nstate = torch.load("model.pt", map_location="cpu", weights_only=True)',
    Kind.EDIT,
)
GRAPHS = Fix(
    "Keep numbers instead of graphs, and none while evaluating",
    "total += loss.item()\nwith torch.inference_mode():\n    evaluate(model)",
    Kind.EDIT,
)
AGAIN = Fix(
    "Compute activations again in the backward pass instead of keeping them",
    "from torch.utils.checkpoint import checkpoint\n\nx = checkpoint(self.block, x, use_reentrant=False)",
    Kind.EDIT,
)
MODEL = Fix(
    "A model that does not fit at a batch of 1: split parameters, gradients and optimizer state over the ranks (FSDP; "
    "ZeRO-3 in DeepSpeed), or train a few added weights only (LoRA)",
    "from torch.distributed.fsdp import fully_shard\n\nfor block in model.layers:\n    fully_shard(block)\nfully_shard(model)",
    Kind.EDIT,
)
SHAPE = Fix(
    "Print the shapes before the operation: two tensors are broadcast against each other, or a size is wrong",
    "print(x.shape, y.shape, x.dtype)",
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    follows=["gpu-memory-held", "rank-device-unset"],
    symptoms=[
        # since 2.1 one sentence per number, before that all in brackets
        Symptom(
            rf"{DEVICE} out of memory\. Tried to allocate (?:(?P<huge>more than 1EB)|(?P<asked>{SIZE}))"
            rf"(?:\.? \(?[GNX]PU (?P<gpu>\d+)(?: has a total capac\w+ of|;) (?P<total>{SIZE}))?",
            unless=HANDLED,
        ),
        Symptom(
            rf"(?<!avoid )(?<!avoiding )(?<!prevent )(?<!cause )(?<!of )(?<!with )(?<!if )(?<!a ){DEVICE} out of memory"
            r"(?!\. Tried to allocate (?:more than |[\d.]+ ?[KMGTb]))(?! (?:errors?|issues?|problems?|exceptions?|when|if)\b)",
            unless=HANDLED,
        ),
        # somebody's words
        Symptom(
            r"(?:CUDA OOMs?|(?:CUDA|GPU|VRAM) (?:is |runs |ran )?out of memory|OOM (?:errors?|on|when|after|during|at|in|with))\b(?![^\n]{0,300}\b(?:RAM|CPU|host)\b)",
            near=rf"(?m:{SOMEBODY}(?:CUDA OOMs?|(?:CUDA|GPU|VRAM) (?:is |runs |ran )?out of memory|OOM (?:errors?|on|when|after|during|at|in|with))\b(?![^\n]{{0,300}}\b(?:RAM|CPU|host)\b))",
            asked=True,
        ),
        # Chinese: "not enough video memory", "it shows out of memory"
        Symptom(
            r"^(?!.{0,200}(?:\u5982\u679c|\u907f\u514d|\u9632\u6b62|\u51cf\u5c11|\u8282\u7701|\u5efa\u8bae)).{0,200}"
            r"(?:\u663e\u5b58(?:\u4e0d\u8db3|\u4e0d\u591f|\u6ea2\u51fa|\u7206\u4e86)|"
            r"(?:\u663e\u793a|\u62a5\u9519|\u63d0\u793a|\u51fa\u73b0|\u4f1a).{0,12}?out of memory\b)",
            asked=True,
        ),
        # cut off before it
        rf"(?<!memory\. )(?<!memory )Tried to allocate (?P<asked>{SIZE}) \([GNX]PU (?P<gpu>\d+); (?P<total>{SIZE}) total capacity",
        # 2.1 to 2.9: what was to list the processes on the full GPU failed in its turn
        r"NVML_SUCCESS == .{1,120}ASSERT FAILED .{1,200}Allocator\.cpp",
        Symptom(
            r"^# .{0,80}?\b[GX]PU ?\d* (?:OUT OF MEMORY|OOM|runs out of memory)\b", asked=True
        ),  # a title
        # a notebook's cell that was cut off below its first line; nothing else of that name is common
        r"^(?:torch\.)?OutOfMemoryError {2,}Traceback \(most recent",
        r"MPS backend out of memory",
        r"llocation was preemptively rejected because it would exceed|Preemptively rejecting allocation: requested",
        r"Allocation on device (?P<gpu>\d+) would exceed allowed memory",
        r"(?:CUDA|HIP|cuda runtime|CUDA driver) [Ee]rror ?(?:\(2\) ?)?: out of memory|Triton Error \[\w+\]: out of memory",
        r"\berror=2 : out of memory",
        r"(?<!failure ')\bCUDA_ERROR_OUT_OF_MEMORY\b|\bcudaErrorMemoryAllocation\b",
        r"memory (?:allocation|mapping) failed with OOM on device (?P<gpu>\d+)",
        r"OutOfMemoryError: Out of memory allocating (?P<asked>[\d,]+ bytes)",  # cupy
        r"RESOURCE_EXHAUSTED: Out of memory while trying to allocate (?P<asked>[\d.]+ ?\w+)",  # JAX, TensorFlow
        rf"(?:RESOURCE_EXHAUSTED|Resource exhausted): .{{0,60}}Attempting to (?:allocate|reserve) (?P<asked>{SIZE}|[\d.]+[KMGT])\b",  # XLA
        r"\bUR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY\b|\bZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY\b",  # Intel's GPUs
        r"Ran out of memory in memory space (?:hbm|vmem)\b",  # XLA's compiler, for a TPU
        r"No available memory for the cache blocks",  # vLLM
        r"No executable batch size found, reached zero",  # accelerate
        r"\b(?:cudaLaunch|cudaMalloc|triple_chevron_launcher|bulk_kernel_by_value)\b.{0,60}: out of memory",  # Thrust
        r"Error out of memory at line \d+ in file",  # bitsandbytes
        r"torch\.(?:cuda\.)?OutOfMemoryError: Allocation on device\b(?! ?\d)",  # the reason is missing on some systems
        # the number alone, before CUDA 10.1 and since
        r"cuda runtime error \((?:2)\)(?! ?:)",
        r"Allocator \(GPU_\d+_\w+\) ran out of memory|\bcub::\w.{0,200}status: out of memory",  # TensorFlow
        r"Evaluation hit an out-of-memory error\b",  # transformers
        r"Failed to load model - not enough GPU memory",  # vLLM
        r"larger than the maximum number of tokens that can be stored in KV cache",  # vLLM
        r"Some modules are dispatched on the CPU or the disk\. Make sure you have enough GPU RAM",  # transformers
        r"\bhipErrorOutOfMemory\b",
        # somebody's words; the host's memory is host-oom-killed
        Symptom(
            r"\b(?:prompts?|says?|reports?|shows?|gets?|got|hits?|raises?|throws?|runs?|ran|gives?|occurs?|occurred|have|has|is|was) (?:\w+ ){0,3}(?:[Oo]ut of [Mm]emory|OUT OF MEMORY)\b",
            near=rf"(?m:{SOMEBODY}(?:[Oo]ut of [Mm]emory|OUT OF MEMORY)\b)",
            unless=r"\b(?:CPU|RAM|[Hh]ost|[Ss]ystem) ?(?:memory|RAM|OOM)?\b|killed",
            asked=True,
        ),
    ],
    fixes=[SMALLER, LOOK, PIECES, GRAPHS, AGAIN, MODEL],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say which of the numbers in the message tells the reason."""
    groups = sighting.groups
    if "huge" in groups:
        message = "an allocation of more than 1 EB was asked for: a size is wrong or negative, and memory is not the fault"
        yield check.found(message, fixes=[SHAPE])
        return
    kind, usable = _device(sighting.line)
    # The numbers stand in this line, or, where it was wrapped, in the few after it.
    start = sighting.around.find(sighting.line)
    text = sighting.around[max(start, 0) :][:1200]
    asked, total, gpu = groups.get("asked"), groups.get("total"), groups.get("gpu")
    message = (
        (f"{kind} {gpu}" if gpu else f"the {kind}") + " had no room" + (f" for {asked}" if asked else "")
    )
    fixes: list[Fix] | None = None
    if total:
        free = _first(rf"of which ({SIZE}) is free", text) or _first(rf"({SIZE}) free", text)
        message += f": {free} of {total} were free" if free else ""
    if asked and total:
        why, fixes = _reason(in_bytes(asked), in_bytes(total), text)
        message += why
    yield check.found(message, fixes=[fix for fix in fixes or check.fixes if fix in usable])


def _device(line: str) -> tuple[str, list[Fix]]:
    """Return what kind of device is full, and which fixes it can do with: CUDA's tools and variables are CUDA's own."""
    everywhere = [SMALLER, GRAPHS, AGAIN, MODEL, SHAPE]
    for words, kind in OTHERS.items():
        if re.search(words, line):
            return kind, everywhere
    if re.search(r"\bHIP\b", line):
        return "GPU", [*everywhere, PIECES, OWN_GPU]
    return "GPU", [*everywhere, LOOK, PIECES, OWN_GPU]


def _reason(asked: float, total: float, text: str) -> tuple[str, list[Fix]]:
    """Return why there was no room, and what helps first against that."""
    if asked > total:
        why = "; no such GPU could hold that at once, so look at the shapes first"
        return why, [SHAPE, SMALLER, AGAIN, MODEL]
    limit = _first(rf"({SIZE}) allowed", text)
    limited = f", and this process may take {limit}" if limit else ""
    others = [in_bytes(held) for held in re.findall(rf"\bProcess \d+ has ({SIZE}) memory in use", text)]
    if others and "this process has" in text:
        hold = f"{len(others)} other processes hold" if len(others) > 1 else "another process holds"
        return f"{limited}, and {hold} {byte_size(sum(others))}", [OWN_GPU, LOOK, SMALLER, GRAPHS]
    pieces = _unallocated(text)
    if pieces >= max(asked, MUCH * total):
        why = f"{limited}; {byte_size(pieces)} are reserved by PyTorch, in pieces that are too small"
        return why, [PIECES, SMALLER, GRAPHS, AGAIN]
    if _own(text) >= MOST * total:
        return limited, [SMALLER, AGAIN, GRAPHS, MODEL, PIECES, LOOK]
    return limited, [SMALLER, LOOK, GRAPHS, AGAIN, MODEL, PIECES]


def _own(text: str) -> float:
    """Return how much of the memory this process itself has, as far as the message tells."""
    own = _first(rf"this process has ({SIZE}) memory in use", text) or _first(
        rf"({SIZE}) (?:reserved in total by PyTorch|already allocated)", text
    )
    return in_bytes(own) if own else 0


def _unallocated(text: str) -> float:
    """Return what PyTorch's allocator holds and nobody uses."""
    unallocated = _first(rf"({SIZE}) (?:is reserved by PyTorch but unallocated|cached\))", text)
    if unallocated:
        return in_bytes(unallocated)
    allocated = _first(rf"({SIZE}) already allocated", text)
    reserved = _first(rf"({SIZE}) reserved in total", text)
    return in_bytes(reserved) - in_bytes(allocated) if allocated and reserved else 0


def _first(pattern: str, text: str) -> str | None:
    """Return what the pattern's group catches first in a text."""
    match = re.search(pattern, text)
    return match[1] if match else None

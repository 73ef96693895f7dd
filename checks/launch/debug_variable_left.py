"""A variable for debugging is still set, and slows training down.

## What happens

Training is right and slow: with CUDA_LAUNCH_BLOCKING=1 the processor waits for every kernel, without the caching
allocator each tensor is a cudaMalloc, TORCH_DISTRIBUTED_DEBUG=DETAIL compares each collective over gloo first, a
library that CUDA_INJECTION64_PATH names sits between the program and every call.

## Why

It was set to find a failure, in a shell, a job script or an image, and forgotten. Some of these count as soon as they
are set at all, 0 included: PYTORCH_NO_CUDA_MEMORY_CACHING, even if it is empty, and CUDA_INJECTION64_PATH.

TORCH_DISTRIBUTED_DEBUG=DETAIL does more than slow down: the group that it adds can hang where the training does not,
and with torch 2.15 over gloo a healthy DDP script dies of signal 11, with one rank too. INFO is safe.

## How to tell

`printenv | grep -E 'CUDA|TORCH|NCCL|MALLOC|PYTHON|LD_'`. `env -u NAME` before the command does without one for a run.

## See also

- [CUDA environment variables](https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html): what NVIDIA's libraries read
- [PyTorch: CUDA environment variables](https://docs.pytorch.org/docs/stable/cuda_environment_variables.html): what torch reads
- [pytorch#129672](https://github.com/pytorch/pytorch/issues/129672): DETAIL hangs
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Severity
from gpudoctor.facts import (
    Gpus,
    Launch,
    NcclConfiguration,
    Pci,
    Torch,
    for_processors_alone,
    settings,
)

ON = re.compile(r"(?!\s*(?:0+|false|off|no|n|f)?\s*$).*", re.IGNORECASE | re.DOTALL)
"""Anything but an empty value, 0 and no."""
ANY = re.compile(r".+", re.DOTALL)
COSTLY = {
    "CUDA_LAUNCH_BLOCKING": (ON, "the processor waits for every kernel, and the GPU waits for the processor"),
    "PYTORCH_NO_CUDA_MEMORY_CACHING": (
        re.compile(
            r".*", re.DOTALL
        ),  # an empty one too: c10/cuda/CUDACachingAllocator.cpp asks whether it is set
        "every tensor is a cudaMalloc and a cudaFree, whatever the value is",
    ),
    "CUDA_DEVICE_WAITS_ON_EXCEPTION": (
        ON,
        "a GPU that meets an error stops and waits for a debugger, without end",
    ),
    "CUDA_ENABLE_COREDUMP_ON_EXCEPTION": (
        ON,
        "a failing kernel writes the GPU's memory to disk before the process ends",
    ),
    "CUDA_INJECTION64_PATH": (ANY, "a profiler's library is loaded into every process that uses CUDA"),
    "CUDA_INJECTION32_PATH": (ANY, "a profiler's library is loaded into every process that uses CUDA"),
    "NSIGHT_CUDA_DEBUGGER": (ON, "it belongs to Nsight's debugger"),
    "TORCH_NCCL_DESYNC_DEBUG": (ON, "every collective of every rank is written to the store of rank 0"),
    "TORCH_NCCL_NAN_CHECK": (ON, "every collective's input is searched for NaN first"),
    "NCCL_DESYNC_DEBUG": (ON, "every collective of every rank is written to the store of rank 0"),
    "NCCL_CHECK_POINTERS": (ON, "NCCL asks the driver about every pointer of every call"),
    "NCCL_CHECK_MODE": (
        re.compile(r"DEBUG_(?:LOCAL|GLOBAL)"),
        "NCCL checks every argument and pointer of every call",
    ),
    "CUDNN_LOGINFO_DBG": (ON, "cuDNN prints every call, where CUDNN_LOGDEST_DBG says"),
    "CUBLAS_LOGINFO_DBG": (ON, "cuBLAS prints every call, where CUBLAS_LOGDEST_DBG says"),
    "LD_DEBUG": (ANY, "the loader prints every library and symbol, in every process"),
    "PYTHONDEVMODE": (ON, "Python checks memory and warns of everything"),
    "PYTHONTRACEMALLOC": (ON, "Python records a stack for every object"),
}
"""Name -> which values count, and what they cost."""
CHEAP = {
    "COMPUTE_PROFILE": (ON, "it belongs to CUDA's old command-line profiler"),
    "CUDA_PROFILE": (ON, "it belongs to CUDA's old command-line profiler"),
    "OPENCL_PROFILE": (ON, "it belongs to CUDA's old command-line profiler"),
    "CUDA_AUTO_BOOST": (ANY, "it overrides how nvidia-smi lets the clocks boost"),
    "CUDA_COREDUMP_FILE": (ANY, "core files of GPUs go there, and are as large as the GPU's memory"),
    "TORCH_NCCL_ENABLE_TIMING": (ON, "every collective records one more CUDA event"),
    "NCCL_ENABLE_TIMING": (ON, "every collective records one more CUDA event"),
    "TORCH_SHOW_CPP_STACKTRACES": (ON, "errors take longer, and are longer"),
    "TORCH_LOGS": (ANY, "torch prints what its compiler does, in every rank"),
    # c10/core/impl: only where NDEBUG is not defined; torch 2.15 from PyPI prints nothing
    "TORCH_SHOW_DISPATCH_TRACE": (
        ON,
        "a torch that was compiled for debugging prints a line for every operator; others do not read it",
    ),
    "TORCH_COMPILE_DEBUG": (ON, "torch.compile writes everything it makes to disk"),
    "TORCHDYNAMO_DISABLE": (ON, "torch.compile does nothing"),
    "TORCH_COMPILE_DISABLE": (ON, "torch.compile does nothing"),
    "NVIDIA_TF32_OVERRIDE": (
        re.compile(r"\s*0\s*"),
        "matrix products in float32 run without TF32, whatever the script says",
    ),
    "MALLOC_CHECK_": (ON, "the C library checks every allocation"),
    "MALLOC_PERTURB_": (ON, "the C library fills every allocation"),
    "PYTHONMALLOC": (re.compile(r".*debug.*"), "Python checks every allocation"),
}
LEVELS = {"DETAIL": (Severity.WARNING, "each collective is compared over gloo before it runs, which is slow and may hang"),
          "INFO": (Severity.NOTE, "DDP measures and prints its own times")}  # fmt: skip
OF_CUDA = re.compile(r"CUDA|PYTORCH_|NSIGHT|CUDNN|CUBLAS|TORCH_NCCL|NCCL|NVIDIA")

check = Check(
    severity=Severity.WARNING,
    otherwise="a note for what costs little, and without a GPU",
    fixes=[Fix("See what is set", "printenv | grep -E 'CUDA|TORCH|NCCL|MALLOC|PYTHON|LD_'")],
)


@check.environment
def environment(
    launch: Launch,
    configuration: NcclConfiguration | None,
    torch: Torch | None,
    gpus: Gpus | None,
    pci: Pci | None,
) -> Iterator[Finding]:
    """A variable is set that is there for debugging."""
    known = settings(launch, configuration)
    nothing_to_slow = for_processors_alone(torch, gpus, pci)
    for table, severity in ((COSTLY, Severity.WARNING), (CHEAP, Severity.NOTE)):
        for name, (counts, costs) in table.items():
            if name in known and counts.fullmatch(known[name].value):
                idle = nothing_to_slow and OF_CUDA.match(name)
                more = "; without a GPU it changes nothing" if idle else ""
                message = f"{known[name]}: {costs}{more}"
                yield check.found(
                    message,
                    severity=Severity.NOTE if idle else severity,
                    fixes=[Fix(known[name].removal(), known[name].removal_command)],
                )
    level = known.get("TORCH_DISTRIBUTED_DEBUG")
    if level is not None and level.value.upper() in LEVELS:
        severity, costs = LEVELS[level.value.upper()]
        yield check.found(
            f"{level}: {costs}", severity=severity, fixes=[Fix(level.removal(), level.removal_command)]
        )
    logs = known.get("TORCH_CPP_LOG_LEVEL")
    if logs is not None and logs.value.strip().upper() in ("INFO", "0"):
        message = f"{logs}: torch's C++ parts print what they do, in every rank"
        yield check.found(message, severity=Severity.NOTE, fixes=[Fix(logs.removal(), logs.removal_command)])

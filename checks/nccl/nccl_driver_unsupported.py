"""NCCL calls something that the installed NVIDIA driver does not have.

## What happens

"Cuda failure 36 'API call is not supported in the installed CUDA driver'", "Cuda failure 801 'operation not
supported'", or "The installed CUDA driver is older than the minimum version (R465)". torch itself imported and found
the GPUs.

## Why

- NCCL and torch are built for a newer CUDA than the driver's. Within one major version most of it works, and single
  calls are missing: memory pools, CUDA graphs, shareable memory.
- The GPU is virtual (vGPU), a MIG instance, or under WSL, where memory pools or handles do not exist.
- The driver was updated, and the container still brings an older libcuda (a compat package).

## How to tell

`nvidia-smi | head -4` names the driver and the highest CUDA that it knows. What
`python -c "import torch; print(torch.version.cuda)"` prints must not be higher. With `NCCL_DEBUG=INFO`, NCCL says
"cudaDriverVersion 11000" for CUDA 11.0.

## See also

- [CUDA compatibility](https://docs.nvidia.com/deploy/cuda-compatibility/): which driver for which CUDA
- [nccl#955](https://github.com/NVIDIA/nccl/issues/955): the message on eight V100s
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"(?P<reason>API call is not supported in the installed CUDA driver)",
        r"(?P<reason>cudaErrorCallRequiresNewerDriver)",
        # in p2p.cc and nvls.cc it is about peer access and multicast
        r"(?<!nvls)(?<!p2p)\.(?:cc|cu|h|c):\d+(?: \(\w+\))? NCCL WARN Cuda failure (?:801 )?'(?P<reason>operation not supported)'",
        r"(?<!WARN )\bCuda failure (?:801 )?'(?P<reason>operation not supported)'",
        r"installed CUDA driver is older than the minimum version \((?P<driver>\w+)\) required for NCCL",
        r"NCCL WARN (?P<reason>CUDA some PFN functions not found in the library)",
        r"NCCL cannot be captured in a graph if either .{0,80}installed CUDA driver < (?P<driver>R\d+)",
        r"NCCL WARN Failed to load CUDA missing symbol (?P<symbol>\w+)",
    ],
    message="the NVIDIA driver lacks a call that NCCL needs[: <symbol>][: <driver> is the oldest that has it][: <reason>]",
    follows=["cuda-driver-too-old", "driver-library-mismatch", "driver-not-loaded"],
    fixes=[
        Fix(
            "Compare the driver's CUDA with torch's",
            'nvidia-smi | head -4; python -c "import torch; print(torch.version.cuda, torch.cuda.nccl.version())"',
        ),
        Fix(
            "Install torch for the driver's CUDA, with what is built for torch (CUDA_TAG is cu118 for CUDA 11.8, cu126 for 12.6)",
            "python -m pip install --force-reinstall torch torchvision torchaudio --index-url https://download.pytorch.org/whl/CUDA_TAG",
        ),
        Fix("Install a newer driver, and restart the machine", kind=Kind.ADMIN),
        Fix(
            "Keep NCCL from the newer calls: slower set-up, and more memory",
            "export NCCL_CUMEM_ENABLE=0 NCCL_GRAPH_REGISTER=0",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs a GPU with an old driver",
)

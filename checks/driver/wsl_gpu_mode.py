"""Windows does not let WSL use the GPU.

## What happens

In WSL 2 `nvidia-smi` says "Failed to initialize NVML: GPU access blocked by the operating system", and
`torch.cuda.is_available()` is False. In Windows itself `nvidia-smi` works.

## Why

WSL has no NVIDIA driver of its own: it uses Windows' driver through `/dev/dxg`. Most often first:

- The GPU runs in TCC mode, the default of data centre cards such as L40S on Windows Server. WSL sees GPUs in WDDM mode
  only.
- WSL or the Windows driver is too old for the other.
- A Linux driver or `nvidia-utils` was installed inside WSL, and its `nvidia-smi` or `libcuda.so` is found first.
- It is WSL 1, which translates Linux' calls and has no GPU at all; its kernel calls itself 4.4.0-…-Microsoft.
- The Windows account, or a virtual machine around Windows, does not pass the GPU on.

## How to tell

In Windows, `nvidia-smi` shows TCC or WDDM in the column "Driver-Model". In WSL, `/usr/lib/wsl/lib/nvidia-smi` is the
right one: where it works and plain `nvidia-smi` does not, a Linux package is in the way. `wsl --version` shows WSL's.

## See also

- [CUDA on WSL](https://docs.nvidia.com/cuda/wsl-user-guide/index.html): no Linux driver inside WSL
- [WSL 9938](https://github.com/microsoft/WSL/issues/9938) and
  [WSL 14339](https://github.com/microsoft/WSL/issues/14339): the message, and an L40S on Windows Server
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Evidence, Finding, Fix, Kind, Severity
from gpudoctor.facts import Gpus, Host, Torch

# WSL 1 answers as this kernel, whatever Windows; WSL 2 has a Linux of its own, 5.15.90.1-microsoft-standard-WSL2.
WSL_1 = re.compile(r"4\.4\.0-\d{4,6}-Microsoft")
BLOCKED = 17  # NVML_ERROR_OPERATING_SYSTEM
MOVE = Fix(
    "In Windows: move this distribution to WSL 2, which has the GPU",
    "wsl --set-version DISTRIBUTION 2",
    source="https://learn.microsoft.com/windows/wsl/basic-commands",
)

SWITCH = Fix(
    "Where Windows' nvidia-smi shows TCC: switch the GPU to WDDM, as administrator, and restart Windows",
    "nvidia-smi -i GPU -dm WDDM",
    Kind.ADMIN,
)

check = Check(
    severity=Severity.ERROR,
    words_stand=True,
    symptoms=[
        r"GPU access (?:is )?blocked (?:by the operating system|in (?:my |the )?WSL)",
        r"NVMLError_OperatingSystem\b|NVML_ERROR_OPERATING_SYSTEM",
    ],
    message="Windows keeps the GPU from WSL: nothing in WSL can use it",
    fixes=[
        Fix(
            "In Windows: update WSL and start it again, and install the newest NVIDIA driver for Windows",
            "wsl --update; wsl --shutdown",
        ),
        SWITCH,
        Fix(
            "In WSL: remove a Linux driver, and use the one that Windows brings",
            "sudo apt purge 'nvidia-*' 'libnvidia-*' && /usr/lib/wsl/lib/nvidia-smi",
            Kind.ADMIN,
        ),
    ],
    no_reproduction="needs Windows",
)


@check.environment
def environment(host: Host, torch: Torch | None, gpus: Gpus | None) -> Iterator[Finding]:
    """NVML says in WSL that the system blocks it, Windows has the GPU in TCC mode, or it is WSL 1, and a torch for GPUs."""
    if host.wsl and gpus is not None and gpus.error_code == BLOCKED:
        evidence = [Evidence(gpus.error, "NVML")] if gpus.error else []
        yield check.found("Windows keeps the GPU from WSL: nothing in WSL can use it", evidence=evidence)
        return
    held = [gpu for gpu in gpus.devices if gpu.driver_model == "TCC"] if gpus is not None else []
    if host.wsl and gpus is not None and held:
        message = (
            f"Windows has {gpus.named(held)} in TCC mode, which WSL cannot see: nothing in WSL can use it"
        )
        yield check.found(message, fixes=[SWITCH])
        return
    if WSL_1.fullmatch(host.kernel) and torch is not None and torch.cuda and not torch.cuda_available:
        message = "this is WSL 1, which has no GPU: nothing in it can use one, whatever is installed"
        yield check.found(message, evidence=[Evidence(f"kernel {host.kernel}")], fixes=[MOVE])

"""The environment block that PyTorch's maintainers ask for: the fields of ``torch.utils.collect_env``, in its form."""

from gpudoctor.facts import Distributions, Driver, Gpus, Host, Launch, Python, Torch
from gpudoctor.snapshot import Snapshot

NOT_KNOWN = "Could not collect"


def environment_block(snapshot: Snapshot) -> str:
    """Write the block; what is not known says so, as collect_env does."""
    host, python = snapshot.get(Host) or Host(), snapshot.get(Python)
    gpus = snapshot.get(Gpus) or Gpus()
    driver = snapshot.get(Driver) or Driver()
    lines = [
        *_torch(snapshot.get(Torch)),
        "",
        f"OS: {host.os or host.system or NOT_KNOWN}" + (f" ({host.machine})" if host.machine else ""),
        f"Libc version: {host.libc or NOT_KNOWN}",
        f"Container: {host.container or ('WSL' if host.wsl else 'none seen')}",
        "",
        f"Python version: {python.build if python else NOT_KNOWN}",
        f"Python platform: {python.platform if python else NOT_KNOWN}",
        *_cuda(snapshot.get(Torch), gpus, driver),
        "",
        "CPU:",
        f"CPU(s): {host.cpus if host.cpus is not None else NOT_KNOWN}",
        f"Model name: {host.cpu_model or NOT_KNOWN}",
        "",
        "Versions of relevant libraries:",
        *(_libraries(snapshot.get(Distributions)) or ["[pip3] " + NOT_KNOWN]),
    ]
    launch = snapshot.get(Launch)
    if launch is not None and launch.variables:
        lines += [
            "",
            "Environment Variables:",
            *(f"{name}={value}" for name, value in launch.variables.items()),
        ]
    return "\n".join(lines)


def _torch(torch: Torch | None) -> list[str]:
    torch = torch or Torch()
    missing = "N/A" if torch.imported is False else NOT_KNOWN
    return [
        f"PyTorch version: {torch.version or missing}",
        f"Is debug build: {missing if torch.debug_build is None else torch.debug_build}",
        f"CUDA used to build PyTorch: {torch.cuda or ('None' if torch.version else missing)}",
        f"ROCM used to build PyTorch: {torch.hip or 'N/A'}",
    ]


def _cuda(torch: Torch | None, gpus: Gpus, driver: Driver) -> list[str]:
    torch = torch or Torch()
    devices = [f"GPU {gpu.index}: {gpu.name}" for gpu in gpus.devices]
    return [
        f"Is CUDA available: {'N/A' if torch.cuda_available is None else torch.cuda_available}",
        "GPU models and configuration: " + ("" if devices else NOT_KNOWN),
        *devices,
        f"Nvidia driver version: {gpus.driver_version or driver.version or NOT_KNOWN}",
        f"cuDNN version: {torch.cudnn or NOT_KNOWN}",
        f"NCCL version: {torch.nccl or NOT_KNOWN}",
    ]


def _libraries(distributions: Distributions | None) -> list[str]:
    installed = distributions.installed if distributions else []
    return [f"[pip3] {d.name}=={d.version}" for d in sorted(installed, key=lambda d: d.name.lower())]

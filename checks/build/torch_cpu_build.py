"""torch is a CPU build, which cannot use an NVIDIA GPU.

## What happens

`torch.cuda.is_available()` is False, `.cuda()` and `.to("cuda")` raise "Torch not compiled with CUDA enabled", and a
process group with the nccl backend cannot be made. A script that falls back to the CPU trains many times slower and
says nothing.

## Why

A wheel without CUDA was installed:

- from the CPU index (`+cpu` in the version), or by a lock file that was made on a laptop;
- by conda's `cpuonly` or `pytorch-cpu`;
- from the ordinary index on Windows and on some ARM machines, also as a dependency of another package.

A torch that is installed already is kept by later installs: "Requirement already satisfied".

## How to tell

`python -c 'import torch; print(torch.__version__, torch.version.cuda)'` prints None for a CPU build, while
`nvidia-smi` lists a GPU. (None is right on a machine without an NVIDIA GPU, on a TPU machine and on a Mac.)

## See also

- [Start locally](https://pytorch.org/get-started/locally/): the install command for each CUDA version
- [uv and PyTorch](https://docs.astral.sh/uv/guides/integration/pytorch/): `--torch-backend`
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Severity, Symptom
from gpudoctor.facts import Distributions, Driver, Gpus, Host, Pci, Python, Torch

# CUDA of the wheel that pip installs when it is told nothing else (torch 2.15 asks for nvidia-nccl-cu13).
ORDINARY_WHEEL = 13

check = Check(
    severity=Severity.ERROR,
    otherwise="a note in a container without GPUs, a warning where nothing shows a GPU and conda was asked for CUDA",
    follows=["torch-shadowed"],
    symptoms=[
        r"Torch not compiled with CUDA enabled",
        r"PyTorch was compiled without CUDA support",
        r"Cannot initialize CUDA without ATen_cuda library",
        r"torch\._C'? has no attribute '_cuda_\w+'",
        r"torch\.cuda\.\w+ requires CUDA support",
        r"Tried to instantiate dummy base class (Cuda|CUDA|_Cuda|Stream|Event)",
        r"PyTorch is not linked with support for cuda",
        r"\bPyTorch \S+ with CUDA \d+ \(you have \d[\w.]*\+cpu\)",  # xFormers
        # YOLO's programs were told to use a GPU
        Symptom(r"Invalid CUDA 'device=[^']{0,40}' requested", near=r"\btorch-\d\S{1,20}\+cpu\b"),
        # as people put it
        Symptom(
            r"\bpytorch-cpu\b|\bcpuonly\b|\b[Cc][Pp][Uu](?:[- ]only)? (?:version|build|wheel|variant|edition) of (?:[Pp]y)?[Tt]orch",
            near=r"is_available\(\)\W.{0,60}\bFalse\b|CUDA (?:is )?not available|CUDA is unavailable",
        ),
        Symptom(
            r"\b(?:install(?:s|ed|ing)?|gets?|got|gives?|gave|pull(?:s|ed)|us(?:es|ing)|have|has|is) (?:\w{1,8} ){0,3}"
            r"[Cc][Pp][Uu](?:[- ]only)? (?:version|build|wheel|variant|edition) of (?:[Pp]y)?[Tt]orch",
            near=r"\b(?:RTX|GTX|NVIDIA|GeForce|nvidia-smi)\b",
        ),
        r"Could not run 'aten::empty(_strided|\.memory_format)?' with arguments from the 'CUDA' backend",
    ],
    message="this torch was built without CUDA: it can use no NVIDIA GPU, whatever the machine has",
    fixes=[
        Fix(
            "Install the CUDA build, on Linux x86_64",
            "python -m pip install --force-reinstall torch torchvision",
        ),
        Fix(
            "Or let uv choose the build that fits the driver, on any platform",
            "uv pip install --reinstall --torch-backend=auto torch torchvision",
        ),
        Fix("Or, in a conda environment", "conda install -c conda-forge pytorch-gpu torchvision"),
    ],
)


@check.environment
def environment(
    torch: Torch,
    pci: Pci | None,
    gpus: Gpus | None,
    driver: Driver | None,
    host: Host | None,
    python: Python | None,
    distributions: Distributions | None,
) -> Iterator[Finding]:
    """A torch without CUDA stands beside NVIDIA hardware."""
    if not torch.imported or torch.version is None:
        raise CannotTell("torch was not imported, so what it was built for is not known")
    if (
        torch.cuda is not None
        or torch.hip
        or torch.xla
        or "+xpu" in torch.version
        or (host and host.system == "Darwin")
    ):
        return
    hardware = _hardware(pci, gpus)
    if hardware is None and pci is None and gpus is None and driver is not None and driver.version:
        hardware = f"NVIDIA's driver {driver.version}"
    if hardware is None:
        if pci is None and gpus is None and (asked := _asked_for(distributions)):
            message = f"torch {torch.version} is a CPU build, and {asked} was asked for beside it: it can use no NVIDIA GPU"
            fixes = _fixes(gpus, host, python, distributions)
            yield check.found(message, severity=Severity.WARNING, fixes=fixes)
            return
        if (meant := _meant(gpus, distributions)) and pci is None:
            message = f"torch {torch.version} is a CPU build, and {meant}: if this machine has an NVIDIA GPU, this torch cannot use it"
            fixes = _fixes(gpus, host, python, distributions)
            yield check.found(message, severity=Severity.NOTE, fixes=fixes)
            return
        unseen = gpus is None or gpus.error is not None
        if unseen and (pci is None or (driver is not None and driver.dxg)):  # WSL has its GPUs on no PCI bus
            raise CannotTell("neither the PCI bus nor NVML says whether this machine has an NVIDIA GPU")
        return
    message = (
        f"torch {torch.version} is a CPU build (torch.version.cuda is None), and this machine has {hardware}: every "
        ".cuda() and every nccl process group will fail"
    )
    yield check.found(
        message, severity=_severity(gpus, driver, host), fixes=_fixes(gpus, host, python, distributions)
    )


def _asked_for(distributions: Distributions | None) -> str | None:
    """Return which of conda's packages for CUDA is here: who asked for it wanted a torch for GPUs."""
    listed = [distributions.get(name) for name in ("cudatoolkit", "pytorch-cuda")] if distributions else []
    return next((f"{d.name} {d.version}" for d in listed if d is not None), None)


def _meant(gpus: Gpus | None, distributions: Distributions | None) -> str | None:
    """Say what lets think of a GPU where nvidia-smi gave nothing: a CUDA toolkit, or conda's packages for CUDA."""
    if gpus is None or gpus.error is None:
        return None
    if "CUDA toolkit" in gpus.error:
        return gpus.error
    asked = _asked_for(distributions)
    return f"{asked} was asked for beside it" if asked else None


def _hardware(pci: Pci | None, gpus: Gpus | None) -> str | None:
    """Say which NVIDIA GPUs are here; those that are passed on to a virtual machine are not."""
    names = [gpu.name or "NVIDIA GPU" for gpu in gpus.devices] if gpus else []
    if not names and pci:
        names = ["NVIDIA GPU"] * len(pci.usable)
    if not names:
        return None
    kinds = ", ".join(dict.fromkeys(names))
    return f"{len(names)} x {kinds}"


def _severity(gpus: Gpus | None, driver: Driver | None, host: Host | None) -> Severity:
    """A container to which no GPU was given may be meant for the CPU."""
    kept_out = host is not None and host.container and driver is not None and not driver.nodes
    return Severity.NOTE if kept_out and not (gpus and gpus.devices) else Severity.ERROR


def _fixes(
    gpus: Gpus | None, host: Host | None, python: Python | None, distributions: Distributions | None
) -> list[Fix]:
    patient = python or Python()
    command = patient.install_command("torch torchvision", distributions, reinstall=True)
    by_uv = patient.uv_install_command("torch torchvision", reinstall=True)
    newest = (gpus.cuda_version if gpus else None) or ""
    fixes = [Fix("Let uv install the CUDA build that fits the driver", by_uv)]
    if newest.partition(".")[0].isdigit() and int(newest.partition(".")[0]) < ORDINARY_WHEEL:
        words = f"The driver supports CUDA {newest} at most, pip's newest wheel needs {ORDINARY_WHEEL}: let uv choose"
        fixes = [Fix(words, by_uv)]
    elif command == by_uv:
        fixes = [Fix("Install the CUDA build that fits the driver", command)]
    elif host is None or (host.system in ("", "Linux") and host.machine in ("", "x86_64")):
        fixes.insert(0, Fix("Install the CUDA build, the ordinary wheel on Linux", command))
    if patient.environment == "conda environment":
        fixes.append(Fix("Or from conda-forge", "conda install -c conda-forge pytorch-gpu torchvision"))
    return fixes

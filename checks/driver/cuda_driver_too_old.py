"""The NVIDIA driver is too old for the CUDA version that torch is built with.

## What happens

torch says "The NVIDIA driver on your system is too old (found version 11040)", which means CUDA 11.4, or "CUDA driver
version is insufficient for CUDA runtime version". `torch.cuda.is_available()` is False, and training goes on on the CPU
where nothing stops it. Compiled kernels fail with "the provided PTX was compiled with an unsupported toolchain".

## Why

Each driver supports CUDA up to some version. A wheel that came with a plain `pip install torch` is built for a recent
one: CUDA 13 needs driver 580 or later, CUDA 12 needs 525.60.13, CUDA 11 needs 450.80.02 (Linux). An image of NVIDIA's
refuses to start for the same reason. In a container the driver is the host's.

## How to tell

`nvidia-smi` shows the driver and the highest CUDA version it supports, in its first lines;
`python -c 'import torch; print(torch.version.cuda)'` shows what torch was built with. A CUDA toolkit or `nvcc` that is
installed beside them plays no part.

## See also

- [CUDA: minor version compatibility](https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html): the oldest driver of each CUDA
- [Previous versions of PyTorch](https://pytorch.org/get-started/previous-versions/): the install command for each CUDA version
"""

from collections.abc import Iterator, Mapping

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import Cuda, Distributions, Driver, Gpus, Host, Python, Torch
from gpudoctor.wordings import CUDA_START

# The wheels that run on every driver of the same major version.
WHEELS = {13: "cu130", 12: "cu126", 11: "cu118"}
OLDEST = {
    (13, 0): "580",
    (12, 0): "525",
    (11, 0): "450.36.06",
    (10, 2): "440.33",
    (10, 1): "418.39",
    (10, 0): "410.48",
    (9, 2): "396.26",
    (9, 1): "390.46",
    (9, 0): "384.81",
    (8, 0): "367.48",
}
"""The oldest driver (Linux) of each CUDA from that version on: since 11, of the whole major version. From the table of
minor version compatibility and from the CUDA release notes."""
OLDEST_ON_WINDOWS = {
    (13, 0): "580",
    (12, 0): "527.41",
    (11, 1): "452.39",
    (11, 0): "451.22",
    (10, 2): "441.22",
    (10, 1): "418.96",
    (10, 0): "411.31",
    (9, 2): "397.44",
    (9, 1): "390.77",
    (9, 0): "385.54",
    (8, 0): "369.30",
}
"""The same on Windows, whose driver serves WSL too."""
NVML_MISMATCH = 18  # NVML_ERROR_LIB_RM_VERSION_MISMATCH
CUDA_MISMATCH = 803  # CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
INDEX = "https://download.pytorch.org/whl/"

DRIVER = Fix(
    "Install a newer driver: 580 or later runs every current wheel (on Ubuntu; elsewhere its package)",
    "sudo apt install nvidia-driver-580-server && sudo reboot",
    Kind.ADMIN,
)
WHEEL = Fix(
    "Take a wheel for this driver, cu126 from driver 525 on, and torchvision (and torchaudio) with it",
    f"python -m pip install --force-reinstall torch torchvision --index-url {INDEX}cu126",
)
EARLIER = Fix("Take an earlier release of the image", "docker run --gpus all IMAGE")
COMPATIBILITY = Fix(
    "On data centre GPUs: NVIDIA's forward compatibility libraries take the place of the newer driver, untested by torch",
    "export LD_LIBRARY_PATH=/usr/local/cuda-13.0/compat:$LD_LIBRARY_PATH",
    Kind.MITIGATION,
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"NVIDIA driver on your system is too old(?: \(found version (?P<found>\d+)\))?",
        r"^(?:[a-zA-Z]{1,6} ){0,3}system is too old \(found version (?P<found>\d+)\)",  # its end alone
        Symptom(
            r"CUDA driver version is insufficient for CUDA runtime version|cudaErrorInsufficientDriver",
            unless=r"CUDA driver is a stub library|couldn't communicate with the NVIDIA driver|Found no NVIDIA driver",
        ),
        r"Insufficient driver: (?P<found>\d+) < (?P<needed>\d+)",
        r"unsatisfied condition: (?P<condition>(?:cuda|driver|brand) ?[<>=][^,:]{1,80})",
        Symptom(
            r"container was built for NVIDIA Driver Release (?P<wanted>[\d.]+) or later",
            near=r"version (?P<installed>\d[\d.]+) was detected and compatibility mode is UNAVAILABLE",
        ),
        r"provided PTX was compiled with an unsupported toolchain|CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        r"Unsupported \.version (?P<ptx>[\d.]+); current version is '[\d.]+'",
        r"NVRM: installed in this system is not supported by the",
        rf"{CUDA_START}35\b",
        r"cuda runtime error \(35\)(?! ?:)",  # the number alone
        r"NVIDIA driver's CUDA version is (?P<cuda>[\d.]+) which is older than",
    ],
    fixes=[WHEEL, DRIVER, COMPATIBILITY],
    no_reproduction="needs a GPU with an old driver",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say what the driver is too old for: an image, a GPU, a kernel, or the CUDA version of torch."""
    groups = sighting.groups
    fixes: list[Fix] | None
    if groups.get("found") == "0":
        return
    if "condition" in groups:
        message = f"the image wants {groups['condition'].strip()}, and the host's driver is older"
        fixes = [EARLIER, DRIVER]
    elif "wanted" in groups:
        wanted, installed = groups["wanted"], groups["installed"]
        message = f"the image wants driver {wanted} or later, and the host has {installed}"
        fixes = [EARLIER, DRIVER]
    elif "NVRM: installed" in sighting.line:
        message = "this GPU is newer than the driver, which does not support it"
        fixes = [DRIVER]
    elif "PTX" in sighting.line or "ptx" in groups:
        why = "the driver cannot translate it"
        message = f"a kernel was compiled by a CUDA version newer than the driver's: {why}"
        fixes = None
    else:
        message, fixes = _supported(groups), _fixes(groups.get("found"))
    yield check.found(message, fixes=fixes)


def _supported(groups: Mapping[str, str]) -> str:
    """Say which CUDA version the driver supports, and which is needed."""
    version = _version(groups["found"]) if "found" in groups else groups.get("cuda")
    if not version:
        than = "than the one torch is built with"
        return f"the driver supports an older CUDA version {than}: no GPU can be used"
    needed = "torch is built for a newer one"
    if "needed" in groups:
        needed = f"CUDA {_version(groups['needed'])} is needed"
    return f"the driver supports CUDA {version} at most, and {needed}: no GPU can be used"


def _version(number: str) -> str:
    """Return 12020 as 12.2."""
    return f"{int(number) // 1000}.{int(number) % 1000 // 10}"


def _fixes(found: str | None) -> list[Fix] | None:
    """Return the fixes with the wheel that this driver runs; ``None`` where its CUDA version is not known."""
    if found is None:
        return None
    wheel = WHEELS.get(int(found) // 1000)
    if wheel is None:
        return [DRIVER, COMPATIBILITY]
    command = f"python -m pip install --force-reinstall torch torchvision --index-url {INDEX}{wheel}"
    summary = f"Take a wheel that this driver runs ({wheel}), and torchvision (and torchaudio) with it"
    return [Fix(summary, command), DRIVER, COMPATIBILITY]


@check.environment
def environment(
    torch: Torch,
    driver: Driver | None,
    gpus: Gpus | None,
    cuda: Cuda | None,
    host: Host | None,
    python: Python | None,
    distributions: Distributions | None,
) -> Iterator[Finding]:
    """The driver is older than the oldest that torch's CUDA runs on, or torch says so."""
    built = torch.cuda
    if built is None or torch.hip or torch.cuda_available:
        return
    said = [text for text in (*torch.warnings, torch.cuda_error and torch.cuda_error.message) if text]
    refused = [text for text in said if "driver on your system is too old" in text]
    version = _loaded(gpus, driver, cuda)
    newest = (cuda and cuda.version) or (gpus and gpus.cuda_version) or None
    if version is None and newest is None and not refused:
        if driver is not None and not driver.loaded:
            return  # without a driver nothing is too old
        raise CannotTell("neither the driver's version nor the CUDA version that it supports is known")
    # nvidia-smi of Linux shows the driver of Windows
    wsl = bool((host and host.wsl) or (driver and driver.dxg))
    table = OLDEST_ON_WINDOWS if wsl or (host and host.system == "Windows") else OLDEST
    needed = _needed(built, table)
    if not refused and not _below(built, needed, None if wsl and newest else version, newest):
        return
    if cuda and cuda.init == 0 and "/compat/" in (cuda.library or ""):
        return
    has = [f"driver {version}"] if version else []
    has += [f"CUDA {newest} at most"] if newest else []
    wants = (
        f"torch is built for CUDA {built}, which needs driver {needed or 'of its own age'} or later, and here is"
        if built
        else "torch says that the driver is too old for the CUDA that it is built for, and here is"
    )
    yield check.found(
        f"{wants} {' with '.join(has) or 'an older one'}: no GPU can be used",
        evidence=[Evidence(text) for text in refused[:1]],
        fixes=_install(version, newest, python or Python(), distributions),
    )


def _loaded(gpus: Gpus | None, driver: Driver | None, cuda: Cuda | None) -> str | None:
    """Return the driver's version; ``None`` where it is not known, or that of a module that the next restart replaces.

    With driver-library-mismatch the library is the driver that was installed last: its CUDA version is what counts.
    """
    if (gpus and gpus.error_code == NVML_MISMATCH) or (cuda and cuda.init == CUDA_MISMATCH):
        return None
    return (gpus and gpus.driver_version) or (driver and (driver.version or driver.module_version)) or None


def _below(built: str, needed: str | None, version: str | None, newest: str | None) -> bool:
    """Return whether a driver is too old; by the CUDA version that it names where its own version is not known."""
    if version is not None:
        return needed is not None and _numbers(version) < _numbers(needed)
    return newest is not None and _numbers(newest)[:1] < _numbers(built)[:1]


def _needed(built: str, table: Mapping[tuple[int, int], str]) -> str | None:
    """Return the oldest driver that a CUDA version runs on; ``None`` for one that the table does not know."""
    numbers = _numbers(built)
    known = [version for version in table if version <= numbers and (version[0] == numbers[0])]
    return table[max(known)] if known else None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())


def _install(
    version: str | None, newest: str | None, python: Python, distributions: Distributions | None
) -> list[Fix]:
    """Return the fixes, with the wheel that this driver runs where there is one."""
    runs = [
        major for (major, _), oldest in OLDEST.items() if version and _numbers(version) >= _numbers(oldest)
    ]
    major = max(runs) if runs else _numbers(newest)[0] if newest else None
    wheel = WHEELS.get(major) if major else None
    if wheel is None:
        return [DRIVER, COMPATIBILITY]
    plain = python.install_command("torch torchvision", distributions, reinstall=True)
    command = f"{plain} --index-url {INDEX}{wheel}"
    if plain.startswith("uv "):
        command = plain.replace("--torch-backend=auto", f"--torch-backend={wheel}")
    summary = f"Take a wheel that this driver runs ({wheel}), and torchvision (and torchaudio) with it"
    return [Fix(summary, command), DRIVER, COMPATIBILITY]

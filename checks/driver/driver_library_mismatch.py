"""The driver's libraries and its loaded kernel module are of different versions.

## What happens

`nvidia-smi` says "Failed to initialize NVML: Driver/library version mismatch"; the kernel log has "API mismatch: the
client has the version 535.171.04, but this kernel module has the version 535.161.07". CUDA says "Error 803: system has
unsupported display driver / cuda driver combination". Jobs that were started before go on; new ones find no GPU.

## Why

The driver's packages were upgraded, often by unattended upgrades, while the old module stays in the kernel until it is
unloaded. Or there are two installations (a .run file and packages). In a container: the image brings libraries
of the driver itself, or the container is older than the host's upgrade.

## How to tell

`cat /proc/driver/nvidia/version` is the module that is loaded; `ls -l /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.*
/usr/lib/x86_64-linux-gnu/libcuda.so.*` are the libraries. `sudo dmesg | grep 'API mismatch'` names both versions. If
`LD_LIBRARY_PATH` has a `compat` folder, take that out first.

## See also

- [NVIDIA driver installation guide](https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/): the packages of each distribution
- [nvidia-container-toolkit 394](https://github.com/NVIDIA/nvidia-container-toolkit/issues/394): the same in Docker
"""

import re
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Cuda, Driver, Gpus
from gpudoctor.wordings import CUDA_START

VERSION = r"\d+\.[\d.]*\d"
NVML_MISMATCH = 18  # NVML_ERROR_LIB_RM_VERSION_MISMATCH
CUDA_MISMATCH = 803  # CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
NAMED = re.compile(r"libcuda\.so\.(\d{3,}\.\d+(?:\.\d+)?)$")

check = Check(
    severity=Severity.ERROR,
    words_stand=True,
    symptoms=[
        Symptom(r"Driver/library version mismatch", near=rf"NVML library version: (?P<client>{VERSION})"),
        r"[Dd]river/library version mismatch",
        r"NVMLError_LibRmVersionMismatch|ERROR_LIB_RM_VERSION_MISMATCH|RM has detected an NVML/RM version mismatch",
        Symptom(
            rf"API mismatch: the client has the version (?P<client>{VERSION})",
            near=rf"this kernel module has the version (?P<module>{VERSION})",
        ),
        rf"API mismatch: the client has (?:the )?version (?P<client>{VERSION})",
        Symptom(  # since 595
            r"API mismatch: the client '.{1,64}' \(pid \d+\)",
            near=rf"has the version (?P<client>{VERSION}), but this kernel module has[\s\S]{{0,80}}?the version (?P<module>{VERSION})",
        ),
        rf"nvidia-\w+: `?Version mismatch: nvidia\.ko\((?P<one>{VERSION})\) (?P<part>nvidia-\w+\.ko)\((?P<other>{VERSION})\)",
        r"system has unsupported display driver / cuda driver combination",
        r"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|cudaErrorSystemDriverMismatch",
        rf"{CUDA_START}803\b",
        r"\[803\] Call to cuInit results in",  # numba
        rf"kernel version (?P<module>{VERSION}) does not match DSO version (?P<client>{VERSION})",
    ],
    message="the driver's libraries[ (<client>)] and its loaded kernel module[ (<module>)] are of different versions"
    "[, so are its modules: <part> is of <other>, nvidia.ko of <one>]: no new process can use a GPU",
    fixes=[
        Fix("See both versions", "cat /proc/driver/nvidia/version; ls -l /usr/lib/*/libnvidia-ml.so.*"),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and both versions",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "In a container: take the driver's libraries out of the image, and create it again after an upgrade",
            "docker run --gpus all IMAGE",
        ),
        Fix("Restart the machine, which loads the module of the libraries", "sudo reboot", Kind.ADMIN),
        Fix(
            "Or load it without a restart, once nothing uses a GPU (sudo lsof /dev/nvidia*); NVSwitch systems need their "
            "fabric manager back, or the next error is 802",
            "sudo systemctl stop nvidia-persistenced nvidia-fabricmanager nvidia-dcgm; "
            "sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && sudo modprobe nvidia; "
            "sudo systemctl start nvidia-persistenced nvidia-fabricmanager nvidia-dcgm",
            Kind.ADMIN,
        ),
        Fix(
            "Keep upgrades from doing it again",
            "sudo apt-mark hold $(dpkg-query -W -f '${Package}\\n' 'nvidia-driver-*' 'libnvidia-*')",
            Kind.ADMIN,
        ),
    ],
    no_reproduction="needs a GPU whose driver was upgraded without a restart",
)


@check.environment
def environment(gpus: Gpus | None, cuda: Cuda | None, driver: Driver | None) -> Iterator[Finding]:
    """NVML or CUDA say so, or the library's file is of another version than the module, and CUDA does not start."""
    if gpus is None and cuda is None:
        raise CannotTell("neither NVML nor the CUDA driver library was asked")
    module = driver and (driver.version or driver.module_version)
    library = cuda.library if cuda and cuda.library else ""
    named = NAMED.search(library)
    other = named[1] if named and module and named[1] != module and "/compat/" not in library else None
    evidence = [Evidence(module, "/proc/driver/nvidia/version")] if module else []
    if named:
        evidence.append(Evidence(named[1], library))
    starts = cuda is not None and cuda.init == 0
    if gpus is not None and gpus.error_code == NVML_MISMATCH:
        says = f"NVML says {gpus.error or 'Driver/library version mismatch'}"
    elif cuda is not None and cuda.init == CUDA_MISMATCH and "/compat/" not in library:
        says = "CUDA says that driver and library do not go together (error 803)"
    elif other and not starts and not (gpus and gpus.devices):
        says = f"the library is of version {other}"
    else:
        return
    loaded = f", and the module that is loaded is of version {module}" if module else ""
    yield check.found(f"{says}{loaded}: no new process can use a GPU", evidence=evidence)

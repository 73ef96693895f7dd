"""CUDA numbers the GPUs differently from nvidia-smi.

## What happens

`CUDA_VISIBLE_DEVICES=1` gives another card than GPU 1 of `nvidia-smi`: the small one runs out of memory, the large one
idles, or two jobs meet on one card.

## Why

Without `CUDA_DEVICE_ORDER`, CUDA puts the GPU that it takes for the fastest first; `nvidia-smi` and NVML go by the
address on the PCI bus. With GPUs of one model both are the same.

## How to tell

Compare `nvidia-smi -L` with
`python -c "import torch; print([torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())])"`.

## See also

- [CUDA's environment variables](https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html): `CUDA_DEVICE_ORDER`
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Severity
from gpudoctor.facts import Gpu, Gpus, Launch, Pci, Torch

NAME = "CUDA_DEVICE_ORDER"
BY_BUS = "PCI_BUS_ID"
ORDERS = ("FASTEST_FIRST", BY_BUS)

check = Check(
    severity=Severity.WARNING,
    otherwise="an error where CUDA_VISIBLE_DEVICES then means other GPUs, a note for a value that CUDA does not know",
    fixes=[Fix("Have CUDA number them as nvidia-smi does", f"export {NAME}={BY_BUS}")],
    no_reproduction="needs 2 GPUs of different kinds",
)


@check.environment
def environment(launch: Launch, gpus: Gpus | None, torch: Torch | None, pci: Pci | None) -> Iterator[Finding]:
    """GPUs of several models, and CUDA's order is another than that of the bus; or a value that CUDA does not know."""
    names = [gpu.name for gpu in gpus.read if gpu.name] if gpus else []  # one that does not answer has none
    value = launch.variables.get(NAME, BY_BUS)
    if len(set(names)) < 2 and value not in ORDERS:
        message = f"{NAME} is {value or '(empty)'}, and CUDA knows {' and '.join(ORDERS)} alone"
        yield check.found(message, severity=Severity.NOTE)
        return
    if gpus is None or gpus.silence(pci):
        raise CannotTell("gpus: not in this report" if gpus is None else gpus.silence(pci))
    if len(set(names)) < 2 or launch.variables.get(NAME) == BY_BUS:
        return
    visible = launch.variables.get("CUDA_VISIBLE_DEVICES")
    order = launch.variables.get(NAME, "unset")
    fastest = _fastest_first(gpus.read)
    chosen = [gpu.name for gpu in gpus.chosen(visible)]
    by_number = visible is not None and any(entry.strip().isdecimal() for entry in visible.split(","))
    seen = [device.name for device in torch.devices] if torch else []
    if by_number:
        picked = seen or [
            fastest[int(e)].name
            for e in (visible or "").split(",")
            if e.strip().isdecimal() and int(e) < len(fastest)
        ]
        if sorted(picked) != sorted(chosen):
            message = (
                f"{NAME} is {order}, so CUDA_VISIBLE_DEVICES={visible} means {', '.join(picked)} to CUDA, and "
                f"{', '.join(chosen)} by the numbers of nvidia-smi: the job runs on other GPUs than meant"
            )
            yield check.found(message, severity=Severity.ERROR)
        return
    first = seen or [gpu.name for gpu in fastest]
    if visible is None and first != names:
        message = f"{NAME} is {order}: GPU 0 is {first[0]} to CUDA, and {names[0]} to nvidia-smi, so one number means two GPUs"
        yield check.found(message)


def _fastest_first(gpus: list[Gpu]) -> list[Gpu]:
    """Return the GPUs by CUDA's guess of their speed, as far as capability and memory tell it."""

    def speed(gpu: Gpu) -> tuple[float, int]:
        return float(gpu.capability or 0), gpu.memory_bytes or 0

    return sorted(gpus, key=speed, reverse=True)

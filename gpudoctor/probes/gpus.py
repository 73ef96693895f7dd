"""Ask NVML for the GPUs. A driver that hangs hangs here: this runs in a process of its own, with a deadline."""

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

from gpudoctor.facts import Gpu, Gpus

COMPUTE_MODES = {0: "default", 2: "prohibited", 3: "exclusive_process"}
# nvmlReturn_t: what a GPU simply does not have (3 NOT_SUPPORTED, 25 DEPRECATED), or an old library does not know
# (13 FUNCTION_NOT_FOUND), is no error; neither are 2 INVALID_ARGUMENT (a link number) and 6 NOT_FOUND.
NO_FAULT = {2, 3, 6, 13, 25}
NVLINKS_MOST = 18  # NVML_NVLINK_MAX_LINKS

Ask = Callable[[str, Callable[[], Any]], Any]
"""Give the answer of an NVML call that is named for a reader, or ``None``."""


def probe() -> Gpus:
    """Read all devices; a library that cannot be initialised is a fact, in NVML's own words."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return Gpus(error=str(error), error_code=error.value)
    try:
        version = pynvml.nvmlSystemGetCudaDriverVersion_v2()
        return Gpus(
            driver_version=_text(pynvml.nvmlSystemGetDriverVersion()),
            cuda_version=f"{version // 1000}.{version % 1000 // 10}",
            devices=[_gpu(pynvml, index) for index in range(pynvml.nvmlDeviceGetCount())],
        )
    except pynvml.NVMLError as error:
        return Gpus(error=str(error), error_code=error.value)
    finally:
        with contextlib.suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def _gpu(nvml: Any, index: int) -> Gpu:
    errors: list[str] = []

    def ask(what: str, call: Callable[[], Any]) -> Any:
        """Give a call's answer; `None` where the GPU has no such thing; a failure is kept by name."""
        try:
            return call()
        except nvml.NVMLError as error:
            if error.value not in NO_FAULT:
                errors.append(f"{what}: {error}")
            return None

    handle = ask("handle", lambda: nvml.nvmlDeviceGetHandleByIndex(index))
    if handle is None:
        return Gpu(index=index, errors=errors)
    capability = ask("capability", lambda: nvml.nvmlDeviceGetCudaComputeCapability(handle))
    memory = ask("memory", lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
    pci = ask("PCI", lambda: nvml.nvmlDeviceGetPciInfo(handle))
    mig = ask("MIG mode", lambda: nvml.nvmlDeviceGetMigMode(handle))
    return Gpu(
        index=index,
        name=_text(ask("name", lambda: nvml.nvmlDeviceGetName(handle))),
        uuid=_text(ask("UUID", lambda: nvml.nvmlDeviceGetUUID(handle))),
        capability=f"{capability[0]}.{capability[1]}" if capability else None,
        memory_bytes=memory.total if memory else None,
        memory_used_bytes=memory.used if memory else None,
        pci_address=_pci_address(_text(pci.busId)) if pci else "",
        pcie_generation=ask("PCIe", lambda: nvml.nvmlDeviceGetCurrPcieLinkGeneration(handle)),
        pcie_generation_max=ask("PCIe", lambda: nvml.nvmlDeviceGetMaxPcieLinkGeneration(handle)),
        pcie_width=ask("PCIe", lambda: nvml.nvmlDeviceGetCurrPcieLinkWidth(handle)),
        pcie_width_max=ask("PCIe", lambda: nvml.nvmlDeviceGetMaxPcieLinkWidth(handle)),
        nvlinks_active=_nvlinks(nvml, handle, ask),
        mig=bool(mig[0]) if mig else None,
        mig_uuids=_mig_uuids(nvml, handle, ask) if mig and mig[0] else [],
        compute_mode=COMPUTE_MODES.get(ask("compute mode", lambda: nvml.nvmlDeviceGetComputeMode(handle))),
        temperature_celsius=ask("temperature", lambda: nvml.nvmlDeviceGetTemperature(handle, 0)),
        errors=list(dict.fromkeys(errors)),
    )


def _nvlinks(nvml: Any, handle: Any, ask: Ask) -> int | None:
    states = [ask("NVLink", partial(nvml.nvmlDeviceGetNvLinkState, handle, n)) for n in range(NVLINKS_MOST)]
    known = [state for state in states if state is not None]
    return sum(1 for state in known if state) if known else None


def _mig_uuids(nvml: Any, handle: Any, ask: Ask) -> list[str]:
    uuids = []
    for n in range(ask("MIG", partial(nvml.nvmlDeviceGetMaxMigDeviceCount, handle)) or 0):
        instance = ask("MIG", partial(nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, n))
        if instance is not None:
            uuids.append(_text(ask("MIG", partial(nvml.nvmlDeviceGetUUID, instance))))
    return uuids


def _pci_address(bus_id: str) -> str:
    """Write NVML's ``00000000:3B:00.0`` as the kernel does: ``0000:3b:00.0``."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{domain[-4:]}:{rest}" if rest else bus_id.lower()


def _text(value: str | bytes | None) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value or ""

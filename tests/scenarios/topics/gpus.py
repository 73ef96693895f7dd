"""What NVML answers on a healthy machine."""

from gpudoctor.facts import Gpu, GpuPair, Gpus, NvLink, RemappedRows
from tests.scenarios.machine import GIB, Machine, Model

HOPPER = ("9.0", "10.0", "10.3")


def address(n: int) -> str:
    """Return the PCI address of the n-th GPU."""
    return f"0000:{0x0A + 0x10 * n:02x}:00.0"


def facts(machine: Machine) -> Gpus:
    """Return idle GPUs without a blemish, or what NVML says where there is none."""
    if not machine.models:
        return Gpus(error="NVML Shared Library Not Found", error_code=12)
    return Gpus(
        driver_version=machine.driver,
        cuda_version=machine.cuda_driver,
        confidential=False,
        devices=[_gpu(machine, n, model) for n, model in enumerate(machine.models)],
        pairs=[
            GpuPair(first=a, second=b, path=_path(machine, a, b), p2p=_p2p(machine))
            for a in range(len(machine.models))
            for b in range(a + 1, len(machine.models))
        ],
    )


def _path(machine: Machine, a: int, b: int) -> str:
    if machine.model.nvlinks and (machine.fabric if machine.model.switched else machine.bridged):
        return f"NV{machine.model.nvlinks}"
    half = max(len(machine.models) // 2, 1)
    same = machine.sockets == 1 or a // half == b // half
    return "PHB" if same else "SYS"


def _p2p(machine: Machine) -> str:
    if machine.model.nvlinks and (machine.fabric if machine.model.switched else machine.bridged):
        return "OK"
    return "CNS" if "GeForce" in machine.model.name else "OK"


def _gpu(machine: Machine, n: int, model: Model) -> Gpu:
    linked = machine.fabric if model.switched else machine.bridged
    links = [
        NvLink(link=i, active=linked, replay_errors=0, recovery_errors=0, crc_errors=0)
        for i in range(model.nvlinks)
    ]
    datacentre = not model.display
    return Gpu(
        index=n,
        name=model.name,
        uuid=f"GPU-{n:08x}-1111-2222-3333-444444444444",
        capability=model.capability,
        memory_bytes=model.memory * GIB,
        memory_used_bytes=GIB // 2,
        memory_reserved_bytes=GIB // 2,
        pci_address=address(n),
        # An idle link falls back to a low generation.
        pcie_generation=model.pcie if datacentre else 1,
        pcie_generation_max=model.pcie,
        pcie_width=machine.lanes,
        pcie_width_max=machine.lanes,
        pcie_replays=0,
        nvlinks=[] if machine.wsl else links,
        nvlinks_active=(len(links) if linked else 0) if links and not machine.wsl else None,
        mig=bool(machine.mig) if datacentre and model.remaps_rows else None,
        mig_pending=bool(machine.mig) if datacentre and model.remaps_rows else None,
        mig_uuids=[f"MIG-{n:04x}{i:04x}-1111-2222-3333-444444444444" for i in range(machine.mig)],
        compute_mode="default",
        persistence=datacentre and not machine.wsl,
        temperature_celsius=33,
        temperature_margin_celsius=54,
        temperature_slowdown_celsius=87,
        memory_temperature_celsius=40 if model.memory >= 80 else None,
        memory_temperature_max_celsius=95 if model.memory >= 80 else None,
        throttle_reasons=["gpu_idle"],
        utilization_percent=0,
        power_watts=model.watts * 0.1,
        power_limit_watts=model.watts,
        power_limit_default_watts=model.watts,
        power_limit_max_watts=model.watts,
        sm_clock_mhz=345,
        sm_clock_max_mhz=1980,
        sm_clock_application_mhz=1980 if datacentre and model.capability not in HOPPER else None,
        sm_clock_application_default_mhz=1980 if datacentre and model.capability not in HOPPER else None,
        ecc=True if model.ecc and datacentre else None,
        ecc_pending=True if model.ecc and datacentre else None,
        ecc_corrected=0 if model.ecc and datacentre else None,
        ecc_uncorrected=0 if model.ecc and datacentre else None,
        ecc_uncorrected_aggregate=0 if model.ecc and datacentre else None,
        sram_uncorrected_aggregate=0 if model.remaps_rows and datacentre else None,
        sram_threshold_exceeded=False if model.remaps_rows and datacentre else None,
        remapped_rows=RemappedRows(banks_low=0, banks_none=0) if model.remaps_rows and datacentre else None,
        retired_pages=0 if model.ecc and not model.remaps_rows else None,
        retired_pages_pending=False if model.ecc and not model.remaps_rows else None,
        recovery_action="none" if datacentre else None,
        inforom="valid" if datacentre else None,
        vbios="96.00.74.00.1A",
        board_part="692-2G520-0200-000" if datacentre else "",
        gsp_firmware=datacentre,
        fabric_state="completed" if model.switched and model.capability in HOPPER else "not_supported",
        fabric_status=0 if model.switched and model.capability in HOPPER else None,
        processes=[],
    )

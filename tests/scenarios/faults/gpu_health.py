"""Single GPUs that fail, run hot, or are set so that training suffers."""

from msgspec.structs import replace

from gpudoctor.facts import GpuProcess, KernelEvent, KernelLog, RemappedRows, TorchDevice
from gpudoctor.snapshot import Snapshot
from tests.scenarios import machine as models
from tests.scenarios.fault import Change, Fault, Variant, both, edit, gpu, put, variables

GIB = 1024**3
NOTHING = {
    "name": "",
    "uuid": "",
    "pci_address": "",
    "capability": None,
    "memory_bytes": None,
    "memory_used_bytes": None,
    "nvlinks": [],
    "nvlinks_active": None,
    "processes": None,
    "remapped_rows": None,
    "throttle_reasons": None,
}
"""What NVML tells of a GPU that gives no answer."""


def lost(index: int) -> Change:
    """Lose a GPU: its handle is refused."""
    return gpu(index, **NOTHING, lost=True, handle_code=15, errors=["handle: GPU is lost"])


def rows(**fields: object) -> dict[str, RemappedRows]:
    """Return the remapped rows of one GPU."""
    return {"remapped_rows": RemappedRows(banks_low=0, banks_none=0, **fields)}  # type: ignore[arg-type]


def held(pid: int, gib: float, *, name: str | None = "python", own: bool = False) -> dict[str, object]:
    """Return a process that holds memory, and what NVML then counts as used."""
    size = int(gib * GIB)
    return {
        "processes": [GpuProcess(pid=pid, memory_bytes=size, name=name, own=own)],
        "memory_used_bytes": size + GIB // 2,
    }


def xid(code: int, text: str, address: str = "0000:2a:00.0") -> Change:
    """Put an Xid into the kernel's log."""
    event = KernelEvent(kind="xid", code=code, pci_address=address, text=text)
    return put(kernel_log=KernelLog(source="/dev/kmsg", events=[event]))


def other_model(index: int, model: models.Model) -> Change:
    """Put a GPU of another model in the place of one, for NVML and for torch, which keeps NVML's order here."""
    change = gpu(
        index,
        name=model.name,
        capability=model.capability,
        memory_bytes=model.memory * GIB,
        vbios="90.17.A9.00.0C",
    )

    def seen(snapshot: Snapshot) -> Snapshot:
        def named(devices: list[TorchDevice]) -> list[TorchDevice]:
            return [replace(d, name=model.name) if d.ordinal == index else d for d in devices]

        return edit("torch", devices=named)(snapshot)

    return both(change, seen)


def torch_order(*names: str) -> Change:
    """Give torch's devices these names, in CUDA's order."""
    return edit("torch", devices=[TorchDevice(ordinal=n, name=name) for n, name in enumerate(names)])


H, A, V, T = "board-8xh100", "board-8xa100", "server-8xv100-cuda12", "server-4xt4"
MIXED = other_model(1, models.RTX_3090)

FAULTS = [
    # A colleague's check of the counts may see that one is missing, too.
    Fault(
        "gpu-lost", H, lost(3), "gpu-fell-off-bus", also=("gpu-missing",), says="GPU 3 of 8 does not answer"
    ),
    Fault(
        "two-gpus-lost",
        A,
        both(lost(0), lost(7)),
        "gpu-fell-off-bus",
        also=("gpu-missing",),
        says="GPUs 0,7 of 8",
    ),
    Fault(
        "gpu-lost-after-its-handle",
        "server-8xl40s",
        gpu(5, lost=True, errors=["temperature: GPU is lost"]),
        "gpu-fell-off-bus",
        also=("gpu-missing",),
    ),
    Fault(
        "gpu-handle-unknown-error",
        T,
        gpu(2, **NOTHING, handle_code=999, errors=["handle: Unknown Error"]),
        "gpu-fell-off-bus",
        also=("gpu-missing",),
    ),
    Fault(
        "gpu-lost-in-a-ticket",
        T,
        gpu(2, **NOTHING, errors=["GPU is lost"]),
        "gpu-fell-off-bus",
        also=("gpu-missing",),
    ),
    Fault(
        "xid-79-in-the-kernel-log",
        H,
        xid(79, "NVRM: Xid (PCI:0000:2a:00): 79, GPU has fallen off the bus."),
        "gpu-fell-off-bus",
        also=("gpu-xid",),
        says="answers again",
    ),
    Fault(
        "reset-required",
        H,
        gpu(2, reset_required=True, errors=["memory: GPU requires restart"]),
        "gpu-reset-required",
    ),
    Fault(
        "recovery-reset",
        H,
        gpu(2, recovery_action="gpu_reset"),
        "gpu-reset-required",
        says="a reset of the GPU",
    ),
    Fault("recovery-drain-and-reset", H, gpu(2, recovery_action="drain_and_reset"), "gpu-reset-required"),
    Fault("recovery-reboot", H, gpu(4, recovery_action="node_reboot"), "gpu-reset-required", says="a reboot"),
    Fault(
        "recovery-system-reboot",
        "board-8xb200",
        gpu(4, recovery_action="system_reboot"),
        "gpu-reset-required",
    ),
    Fault("recovery-bus-reset", "board-8xb200", gpu(4, recovery_action="bus_reset"), "gpu-reset-required"),
    Fault(
        "recovery-unknown-action", "board-8xb200", gpu(4, recovery_action="action 9"), "gpu-reset-required"
    ),
    Fault(
        "recovery-drain-p2p",
        H,
        gpu(None, recovery_action="drain_p2p"),
        "gpu-reset-required",
        says="all 8 GPUs",
    ),
    Fault(
        "ecc-uncorrected",
        H,
        gpu(6, ecc_uncorrected=2, ecc_uncorrected_aggregate=2),
        "gpu-ecc-error",
        says="GPU 6",
    ),
    Fault("ecc-uncorrected-v100", V, gpu(0, ecc_uncorrected=1), "gpu-ecc-error", says="1 memory error"),
    Fault(
        "sram-threshold",
        H,
        gpu(1, sram_threshold_exceeded=True, sram_uncorrected_aggregate=11),
        "gpu-ecc-error",
        says="GPU 1",
    ),
    Fault(
        "ecc-and-what-follows",
        A,
        gpu(3, ecc_uncorrected=1, recovery_action="gpu_reset", **rows(uncorrectable=1, pending=True)),
        "gpu-ecc-error",
        also=("gpu-reset-required", "gpu-row-remap-pending"),
    ),
    Fault(
        "xid-95-in-the-kernel-log",
        H,
        xid(95, "NVRM: Xid (PCI:0000:2a:00): 95, pid=1, name=python, Uncontained"),
        "gpu-ecc-error",
        also=("gpu-xid",),
    ),
    Fault(
        "xid-48-in-the-kernel-log",
        T,
        both(gpu(2, ecc_uncorrected=None), xid(48, "NVRM: Xid (PCI:0000:2a:00): 48, DBE")),
        "gpu-ecc-error",
        also=("gpu-xid",),
    ),
    Fault("ecc-corrected-many", H, gpu(6, ecc_corrected=60_000_000), "gpu-ecc-error", note=True),
    Fault("row-remap-pending", H, gpu(0, **rows(correctable=1, pending=True)), "gpu-row-remap-pending"),
    Fault(
        "row-remap-pending-l4",
        "cloud-l4",
        gpu(0, **rows(uncorrectable=1, pending=True)),
        "gpu-row-remap-pending",
    ),
    Fault(
        "row-remap-failed",
        H,
        gpu(7, **rows(uncorrectable=8, failed=True)),
        "gpu-row-remap-failed",
        says="GPU 7",
    ),
    Fault(
        "row-remap-no-spare-bank",
        A,
        gpu(2, remapped_rows=RemappedRows(uncorrectable=8, banks_low=1, banks_none=1)),
        "gpu-row-remap-failed",
        says="1 bank",
    ),
    Fault("row-remap-many", A, gpu(2, **rows(uncorrectable=513)), "gpu-row-remap-failed", says="513 rows"),
    Fault(
        "retired-pages-pending", V, gpu(3, retired_pages=1, retired_pages_pending=True), "gpu-retired-pages"
    ),
    Fault("retired-pages-many", T, gpu(3, retired_pages=21), "gpu-retired-pages", says="21 pages"),
    Fault("retired-pages-full", V, gpu(3, retired_pages=63), "gpu-retired-pages", says="room for 64"),
    Fault("memory-unrepairable", "board-8xb200", gpu(5, memory_unrepairable=True), "gpu-memory-unrepairable"),
    Fault(
        "inforom-corrupt",
        A,
        gpu(1, inforom="corrupt", errors=["InfoROM: Corrupted infoROM"]),
        "gpu-inforom-corrupt",
    ),
    Fault(
        "throttled-by-hardware",
        H,
        gpu(4, throttle_reasons=["hw_slowdown"], sm_clock_mhz=345, utilization_percent=99),
        "gpu-throttled",
    ),
    Fault(
        "throttled-by-heat",
        A,
        gpu(
            4,
            throttle_reasons=["hw_slowdown", "hw_thermal_slowdown"],
            temperature_celsius=80,
            temperature_margin_celsius=7,
        ),
        "gpu-throttled",
        says="heat",
    ),
    Fault(
        "throttled-by-the-server",
        "server-8xl40s",
        gpu(None, throttle_reasons=["hw_power_brake_slowdown"]),
        "gpu-throttled",
        says="the server asks for less power",
    ),
    Fault("throttled-by-the-driver", T, gpu(1, throttle_reasons=["sw_thermal_slowdown"]), "gpu-throttled"),
    Fault(
        "hot-beyond-its-limit",
        H,
        gpu(2, temperature_celsius=90, temperature_margin_celsius=-3),
        "gpu-hot",
        says="3 °C above",
    ),
    Fault("hot-near-its-limit", T, gpu(2, temperature_celsius=84, temperature_margin_celsius=3), "gpu-hot"),
    Fault(
        "hot-and-throttled",
        A,
        gpu(
            2, temperature_celsius=88, temperature_margin_celsius=-1, throttle_reasons=["hw_thermal_slowdown"]
        ),
        "gpu-hot",
        also=("gpu-throttled",),
    ),
    Fault(
        "hot-without-a-limit",
        "board-8xb200",
        gpu(2, temperature_celsius=96, temperature_margin_celsius=None, temperature_slowdown_celsius=None),
        "gpu-hot",
    ),
    Fault(
        "hot-memory",
        H,
        gpu(2, memory_temperature_celsius=97, memory_temperature_max_celsius=95),
        "gpu-hot",
        says="memory",
    ),
    Fault("power-limited", H, gpu(None, power_limit_watts=500.0), "gpu-power-limited", says="500 W"),
    Fault(
        "power-limited-alone", A, gpu(5, power_limit_watts=250.0), "gpu-power-limited", says="all ranks wait"
    ),
    Fault(
        "application-clock", A, gpu(None, sm_clock_application_mhz=1200), "gpu-clocks-capped", says="1200 MHz"
    ),
    Fault(
        "clocks-locked-while-idle",
        H,
        gpu(3, throttle_reasons=["applications_clocks_setting"], sm_clock_mhz=1200),
        "gpu-clocks-capped",
        says="1200 of 1980",
    ),
    Fault(
        "clocks-locked-under-load",
        H,
        gpu(3, throttle_reasons=[], sm_clock_mhz=990, utilization_percent=100),
        "gpu-clocks-capped",
    ),
    Fault(
        "mixed-models",
        "workstation-2x4090",
        MIXED,
        "mixed-gpus",
        also=("device-order",),
        says="1 x NVIDIA GeForce RTX 3090",
    ),
    Fault("mixed-memory", A, gpu(7, memory_bytes=40 * GIB), "mixed-gpus", says="differ in memory"),
    Fault("mixed-ecc", A, gpu(7, ecc=False, ecc_pending=False), "mixed-gpus", says="ECC is off"),
    Fault(
        "mig-under-torchrun",
        "torchrun-rank",
        gpu(None, mig=True, mig_pending=True, mig_uuids=["MIG-1", "MIG-2"]),
        "mig-multi-gpu",
        says="8 ranks",
    ),
    Fault(
        "mig-without-instances", "mig-7-slices", gpu(None, mig_uuids=[]), "mig-multi-gpu", says="no instance"
    ),
    Fault(
        "mig-several-named",
        "mig-7-slices",
        variables(
            CUDA_VISIBLE_DEVICES="MIG-00000000-1111-2222-3333-444444444444,MIG-00000001-1111-2222-3333-444444444444"
        ),
        "mig-multi-gpu",
        says="names 2 MIG instances",
    ),
    Fault("mig-on-one-of-eight", A, gpu(2, mig=True, mig_uuids=["MIG-1"]), "mig-multi-gpu", says="off for 7"),
    Fault("vbios-differs", H, gpu(4, vbios="96.00.61.00.01"), "gpu-vbios-differs", says="2 versions"),
    Fault(
        "confidential-without-a-mode",
        H,
        edit("gpus", confidential=True, confidential_multi_gpu="none"),
        "gpu-confidential-mode",
    ),
    Fault("persistence-off", H, gpu(None, persistence=False), "persistence-mode-off", note=True),
    Fault("compute-prohibited", H, gpu(1, compute_mode="prohibited"), "gpu-busy", says="Prohibited"),
    Fault(
        "compute-exclusive-and-taken",
        T,
        gpu(
            0,
            compute_mode="exclusive_process",
            processes=[GpuProcess(pid=4711, memory_bytes=2**28, name="python")],
        ),
        "gpu-busy",
        says="admits one process",
    ),
    Fault("compute-exclusive", T, gpu(None, compute_mode="exclusive_process"), "gpu-busy", note=True),
    Fault("memory-held", H, gpu(0, **held(4711, 71)), "gpu-memory-held", says="71.0 GiB of GPU 0"),
    Fault("memory-held-everywhere", A, gpu(None, **held(4711, 30)), "gpu-memory-held", says="all 8 GPUs"),
    Fault("memory-held-a-little", T, gpu(0, **held(4711, 1.5, name=None)), "gpu-memory-held"),
    Fault(
        "memory-held-by-another-container",
        "container-2-of-8",
        gpu(1, memory_used_bytes=60 * GIB, processes=None),
        "gpu-memory-held",
        says="GPU 1",
    ),
    Fault(
        "device-order",
        "workstation-2x4090",
        both(
            MIXED,
            gpu(0, name=models.T4.name, memory_bytes=15 * GIB),
            torch_order("NVIDIA GeForce RTX 3090", "Tesla T4"),
        ),
        "mixed-gpus",
        also=("device-order",),
    ),
    Fault(
        "device-order-picks-another",
        "workstation-4x2080ti",
        both(
            gpu(0, name=models.T4.name, memory_bytes=15 * GIB),
            variables(CUDA_VISIBLE_DEVICES="1,2,3"),
            torch_order("NVIDIA GeForce RTX 2080 Ti", "NVIDIA GeForce RTX 2080 Ti", "Tesla T4"),
        ),
        "device-order",
        says="other GPUs than meant",
    ),
]

UNTOLD = dict.fromkeys(
    """persistence temperature_margin_celsius temperature_slowdown_celsius memory_temperature_celsius throttle_reasons
    power_limit_watts power_limit_default_watts sm_clock_mhz sm_clock_max_mhz sm_clock_application_mhz ecc
    ecc_uncorrected sram_threshold_exceeded remapped_rows retired_pages memory_unrepairable recovery_action inforom
    compute_mode mig processes gsp_firmware fabric_state""".split()
)
"""What NVML answers with NOT_SUPPORTED on one GPU or another."""
WORKING = {
    "utilization_percent": 100,
    "throttle_reasons": ["sw_power_cap"],
    "power_watts": 690.0,
    "sm_clock_mhz": 1410,
    "temperature_celsius": 71,
    "temperature_margin_celsius": 16,
}

VARIANTS = [
    Variant("nothing-supported", H, gpu(None, **UNTOLD)),
    Variant("nothing-supported-on-a-laptop", "wsl-4090", gpu(None, **UNTOLD)),
    Variant("not-my-gpus", "container-2-of-8", gpu(1, **NOTHING, handle_code=4)),
    Variant("own-training", H, gpu(None, **held(4711, 70, own=True), **WORKING)),
    Variant(
        "others-on-what-i-did-not-choose",
        "four-of-eight-chosen",
        both(*(gpu(n, **held(4711, 60)) for n in range(4))),
    ),
    Variant("idle-reserve", H, gpu(None, memory_used_bytes=7 * GIB // 10, memory_reserved_bytes=None)),
    Variant("desktop", "workstation-4090", gpu(0, memory_used_bytes=3 * GIB)),
    Variant(
        "desktop-on-a-laptop",
        "wsl-4090",
        gpu(0, memory_bytes=8 * GIB, memory_used_bytes=3 * GIB, processes=None),
    ),
    Variant(
        "services-on-the-gpu",
        A,
        gpu(None, processes=[GpuProcess(pid=900, memory_bytes=300 << 20, name="nv-hostengine")]),
    ),
    Variant("full-load", H, gpu(None, **{**WORKING, "processes": []})),
    Variant(
        "geforce-under-load-below-its-maximum",
        "workstation-2x4090",
        gpu(
            None,
            throttle_reasons=[],
            utilization_percent=100,
            sm_clock_mhz=2520,
            sm_clock_max_mhz=3105,
            pcie_generation=4,
        ),
    ),
    Variant(
        "t4-at-its-default-clock",
        T,
        gpu(
            None,
            throttle_reasons=["applications_clocks_setting"],
            sm_clock_mhz=585,
            sm_clock_max_mhz=1590,
            sm_clock_application_mhz=585,
            sm_clock_application_default_mhz=585,
        ),
    ),
    Variant("power-raised", "workstation-4090", gpu(0, power_limit_watts=600.0)),
    Variant("warm-under-load", T, gpu(None, temperature_celsius=78, temperature_margin_celsius=15)),
    Variant(
        "display-card-left-out",
        "workstation-4xa6000",
        both(
            other_model(0, models.T4),
            variables(CUDA_VISIBLE_DEVICES="1,2,3", CUDA_DEVICE_ORDER="PCI_BUS_ID"),
            edit("torch", device_count=3, devices=lambda old: old[1:]),
        ),
    ),
    Variant("cards-of-two-vendors", "workstation-2x4090", gpu(1, vbios="95.02.3C.40.B8")),
    Variant("rows-remapped-long-ago", A, gpu(3, **rows(correctable=2, uncorrectable=1))),
    Variant("few-retired-pages", V, gpu(3, retired_pages=4, ecc_uncorrected_aggregate=3)),
    Variant("protected-pcie", H, edit("gpus", confidential=True, confidential_multi_gpu="protected_pcie")),
    Variant(
        "confidential-one-gpu", "cloud-l4", edit("gpus", confidential=True, confidential_multi_gpu="none")
    ),
    Variant("exclusive-mode-of-a-cluster", "srun-rank", gpu(None, compute_mode="exclusive_process")),
    Variant("recovery-action-none-and-waiting-ecc-mode", A, gpu(None, ecc_pending=False)),
]

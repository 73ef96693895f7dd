"""One GPU as NVIDIA's management library (NVML) sees it."""

from msgspec import Struct

from gpudoctor.patterns import late_pattern

# As NVML names GPUs that are no cards: "Tesla V100-SXM2-32GB", "NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA B200",
# "NVIDIA H20", "NVIDIA GB200"; "NVIDIA H100 PCIe", "NVIDIA H200 NVL" and "NVIDIA GH200 480GB" are joined otherwise.
BOARD = late_pattern(r"SXM|HBM3\b|\b(?:H20|H[128]00|B[123]00|GB[23]00)\b(?! PCIe| NVL| 80GB HBM2e)")
NOT_FOUND = 6
THROTTLE_REASONS = (
    "gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost", "sw_thermal_slowdown",
    "hw_thermal_slowdown", "hw_power_brake_slowdown", "display_clock_setting",
)  # fmt: skip
"""``nvmlClocksEventReason*``, a bit each, in NVML's words."""


class NvLink(Struct, frozen=True, kw_only=True):
    """One NVLink of a GPU that has such a link: ``nvmlDeviceGetNvLinkState`` answered for it."""

    link: int
    active: bool
    remote: str = ""
    """PCI address of what is at its other end, such as ``0000:3b:00.0``; empty: not known."""
    replay_errors: int | None = None
    recovery_errors: int | None = None
    crc_errors: int | None = None
    """Flit CRC errors (NVML_NVLINK_ERROR_DL_CRC_FLIT); all counters since the driver was loaded."""
    recoveries_failed: int | None = None
    """How often it could not be set up anew (NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS); NVLink 5 alone."""


class RemappedRows(Struct, frozen=True, kw_only=True):
    """Row remapping of Ampere and newer (``nvmlDeviceGetRemappedRows``, ``...RowRemapperHistogram``)."""

    correctable: int = 0
    """Rows remapped because of correctable errors."""
    uncorrectable: int = 0
    """Rows remapped because of uncorrectable errors."""
    pending: bool = False
    """A row is remapped when the GPU is reset."""
    failed: bool = False
    """A row could not be remapped."""
    banks_low: int | None = None
    """Banks with few spare rows left."""
    banks_none: int | None = None
    """Banks with no spare row left."""


class GpuProcess(Struct, frozen=True, kw_only=True):
    """A process that holds a context on a GPU (``nvmlDeviceGetComputeRunningProcesses``)."""

    pid: int
    memory_bytes: int | None = None
    """``None``: NVML does not say (in containers, on WSL)."""
    name: str | None = None
    """The process's name, without its arguments; ``None``: it is outside this PID namespace or another user's."""
    own: bool = False
    """It belongs to the launch that is examined: gpudoctor, what it started, its ancestors, and where a launcher
    started it as a rank, the other ranks."""


class Gpu(Struct, frozen=True, kw_only=True):
    """One GPU. A value that its NVML call could not give is ``None``."""

    index: int
    """NVML's index: PCI bus order."""
    unnumbered: bool = False
    """A text does not show which number this GPU has; the index is none that NVML gave."""
    name: str = ""
    uuid: str = ""
    capability: str | None = None
    """CUDA compute capability, such as ``9.0``."""
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None
    """NVML's first memory call counts what the driver reserves: 0.3 to 0.7 GiB on an idle GPU."""
    memory_reserved_bytes: int | None = None
    """What the driver keeps for itself (``nvmlDeviceGetMemoryInfo_v2``)."""
    pci_address: str = ""
    """Such as ``0000:3b:00.0``."""
    pcie_generation: int | None = None
    """Of the link now; an idle link may show a low one."""
    pcie_generation_max: int | None = None
    pcie_width: int | None = None
    """Lanes of the link now."""
    pcie_width_max: int | None = None
    pcie_replays: int | None = None
    """``nvmlDeviceGetPcieReplayCounter``, since the driver was loaded."""
    nvlinks: list[NvLink] = []
    """Every link for which NVML gives a state; empty: this GPU has none, or NVML does not say."""
    nvlinks_active: int | None = None
    """Active NVLink links; ``None``: this GPU has none or NVML does not say."""
    mig: bool | None = None
    """MIG mode is on."""
    mig_pending: bool | None = None
    """MIG mode after the next reset."""
    mig_uuids: list[str] = []
    """UUIDs of its MIG instances."""
    compute_mode: str | None = None
    """``default``, ``exclusive_process`` or ``prohibited``."""
    persistence: bool | None = None
    """Persistence mode is on."""
    driver_model: str = ""
    """On Windows ``WDDM``, ``TCC`` or ``MCDM``."""
    temperature_celsius: int | None = None
    temperature_margin_celsius: int | None = None
    """Degrees left to the slowdown temperature (``nvmlDeviceGetMarginTemperature``, or computed from the threshold)."""
    temperature_slowdown_celsius: int | None = None
    memory_temperature_celsius: int | None = None
    memory_temperature_max_celsius: int | None = None
    """Up to which the memory may be used (NVML_TEMPERATURE_THRESHOLD_MEM_MAX)."""
    throttle_reasons: list[str] | None = None
    """Why its clocks are held down now (``nvmlDeviceGetCurrentClocksEventReasons``): `THROTTLE_REASONS`."""
    utilization_percent: int | None = None
    power_watts: float | None = None
    power_limit_watts: float | None = None
    """The enforced limit."""
    power_limit_default_watts: float | None = None
    power_limit_max_watts: float | None = None
    sm_clock_mhz: int | None = None
    sm_clock_max_mhz: int | None = None
    sm_clock_application_mhz: int | None = None
    """What ``nvidia-smi -ac`` set; the default where nothing was set."""
    sm_clock_application_default_mhz: int | None = None
    ecc: bool | None = None
    """ECC is on."""
    ecc_pending: bool | None = None
    """ECC after the next reset."""
    ecc_corrected: int | None = None
    """Corrected memory errors since the driver was loaded (volatile)."""
    ecc_uncorrected: int | None = None
    """Uncorrected memory errors since the driver was loaded (volatile)."""
    ecc_uncorrected_aggregate: int | None = None
    """Uncorrected memory errors over the GPU's life."""
    sram_uncorrected_aggregate: int | None = None
    sram_threshold_exceeded: bool | None = None
    """``nvmlDeviceGetSramEccErrorStatus``: the count at which NVIDIA replaces the GPU was passed."""
    remapped_rows: RemappedRows | None = None
    retired_pages: int | None = None
    """Pages retired for single- and double-bit errors (before Ampere)."""
    retired_pages_pending: bool | None = None
    memory_unrepairable: bool | None = None
    """``nvmlDeviceGetUnrepairableMemoryFlag``."""
    recovery_action: str | None = None
    """NVML_GPU_RECOVERY_ACTION: ``none``, ``gpu_reset``, ``node_reboot``, ``drain_p2p``, ``drain_and_reset`` …"""
    inforom: str | None = None
    """``valid`` or ``corrupt`` (``nvmlDeviceValidateInforom``)."""
    vbios: str = ""
    board_part: str = ""
    gsp_firmware: bool | None = None
    """The GPU System Processor runs the driver's firmware."""
    fabric_state: str | None = None
    """``not_supported``, ``not_started``, ``in_progress`` or ``completed``; ``None``: NVML does not say."""
    fabric_status: int | None = None
    """nvmlReturn_t with which the registration ended, where it is completed."""
    fabric_health: list[str] = []
    """Bad bits of the health mask: ``degraded_bandwidth``, ``route_recovery``, ``route_unhealthy``,
    ``access_timeout_recovery``, ``incorrect_configuration``."""
    fabric_clique: str = ""
    """Cluster UUID and clique id where both are set: GPUs of several nodes share an NVLink domain (MNNVL)."""
    processes: list[GpuProcess] | None = None
    """Compute processes; ``None``: NVML does not say."""
    errors: list[str] = []
    """NVML calls that failed with more than "not supported", such as ``memory: GPU is lost``."""
    lost: bool = False
    """An NVML call answered GPU_IS_LOST (15)."""
    reset_required: bool = False
    """An NVML call answered RESET_REQUIRED (16)."""
    handle_code: int | None = None
    """``nvmlReturn_t`` with which NVML refused to give its handle; 4 is NO_PERMISSION: it is not this user's."""

    @property
    def told(self) -> bool:
        """Whether a value of its own is known where nothing names it: DCGM and excerpts have a number alone."""
        own = (
            self.remapped_rows,
            self.persistence,
            self.power_limit_watts,
            self.throttle_reasons,
            self.ecc_uncorrected,
        )
        known = any(value is not None for value in own) or bool(self.processes)
        return known and not (self.gone or self.errors or self.handle_code)

    @property
    def unstarted(self) -> bool:
        """Whether NVML counts it and finds nothing behind it: the driver could not start it (NVML_ERROR_NOT_FOUND)."""
        return self.handle_code == NOT_FOUND

    @property
    def gone(self) -> bool:
        """Whether it does not answer any more: NVML calls it lost, or refuses its handle or name without a reason."""
        told = any("is lost" in error.lower() for error in self.errors)
        mute = not (self.name or self.uuid) and any("Unknown Error" in error for error in self.errors)
        return self.lost or told or mute or self.handle_code in (8, 11, 15, 999)

    @property
    def board(self) -> bool:
        """Whether it sits on a board that joins GPUs by NVLink, by its name; a card may be joined by a bridge."""
        return BOARD.search(self.name) is not None

    @property
    def short(self) -> str:
        """Which GPU it is, in a row of several: ``GPU 3``."""
        return self.pci_address or "the GPU" if self.unnumbered else f"GPU {self.index}"

    @property
    def place(self) -> str:
        """Which GPU it is, in words: ``GPU 3 (0000:3b:00.0)``."""
        if self.unnumbered:
            return (
                f"the GPU at {self.pci_address}"
                if self.pci_address
                else "a GPU (the text does not show which)"
            )
        return f"GPU {self.index} ({self.pci_address})" if self.pci_address else f"GPU {self.index}"

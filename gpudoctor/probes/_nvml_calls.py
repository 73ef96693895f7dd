"""What NVML is asked of each GPU and of each pair, by the functions of NVIDIA's ``pynvml`` (nvidia-ml-py).

Names, numbers and structures follow nvml.h. Where several functions tell the same, the one that old drivers have too
comes first.
"""

from collections.abc import Callable
from ctypes import byref, c_uint
from functools import partial
from typing import Any

from gpudoctor.probes._nvml_questions import Call, Questions

NVLINKS_MOST = 36
"""``NVML_NVLINK_MAX_LINKS``."""
REPLAY, RECOVERY, CRC_FLIT = 0, 1, 2
"""``NVML_NVLINK_ERROR_DL_*``."""
SM_CLOCK, GRAPHICS_CLOCK = 1, 0
CORRECTED, UNCORRECTED = 0, 1
VOLATILE, AGGREGATE = 0, 1
DRAM, SRAM = 2, 7
"""``NVML_MEMORY_LOCATION_*`` that all GPUs with ECC count."""
SLOWDOWN, MEMORY_MOST = 1, 2
"""``NVML_TEMPERATURE_THRESHOLD_SLOWDOWN``, ``..._MEM_MAX``."""
MEMORY_TEMPERATURE, RESET_STATUS, DRAIN_STATUS, RECOVERY_ACTION = 82, 226, 227, 230
"""``NVML_FI_DEV_*``."""
P2P_READ, P2P_NVLINK = 0, 2

# What a call without further arguments tells; several functions tell the same.
PLAIN = {
    "capability": ("CudaComputeCapability",),
    "memory": ("MemoryInfo",),
    "PCIe/generation": ("CurrPcieLinkGeneration",),
    "PCIe/generation most": ("MaxPcieLinkGeneration",),
    "PCIe/width": ("CurrPcieLinkWidth",),
    "PCIe/width most": ("MaxPcieLinkWidth",),
    "PCIe/replays": ("PcieReplayCounter",),
    "compute mode": ("ComputeMode",),
    "persistence mode": ("PersistenceMode",),
    "temperature/margin": ("MarginTemperature",),
    "clock reasons": ("CurrentClocksEventReasons", "CurrentClocksThrottleReasons"),
    "utilization": ("UtilizationRates",),
    "power": ("PowerUsage",),
    "power/limit": ("EnforcedPowerLimit", "PowerManagementLimit"),
    "power/default": ("PowerManagementDefaultLimit",),
    "power/constraints": ("PowerManagementLimitConstraints",),
    "ECC mode": ("EccMode",),
    "row remapping": ("RemappedRows",),
    "row remapping/banks": ("RowRemapperHistogram",),
    "retired pages/pending": ("RetiredPagesPendingStatus",),
    "unrepairable memory": ("UnrepairableMemoryFlag_v1",),
    "VBIOS": ("VbiosVersion",),
    "board": ("BoardPartNumber",),
    "processes": ("ComputeRunningProcesses_v3", "ComputeRunningProcesses_v2"),
}
NUMBERED = {
    "clock": ("ClockInfo", SM_CLOCK),
    "clock/most": ("MaxClockInfo", SM_CLOCK),
    "ECC/corrected": ("TotalEccErrors", CORRECTED, VOLATILE),
    "ECC/uncorrected": ("TotalEccErrors", UNCORRECTED, VOLATILE),
    "ECC/uncorrected ever": ("TotalEccErrors", UNCORRECTED, AGGREGATE),
    "ECC/DRAM": ("MemoryErrorCounter", UNCORRECTED, VOLATILE, DRAM),
    "ECC/SRAM": ("MemoryErrorCounter", UNCORRECTED, VOLATILE, SRAM),
    "ECC/SRAM ever": ("MemoryErrorCounter", UNCORRECTED, AGGREGATE, SRAM),
    "temperature/slowdown": ("TemperatureThreshold", SLOWDOWN),
    "temperature/memory most": ("TemperatureThreshold", MEMORY_MOST),
    "retired pages/single": ("RetiredPages", 0),
    "retired pages/double": ("RetiredPages", 1),
}
NVLINK_COUNTERS = {"replays": REPLAY, "recoveries": RECOVERY, "CRC": CRC_FLIT}
RECOVERIES_FAILED = 214
"""``NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS``, of the link in ``scopeId``: NVLink 5 counts in fields."""


class Calls:
    """Asks all that there is to ask of a node's GPUs."""

    def __init__(self, nvml: Any, questions: Questions) -> None:
        """Ask with the module `nvml`, by `questions`."""
        self.nvml = nvml
        self.questions = questions
        self.handles: dict[int, Any] = {}

    def _function(self, name: str, *arguments: Any) -> Call:
        """Return the call of a function; that the binding lacks it shows when it is made."""
        full = f"nvmlDeviceGet{name}"
        return full, lambda: getattr(self.nvml, full)(*arguments)

    def system(self) -> None:
        """Ask for the driver's versions."""
        for what, function in (
            ("driver version", "nvmlSystemGetDriverVersion"),
            ("CUDA version", "nvmlSystemGetCudaDriverVersion_v2"),
        ):
            self.questions.ask(None, what, [(function, lambda name=function: getattr(self.nvml, name)())])  # type: ignore[misc]

    def confidential(self) -> None:
        """Ask whether confidential computing is on."""
        self.questions.ask(
            None,
            "confidential computing",
            [
                ("nvmlSystemGetConfComputeSettings", self._confidential),
                ("nvmlSystemGetConfComputeState", lambda: self.nvml.nvmlSystemGetConfComputeState()),  # noqa: PLW0108 - may be absent
            ],
            self._ready,
        )

    def _ready(self, settings: Any) -> None:
        """Ask, where it is on, whether the GPUs were set ready."""
        if settings.ccFeature:
            name = "nvmlSystemGetConfComputeGpusReadyState"
            call = (name, lambda: self.nvml.nvmlSystemGetConfComputeGpusReadyState())  # noqa: PLW0108 - may be absent
            self.questions.ask(None, "confidential ready", [call])

    def _confidential(self) -> Any:
        settings = self.nvml.c_nvmlSystemConfComputeSettings_v1_t()
        if code := self.nvml.nvmlSystemGetConfComputeSettings(
            byref(settings)
        ):  # pynvml returns this one's code
            raise self.nvml.NVMLError(code)
        return settings

    def gpu(self, index: int) -> None:
        """Ask for a GPU, and then for all of it."""
        call = self._function("HandleByIndex", index)
        self.questions.ask(index, "handle", [call], partial(self._identity, index))

    def _identity(self, index: int, handle: Any) -> None:
        """Ask for what tells GPUs apart first: the rest hangs or crashes more easily."""
        self.handles[index] = handle
        for what, name in (("name", "Name"), ("UUID", "UUID"), ("PCI", "PciInfo")):
            self.questions.ask(index, what, [self._function(name, handle)])

    def rest(self, index: int) -> None:
        """Ask for everything else of a GPU whose handle is known."""
        handle, ask = self.handles[index], partial(self.questions.ask, index)
        for what, names in PLAIN.items():
            ask(what, [self._function(name, handle) for name in names])
        for what, (name, *numbers) in NUMBERED.items():
            ask(what, [self._function(str(name), handle, *numbers)])
        ask("temperature", [self._function(n, handle, 0) for n in ("Temperature", "TemperatureV")])
        for what, which in (("clock/application", ""), ("clock/application default", "Default")):
            kinds = (SM_CLOCK, GRAPHICS_CLOCK)
            ask(what, [self._function(f"{which}ApplicationsClock", handle, kind) for kind in kinds])
        self._structures(index, handle)
        ask("MIG mode", [self._function("MigMode", handle)], partial(self._mig, index))
        ask("NVLink/0", [self._function("NvLinkState", handle, 0)], partial(self._links, index))

    def _structures(self, index: int, handle: Any) -> None:
        """Ask for what is told in a structure that the caller makes, of a version that the library must know."""
        nvml, ask = self.nvml, partial(self.questions.ask, index)

        def one(what: str, name: str, call: Callable[[], Any]) -> None:
            ask(what, [(f"nvmlDeviceGet{name}", call)])

        one(
            "memory/reserved",
            "MemoryInfo_v2",
            lambda: nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2),
        )
        one("SRAM", "SramEccErrorStatus", self._filled(handle, "SramEccErrorStatus", "EccSramErrorStatus_v1"))
        fabric = [
            (f"nvmlDeviceGet{name}", self._filled(handle, name, f"GpuFabricInfo{version}"))
            for name, version in (("GpuFabricInfoV", "_v3"), ("GpuFabricInfoV", "_v2"), ("GpuFabricInfo", ""))
        ]
        ask("fabric", fabric)
        # pynvml's default arguments are one object for all calls: threads need their own.
        own = (handle, c_uint(), c_uint())
        one("GSP firmware", "GspFirmwareMode", lambda: nvml.nvmlDeviceGetGspFirmwareMode(*own))
        # It returns nothing where the InfoROM is valid.
        ask(
            "InfoROM",
            [("nvmlDeviceValidateInforom", lambda: nvml.nvmlDeviceValidateInforom(handle) or "valid")],
        )
        for field in (MEMORY_TEMPERATURE, RECOVERY_ACTION, RESET_STATUS, DRAIN_STATUS):
            one(f"field values/{field}", "FieldValues", partial(self._field, handle, field))

    def _filled(self, handle: Any, name: str, structure: str) -> Callable[[], Any]:
        def call() -> Any:
            filled = getattr(self.nvml, f"c_nvml{structure}_t")()
            getattr(self.nvml, f"nvmlDeviceGet{name}")(handle, byref(filled))
            return filled

        return call

    def _field(self, handle: Any, field: int) -> Any:
        """Return the value of one field, or `None`: each has a code of its own."""
        [found] = self.nvml.nvmlDeviceGetFieldValues(handle, [field])
        if found.nvmlReturn:
            raise self.nvml.NVMLError(found.nvmlReturn)
        return self._value(found)

    def _value(self, found: Any) -> Any:
        kinds = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal")  # nvmlValueType_t
        return getattr(found.value, kinds[found.valueType]) if found.valueType < len(kinds) else None

    def _mig(self, index: int, modes: Any) -> None:
        if modes[0]:
            call = self._function("MaxMigDeviceCount", self.handles[index])
            self.questions.ask(index, "MIG/most", [call], partial(self._instances, index))

    def _instances(self, index: int, most: int) -> None:
        for n in range(min(most, 64)):
            call = ("nvmlDeviceGetMigDeviceHandleByIndex", partial(self._instance, index, n))
            self.questions.ask(index, f"MIG/{n}", [call])

    def _instance(self, index: int, n: int) -> Any:
        return self.nvml.nvmlDeviceGetUUID(
            self.nvml.nvmlDeviceGetMigDeviceHandleByIndex(self.handles[index], n)
        )

    def _links(self, index: int, first: int) -> None:
        """Ask for the other links of a GPU that has a first one."""
        self._link(index, 0, first)
        counters = [("nvmlDeviceGetFieldValues", partial(self._recoveries, self.handles[index]))]
        self.questions.ask(index, "NVLink recoveries failed", counters)
        for link in range(1, NVLINKS_MOST):
            call = self._function("NvLinkState", self.handles[index], link)
            self.questions.ask(index, f"NVLink/{link}", [call], partial(self._link, index, link))

    def _recoveries(self, handle: Any) -> dict[int, int] | None:
        """Return how often each link could not be set up anew, in one call; `None`: before NVLink 5."""
        asked = [(RECOVERIES_FAILED, link) for link in range(NVLINKS_MOST)]
        found = self.nvml.nvmlDeviceGetFieldValues(handle, asked)
        return {n: self._value(one) for n, one in enumerate(found) if not one.nvmlReturn} or None

    def _link(self, index: int, link: int, active: int) -> None:
        """Ask where an active link leads, and what it counted."""
        if not active:
            return
        handle, ask = self.handles[index], partial(self.questions.ask, index)
        ask(f"NVLink remote/{link}", [self._function("NvLinkRemotePciInfo", handle, link)])
        for what, counter in NVLINK_COUNTERS.items():
            call = self._function("NvLinkErrorCounter", handle, link, counter)
            ask(f"NVLink {what}/{link}", [call])

    def pair(self, first: int, second: int) -> None:
        """Ask how two GPUs are connected; what fails there is no failure of either."""
        a, b = self.handles[first], self.handles[second]
        for what, call in (
            ("ancestor", self._function("TopologyCommonAncestor", a, b)),
            ("peer", self._function("P2PStatus", a, b, P2P_READ)),
            ("peer NVLink", self._function("P2PStatus", a, b, P2P_NVLINK)),
        ):
            self.questions.ask(None, f"{what}/{first}-{second}", [call])

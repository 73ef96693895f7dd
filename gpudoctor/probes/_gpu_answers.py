"""What NVML answered, as facts."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpudoctor.facts import Gpu, GpuPair, GpuProcess, NvLink, RemappedRows
from gpudoctor.facts.gpu import THROTTLE_REASONS
from gpudoctor.probes._nvml_calls import (
    DRAIN_STATUS,
    MEMORY_TEMPERATURE,
    NVLINKS_MOST,
    RECOVERY_ACTION,
    RESET_STATUS,
)
from gpudoctor.probes._nvml_questions import Key, Questions

# nvml.h: nvmlComputeMode_t; 1 is the exclusive mode of single threads, which drivers no longer offer.
COMPUTE_MODES = {0: "default", 1: "exclusive_process", 2: "prohibited", 3: "exclusive_process"}
# NVML_GPU_RECOVERY_ACTION_*
ACTIONS = (
    "none",
    "gpu_reset",
    "node_reboot",
    "drain_p2p",
    "drain_and_reset",
    "recover_imex_domain",
    "bus_reset",
    "system_reboot",
)
FABRIC_STATES = ("not_supported", "not_started", "in_progress", "completed")
# NVML_GPU_FABRIC_HEALTH_MASK_*: two bits each, of which 1 says that it is so; the last has four, a fault from 2 on.
FABRIC_HEALTH = ("degraded_bandwidth", "route_recovery", "route_unhealthy", "access_timeout_recovery")
INCORRECT_CONFIGURATION = 8
# nvmlGpuTopologyLevel_t, as `nvidia-smi topo -m` writes it; 0 is two GPUs of one board.
LEVELS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
# nvmlGpuP2PStatus_t, as `nvidia-smi topo -p2p r` writes it.
PEERS = {0: "OK", 1: "CNS", 2: "GNS", 3: "TNS", 4: "DR", 5: "NS"}


class Answers:
    """The answers of one GPU."""

    def __init__(self, questions: Questions, index: int) -> None:
        """Read what was answered of the GPU so far."""
        self.questions = questions
        self.index = index

    def __getitem__(self, what: str) -> Any:
        """Return one answer, or ``None``."""
        return self.questions.get(self.index, what)

    def gpu(self, processes: list[GpuProcess] | None) -> Gpu:
        """Make the facts of the GPU of what is known of it."""
        index, questions = self.index, self.questions
        fields: dict[str, Any] = {}
        for part in (
            self._identity,
            self._bus,
            self._modes,
            self._heat,
            self._power,
            self._memory,
            self._fabric,
        ):
            fields |= part()
        waiting = [
            f"{call.key.words}: no answer" for call in questions.silent().values() if call.key.gpu == index
        ]
        return Gpu(
            index=index,
            processes=processes,
            errors=list(dict.fromkeys([*questions.errors.get(index, []), *waiting])),
            lost=index in questions.lost,
            reset_required=index in questions.reset_required,
            handle_code=questions.codes.get(Key(index, "handle")),
            **fields,
        )

    def _identity(self) -> dict[str, Any]:
        capability, pci, memory = self["capability"], self["PCI"], self["memory"]
        other = self["memory/reserved"]
        both = memory or other
        return {
            "name": text(self["name"]),
            "uuid": text(self["UUID"]),
            "capability": f"{capability[0]}.{capability[1]}" if capability else None,
            "memory_bytes": both.total if both else None,
            "memory_used_bytes": memory.used if memory else other.used + other.reserved if other else None,
            "memory_reserved_bytes": other.reserved if other else None,
            "pci_address": pci_address(text(pci.busId)) if pci else "",
            "vbios": text(self["VBIOS"]),
            "board_part": text(self["board"]).strip(),
        }

    def _bus(self) -> dict[str, Any]:
        links = list(self._links())
        return {
            "pcie_generation": self["PCIe/generation"],
            "pcie_generation_max": self["PCIe/generation most"],
            "pcie_width": self["PCIe/width"],
            "pcie_width_max": self["PCIe/width most"],
            "pcie_replays": self["PCIe/replays"],
            "nvlinks": links,
            "nvlinks_active": sum(link.active for link in links) if links else None,
        }

    def _links(self) -> Iterable[NvLink]:
        failed = self["NVLink recoveries failed"] or {}
        for n in range(NVLINKS_MOST):
            state = self[f"NVLink/{n}"]
            if state is None:
                continue
            remote = self[f"NVLink remote/{n}"]
            address = pci_address(text(remote.busId)) if remote else ""
            yield NvLink(
                link=n,
                active=bool(state),
                remote=""
                if address.startswith("0000:00:00")
                else address,  # of a link that leads nowhere that is told
                replay_errors=self[f"NVLink replays/{n}"],
                recovery_errors=self[f"NVLink recoveries/{n}"],
                crc_errors=self[f"NVLink CRC/{n}"],
                recoveries_failed=failed.get(n),
            )

    def _modes(self) -> dict[str, Any]:
        mig, ecc, firmware = self["MIG mode"], self["ECC mode"], self["GSP firmware"]
        instances = [text(self[f"MIG/{n}"]) for n in range(min(self["MIG/most"] or 0, 64))]
        return {
            "mig": bool(mig[0]) if mig else None,
            "mig_pending": bool(mig[1]) if mig else None,
            "mig_uuids": [uuid for uuid in instances if uuid],
            "compute_mode": COMPUTE_MODES.get(self["compute mode"]),
            "persistence": truth(self["persistence mode"]),
            "ecc": bool(ecc[0]) if ecc else None,
            "ecc_pending": bool(ecc[1]) if ecc else None,
            "gsp_firmware": bool(firmware[0]) if firmware else None,
            "inforom": "corrupt" if self.index in self.questions.corrupted else self["InfoROM"],
            "recovery_action": self._recovery(),
        }

    def _recovery(self) -> str | None:
        action = self[f"field values/{RECOVERY_ACTION}"]
        if action is not None:
            return ACTIONS[action] if action < len(ACTIONS) else f"action {action}"
        # Drivers before 560 tell it as two flags.
        reset, drain = self[f"field values/{RESET_STATUS}"], self[f"field values/{DRAIN_STATUS}"]
        if reset is None and drain is None:
            return None
        return "gpu_reset" if reset else "drain_and_reset" if drain else "none"

    def _heat(self) -> dict[str, Any]:
        temperature, slowdown = self["temperature"], self["temperature/slowdown"]
        margin = self["temperature/margin"]
        if margin is None and temperature is not None and slowdown:
            margin = slowdown - temperature
        return {
            "temperature_celsius": temperature,
            "temperature_slowdown_celsius": slowdown,
            "temperature_margin_celsius": margin,
            "memory_temperature_max_celsius": self["temperature/memory most"],
            "memory_temperature_celsius": self[f"field values/{MEMORY_TEMPERATURE}"]
            or None,  # 0: it has no sensor
        }

    def _power(self) -> dict[str, Any]:
        mask, rates, constraints = self["clock reasons"], self["utilization"], self["power/constraints"]
        named = [name for bit, name in enumerate(THROTTLE_REASONS) if mask and mask & 1 << bit]
        return {
            "throttle_reasons": named if mask is not None else None,
            "utilization_percent": rates.gpu if rates else None,
            "power_watts": watts(self["power"]),
            "power_limit_watts": watts(self["power/limit"]),
            "power_limit_default_watts": watts(self["power/default"]),
            "power_limit_max_watts": watts(constraints[1]) if constraints else None,
            "sm_clock_mhz": self["clock"],
            "sm_clock_max_mhz": self["clock/most"],
            "sm_clock_application_mhz": self["clock/application"],
            "sm_clock_application_default_mhz": self["clock/application default"],
        }

    def _memory(self) -> dict[str, Any]:
        sram = self["SRAM"]
        ever = [self["ECC/SRAM ever"], *([sram.aggregateUncParity + sram.aggregateUncSecDed] if sram else [])]
        now = [self["ECC/uncorrected"], added(self["ECC/DRAM"], self["ECC/SRAM"])]
        if sram:
            now.append(sram.volatileUncParity + sram.volatileUncSecDed)
        return {
            "ecc_corrected": self["ECC/corrected"],
            "ecc_uncorrected": most(now),
            "ecc_uncorrected_aggregate": most([self["ECC/uncorrected ever"], *ever]),
            "sram_uncorrected_aggregate": most(ever),
            "sram_threshold_exceeded": bool(sram.bThresholdExceeded) if sram else None,
            "remapped_rows": self._rows(),
            "retired_pages": added(
                *(_length(self[f"retired pages/{kind}"]) for kind in ("single", "double"))
            ),
            "retired_pages_pending": truth(self["retired pages/pending"]),
            "memory_unrepairable": truth(self["unrepairable memory"]),
        }

    def _rows(self) -> RemappedRows | None:
        rows, banks = self["row remapping"], self["row remapping/banks"]
        if rows is None:
            return None
        correctable, uncorrectable, pending, failed = rows
        return RemappedRows(
            correctable=correctable,
            uncorrectable=uncorrectable,
            pending=bool(pending),
            failed=bool(failed),
            banks_low=banks.low if banks else None,
            banks_none=banks.none if banks else None,
        )

    def _fabric(self) -> dict[str, Any]:
        fabric = self["fabric"]
        if fabric is None:
            return {}
        state = FABRIC_STATES[fabric.state] if fabric.state < len(FABRIC_STATES) else None
        mask = getattr(fabric, "healthMask", 0)
        bad = [name for n, name in enumerate(FABRIC_HEALTH) if mask >> 2 * n & 0b11 == 1]
        if mask >> INCORRECT_CONFIGURATION & 0b1111 >= 2:
            bad.append("incorrect_configuration")
        cluster = bytes(fabric.clusterUuid)
        return {
            "fabric_state": state,
            "fabric_status": fabric.status if state == "completed" else None,
            "fabric_health": bad,
            "fabric_clique": f"{cluster.hex()}.{fabric.cliqueId}" if any(cluster) else "",
        }


def pair(questions: Questions, gpus: Mapping[int, Gpu], first: int, second: int) -> GpuPair:
    """Return how two GPUs are connected: by NVLinks, directly or over switches, or else over PCIe."""
    name = f"{first}-{second}"
    a, b = gpus[first], gpus[second]
    direct = sum(link.active and link.remote == b.pci_address != "" for link in a.nvlinks)
    switched = min(a.nvlinks_active or 0, b.nvlinks_active or 0)
    if not direct and questions.get(None, f"peer NVLink/{name}") == 0:
        direct = switched
    path = f"NV{direct}" if direct else LEVELS.get(questions.get(None, f"ancestor/{name}"), "")
    return GpuPair(
        first=first, second=second, path=path, p2p=PEERS.get(questions.get(None, f"peer/{name}"), "")
    )


def pci_address(bus_id: str) -> str:
    """Write NVML's ``00000000:3B:00.0`` as the kernel does: ``0000:3b:00.0``."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{domain[-4:]}:{rest}" if rest else bus_id.lower()


def text(value: str | bytes | None) -> str:
    """Return what NVML gave as text; empty where it gave none."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value or ""


def truth(value: int | None) -> bool | None:
    """Return a flag; ``None`` where it is not known."""
    return None if value is None else bool(value)


def watts(milliwatts: int | None) -> float | None:
    """Return a power in watts."""
    return None if milliwatts is None else milliwatts / 1000


def most(values: Iterable[int | None]) -> int | None:
    """Return the largest of the counts that are known, or ``None``."""
    return max((value for value in values if value is not None), default=None)


def added(*values: int | None) -> int | None:
    """Return the sum of the counts that are known, or ``None``."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _length(pages: list[Any] | None) -> int | None:
    return None if pages is None else len(pages)

"""The values of ``nvidia-smi -q`` and ``-q -x`` -> a GPU.

Both name the same things, the one in words, the other in tags: ``FB Memory Usage``, ``Total`` are here the names
``fb_memory_usage/total`` and ``total``, as they are in XML.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gpudoctor.facts import Gpu, GpuProcess, RemappedRows
from gpudoctor.importers.nvidia_smi.addresses import pci_address
from gpudoctor.importers.nvidia_smi.vocabulary import (
    COMPUTE_MODES,
    DRIVER_MODELS,
    FABRIC_HEALTH,
    RECOVERY_ACTIONS,
    THROTTLE_WORDS,
)

_NUMBER = re.compile(r"-?\d{1,12}(?:\.\d{1,6})?")
_WORDS = re.compile(r"[^a-z0-9]+")
_TRUTH = {"enabled": True, "disabled": False, "yes": True, "no": False, "active": True, "not active": False}
_NONE = ("n/a", "[n/a]", "not supported", "[not supported]", "none", "")
_FAILED = ("gpu is lost", "gpu requires reset", "unknown error", "err!")
# Some laptops fail to tell these, and all is well.
_OFTEN_FAILED = ("power_draw", "instantaneous_power_draw", "average_power_draw", "fan_speed")


@dataclass
class Readings:
    """What one GPU's part says."""

    address: str = ""
    values: dict[str, str] = field(default_factory=dict)
    """By name, and by section and name; the first one counts."""
    processes: list[dict[str, str]] | None = None

    def add(self, section: str, name: str, value: str) -> None:
        """Keep a value under its own name and its section's."""
        self.values.setdefault(f"{section}/{name}", value)
        self.values.setdefault(name, value)

    def text(self, *names: str) -> str:
        """Return the first of the names that has a value; empty: none has, it is not supported, or it failed."""
        for name in names:
            value = self.values.get(name, "").strip()
            if value.lower() not in _NONE and value.strip("[]").lower() not in _FAILED:
                return value[:200]
        return ""

    def number(self, *names: str) -> float | None:
        """Return ``118.20 W`` as a number."""
        match = _NUMBER.match(self.text(*names))
        return float(match[0]) if match else None

    def whole(self, *names: str) -> int | None:
        """Return ``16x`` or ``81559 MiB`` as a whole number."""
        number = self.number(*names)
        return None if number is None else int(number)

    def truth(self, *names: str) -> bool | None:
        """Return ``Enabled`` or ``Yes``, ``Disabled`` or ``No``; ``None`` for anything else."""
        return _TRUTH.get(self.text(*names).lower())

    def total(self, section: str, names: Iterable[str]) -> int | None:
        """Return the sum of counters of one section; ``None``: it has none of them."""
        found = [n for name in names if (n := self.whole(f"{section}/{name}")) is not None]
        return sum(found) if found else None


def normal(name: str) -> str:
    """Return ``SRAM Uncorrectable SEC-DED`` as ``sram_uncorrectable_sec_ded``."""
    return _WORDS.sub("_", name.lower()).strip("_")


def mebibytes(text: str) -> int | None:
    """Return ``3310`` or ``3310 MiB`` in bytes."""
    match = _NUMBER.match(text)
    return int(float(match[0])) << 20 if match else None


def process_name(text: str) -> str | None:
    """Return a program's name without its folder and arguments; ``None`` for ``[Not Found]`` or ``-``."""
    words = text.split()
    name = re.split(r"[\\/]", words[0])[-1].lstrip(".") if words else ""
    return None if not name or text.startswith(("[", "-")) else name[:80]


def gpu(readings: Readings, index: int) -> Gpu:
    """Return the GPU that the readings are of; what they do not hold is not known."""
    r = readings
    return Gpu(
        index=index,
        name=r.text("product_name"),
        uuid=r.text("gpu_uuid", "uuid"),
        pci_address=pci_address(r.address or r.text("bus_id", "pci_bus_id")),
        **_memory(r),
        **_link(r),
        **_mode(r),
        **_heat(r),
        **_power(r),
        **_clocks(r),
        **_ecc(r),
        sram_threshold_exceeded=r.truth("sram_threshold_exceeded"),
        remapped_rows=_rows(r),
        retired_pages=_retired(r),
        retired_pages_pending=r.truth(
            "retired_pages/pending_page_blacklist", "pending_blacklist", "pending_retirement"
        ),
        recovery_action=RECOVERY_ACTIONS.get(r.values.get("gpu_recovery_action", "").strip().lower()),
        vbios=r.text("vbios_version"),
        board_part=r.text("gpu_part_number"),
        gsp_firmware=True if r.text("gsp_firmware_version") else None,
        **_fabric(r),
        processes=_processes(r),
        errors=(errors := _errors(r)),
        lost=any(error.lower().endswith(": gpu is lost") for error in errors),
        reset_required=any(error.endswith(": GPU requires reset") for error in errors),
    )


def _memory(r: Readings) -> dict[str, Any]:
    size = {"memory_bytes": "total", "memory_used_bytes": "used", "memory_reserved_bytes": "reserved"}
    return {name: mebibytes(r.text(f"fb_memory_usage/{key}")) for name, key in size.items()}


def _ecc(r: Readings) -> dict[str, Any]:
    corrected = [name for name in r.values if name.startswith(("sram_correctable", "dram_correctable"))]
    uncorrectable = [
        name for name in r.values if name.startswith(("sram_uncorrectable", "dram_uncorrectable"))
    ]
    return {
        "ecc": r.truth("ecc_mode/current", "current_ecc"),
        "ecc_pending": r.truth("ecc_mode/pending", "pending_ecc"),
        "ecc_corrected": r.total("volatile", corrected),
        # Before Turing the double bit errors of all memories have a sum of their own, the volatile one first.
        "ecc_uncorrected": r.total("volatile", uncorrectable)
        if uncorrectable
        else r.whole("double_bit/total"),
        "ecc_uncorrected_aggregate": r.total("aggregate", uncorrectable),
        "sram_uncorrected_aggregate": r.total(
            "aggregate", [n for n in uncorrectable if n.startswith("sram")]
        ),
    }


def _link(r: Readings) -> dict[str, Any]:
    return {
        "pcie_generation": r.whole("pcie_generation/current", "current_link_gen"),
        "pcie_generation_max": r.whole("pcie_generation/max", "max_link_gen"),
        "pcie_width": r.whole("link_width/current", "current_link_width"),
        "pcie_width_max": r.whole("link_width/max", "max_link_width"),
        "pcie_replays": r.whole("replays_since_reset", "replay_counter"),
    }


def _mode(r: Readings) -> dict[str, Any]:
    model = r.text("driver_model/current", "current_dm")
    return {
        "mig": r.truth("mig_mode/current", "current_mig"),
        "mig_pending": r.truth("mig_mode/pending", "pending_mig"),
        "compute_mode": COMPUTE_MODES.get(r.text("compute_mode").lower()),
        "persistence": r.truth("persistence_mode"),
        "driver_model": model if model in DRIVER_MODELS else "",
        "utilization_percent": r.whole("utilization/gpu", "gpu_util"),
        "throttle_reasons": _reasons(r),
    }


def _heat(r: Readings) -> dict[str, Any]:
    current = r.whole("gpu_current_temp", "temperature/gpu_temp")
    slowdown = r.whole("gpu_slowdown_temp", "gpu_temp_slow_threshold")
    margin = r.whole("gpu_t_limit_temp", "gpu_temp_tlimit")
    if margin is None and slowdown is not None and current is not None:
        margin = slowdown - current
    return {
        "temperature_celsius": current,
        "temperature_slowdown_celsius": slowdown,
        "temperature_margin_celsius": margin,
        "memory_temperature_celsius": r.whole("memory_current_temp", "memory_temp"),
    }


def _power(r: Readings) -> dict[str, Any]:
    sections = ("gpu_power_readings", "power_readings")

    def watts(*names: str) -> float | None:
        return r.number(*(f"{section}/{name}" for section in sections for name in names))

    return {
        "power_watts": watts(
            "power_draw", "instantaneous_power_draw", "average_power_draw", "instant_power_draw"
        ),
        "power_limit_watts": watts("enforced_power_limit", "current_power_limit", "power_limit"),
        "power_limit_default_watts": watts("default_power_limit"),
        "power_limit_max_watts": watts("max_power_limit"),
    }


def _clocks(r: Readings) -> dict[str, Any]:
    return {
        "sm_clock_mhz": r.whole("clocks/sm", "clocks/sm_clock"),
        "sm_clock_max_mhz": r.whole("max_clocks/sm", "max_clocks/sm_clock"),
        "sm_clock_application_mhz": r.whole(
            "applications_clocks/graphics", "applications_clocks/graphics_clock"
        ),
        "sm_clock_application_default_mhz": r.whole(
            "default_applications_clocks/graphics", "default_applications_clocks/graphics_clock"
        ),
    }


def _rows(r: Readings) -> RemappedRows | None:
    pending = r.truth("remapped_rows/pending", "remapped_row_pending")
    failed = r.truth("remapping_failure_occurred", "remapped_row_failure")
    if pending is None and failed is None:
        return None
    return RemappedRows(
        correctable=r.whole("remapped_rows/correctable_error", "remapped_row_corr") or 0,
        uncorrectable=r.whole("remapped_rows/uncorrectable_error", "remapped_row_unc") or 0,
        pending=bool(pending),
        failed=bool(failed),
        banks_low=r.whole("bank_remap_availability_histogram/low", "row_remapper_histogram_low"),
        banks_none=r.whole("bank_remap_availability_histogram/none", "row_remapper_histogram_none"),
    )


def _retired(r: Readings) -> int | None:
    single = r.whole("retired_pages/single_bit_ecc", "multiple_single_bit_retirement/retired_count")
    double = r.whole("retired_pages/double_bit_ecc", "double_bit_retirement/retired_count")
    return None if single is None and double is None else (single or 0) + (double or 0)


def _reasons(r: Readings) -> list[str] | None:
    """Return NVML's names of the reasons that are active; ``None``: the part is not there, or not supported."""
    found, told = [], False
    for name, value in r.values.items():
        section, slash, key = name.partition("/")
        if slash and section.startswith(("clocks_event_reasons", "clocks_throttle_reasons")):
            key = re.sub(r"^clocks_(?:event|throttle)_reason_", "", key)
            active = _TRUTH.get(value.strip().lower())
            told = told or active is not None
            if active and key in THROTTLE_WORDS and THROTTLE_WORDS[key] not in found:
                found.append(THROTTLE_WORDS[key])
    return found if told else None


def _fabric(r: Readings) -> dict[str, Any]:
    state = normal(r.text("fabric/state"))
    told = {name: r.values.get(f"health/{name}", "").lower() for name in FABRIC_HEALTH}
    status = r.text("fabric/status").lower()
    return {
        "fabric_state": state
        if state in ("not_supported", "not_started", "in_progress", "completed")
        else None,
        "fabric_status": {"success": 0}.get(status),
        "fabric_health": [
            FABRIC_HEALTH[name] for name, value in told.items() if value in ("degraded", "true", "yes")
        ],
    }


def _processes(r: Readings) -> list[GpuProcess] | None:
    if r.processes is None:
        return [] if r.values.get("processes", "").strip().lower() == "none" else None
    return [
        GpuProcess(
            pid=int(p["process_id"]),
            memory_bytes=mebibytes(p.get("used_gpu_memory", "")),
            name=process_name(p.get("name", "")),
        )
        for p in r.processes[:200]
        if p.get("type", "C") != "G" and re.fullmatch(r"\d{1,10}", p.get("process_id", ""), re.ASCII)
    ]


def _errors(r: Readings) -> list[str]:
    """Return the values that are failures: ``memory: GPU is lost``; a reset that is required is one, too."""
    errors: list[str] = []
    for name, value in r.values.items():
        said = value.strip(" []").lower()
        if "/" not in name and said in _FAILED and name not in _OFTEN_FAILED and len(errors) < 8:
            errors.append(f"{name.replace('_', ' ')}: {value.strip(' []')}")
    if r.truth("reset_required", "gpu_reset_status/reset_required"):
        errors.append("reset status: GPU requires reset")
    return errors

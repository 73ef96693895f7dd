"""``nvidia-smi --query-gpu=...`` and ``--query-compute-apps=...`` as CSV: a line of columns, a line for each GPU."""

import re
from collections.abc import Iterable

from msgspec.structs import replace

from gpudoctor.facts import Gpu, GpuProcess
from gpudoctor.facts.gpu import THROTTLE_REASONS
from gpudoctor.importers.nvidia_smi.addresses import pci_address
from gpudoctor.importers.nvidia_smi.readings import Readings, gpu, mebibytes, process_name
from gpudoctor.importers.nvidia_smi.table import Table

# The columns of `nvidia-smi --help-query-gpu`, and where `nvidia-smi -q` has the same value.
_PLACES = {
    "pcie.link.gen.current": "pcie_generation/current",
    "pcie.link.gen.gpucurrent": "pcie_generation/current",
    "pcie.link.gen.max": "pcie_generation/max",
    "pcie.link.width.current": "link_width/current",
    "pcie.link.width.max": "link_width/max",
    "memory.total": "fb_memory_usage/total",
    "memory.used": "fb_memory_usage/used",
    "memory.reserved": "fb_memory_usage/reserved",
    "mig.mode.current": "mig_mode/current",
    "mig.mode.pending": "mig_mode/pending",
    "driver_model.current": "driver_model/current",
    "ecc.mode.current": "ecc_mode/current",
    "ecc.mode.pending": "ecc_mode/pending",
    "ecc.errors.corrected.volatile.total": "volatile/dram_correctable",
    "ecc.errors.uncorrected.volatile.total": "volatile/dram_uncorrectable",
    "ecc.errors.uncorrected.aggregate.total": "aggregate/dram_uncorrectable",
    "retired_pages.single_bit_ecc.count": "retired_pages/single_bit_ecc",
    "retired_pages.double_bit.count": "retired_pages/double_bit_ecc",
    "retired_pages.pending": "retired_pages/pending_page_blacklist",
    "remapped_rows.correctable": "remapped_rows/correctable_error",
    "remapped_rows.uncorrectable": "remapped_rows/uncorrectable_error",
    "remapped_rows.pending": "remapped_rows/pending",
    "remapped_rows.failure": "remapped_rows/remapping_failure_occurred",
    "remapped_rows.histogram.low": "bank_remap_availability_histogram/low",
    "remapped_rows.histogram.none": "bank_remap_availability_histogram/none",
    "temperature.gpu": "temperature/gpu_current_temp",
    "temperature.gpu.tlimit": "temperature/gpu_t_limit_temp",
    "temperature.memory": "temperature/memory_current_temp",
    "power.draw": "gpu_power_readings/power_draw",
    "power.limit": "gpu_power_readings/current_power_limit",
    "enforced.power.limit": "gpu_power_readings/enforced_power_limit",
    "power.default_limit": "gpu_power_readings/default_power_limit",
    "power.max_limit": "gpu_power_readings/max_power_limit",
    "clocks.current.sm": "clocks/sm",
    "clocks.sm": "clocks/sm",
    "clocks.max.sm": "max_clocks/sm",
    "clocks.applications.graphics": "applications_clocks/graphics",
    "clocks.default_applications.graphics": "default_applications_clocks/graphics",
    "utilization.gpu": "utilization/gpu",
    "fabric.state": "fabric/state",
    "fabric.status": "fabric/status",
    "reset_status.reset_required": "gpu_reset_status/reset_required",
    "pci.bus_id": "pci/bus_id",
    "gpu_bus_id": "pci/bus_id",
    "uuid": "gpu/gpu_uuid",
    "gpu_uuid": "gpu/gpu_uuid",
    "name": "gpu/product_name",
    "gpu_name": "gpu/product_name",
    "vbios_version": "gpu/vbios_version",
    "persistence_mode": "gpu/persistence_mode",
    "compute_mode": "gpu/compute_mode",
    "gpu_recovery_action": "gpu/gpu_recovery_action",
}
_REASONS = ("clocks_event_reasons.", "clocks_throttle_reasons.")
_HARMFUL = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")
_COLUMN = re.compile(r"[a-z][a-zA-Z0-9_]{0,40}(?:\.[a-zA-Z0-9_]{1,40}){0,5}")
_UNIT = re.compile(r" \[(?:MiB|W|MHz|%|us|x)\]$")
_ASKED = re.compile(r"--query-gpu[= ](?P<columns>[\w.,]{1,4000})")
_MAKER = re.compile(r"NVIDIA |Tesla |GeForce |Quadro |GRID |TITAN ")
_SEVERAL = 2
_MOST = 64


def read(lines: Iterable[str]) -> Table:
    """Read the lists that a text holds; of a GPU that is listed again and again, as with ``-l``, the last line.

    Where the line of columns was left out (``noheader``), the command above it tells them.

    ``index, pci.bus_id, remapped_rows.pending`` … ``0, 00000000:1B:00.0, Yes``
    """
    found: dict[int, Gpu] = {}
    table = Table()
    columns: list[str] = []
    row = 0
    for line in lines:
        if "," not in line and "--query-gpu" not in line:
            continue
        if match := _ASKED.search(line):
            columns, row = match["columns"].split(","), 0
        elif header := _header(line):
            columns, row = ([] if "pid" in header else header), 0
        elif columns and len(cells := [cell.strip() for cell in line.split(",")]) == len(columns):
            values = dict(zip(columns, cells, strict=True))
            if (device := _device(values, row)) is not None and (device.index in found or len(found) < _MOST):
                found[device.index] = device
                table.driver_version = table.driver_version or _version(values.get("driver_version", ""))
                row += 1
    table.devices = [found[index] for index in sorted(found)]
    return table


def read_processes(lines: Iterable[str], devices: list[Gpu]) -> list[Gpu]:
    """Give GPUs the processes that ``--query-compute-apps`` lists by UUID or address; none where there is no such list.

    ``gpu_uuid, pid, process_name, used_gpu_memory [MiB]`` … ``GPU-5d1…, 4711, python, 61044 MiB``
    """
    found: dict[str, list[GpuProcess]] = {}
    columns: list[str] = []
    for line in lines:
        cells = [_UNIT.sub("", cell.strip()) for cell in line.split(",")] if "," in line else []
        if "pid" in cells and {"gpu_uuid", "gpu_bus_id"} & set(cells):
            columns = cells
        elif columns and len(cells) == len(columns):
            values = dict(zip(columns, cells, strict=True))
            if re.fullmatch(r"\d{1,10}", values["pid"], re.ASCII) and len(found) < _MOST:
                place = values.get("gpu_uuid") or pci_address(values.get("gpu_bus_id", ""))
                found.setdefault(place, []).append(_process(values))
    if not columns:
        return devices
    return [
        replace(gpu, processes=found.get(gpu.uuid) or found.get(gpu.pci_address) or [])
        if gpu.processes is None and (gpu.uuid or gpu.pci_address)
        else gpu
        for gpu in devices
    ]


def _process(values: dict[str, str]) -> GpuProcess:
    memory = values.get("used_gpu_memory") or values.get("used_memory") or ""
    name = values.get("process_name") or values.get("name") or ""
    return GpuProcess(pid=int(values["pid"]), memory_bytes=mebibytes(memory), name=process_name(name))


def _header(line: str) -> list[str] | None:
    """Return the columns that a line names; ``None``: it is no such line."""
    columns = [_UNIT.sub("", cell.strip()) for cell in line.split(",")]
    if len(columns) < _SEVERAL or not all(_COLUMN.fullmatch(column) for column in columns):
        return None
    known = [c for c in columns if c in _PLACES or c.startswith(_REASONS) or c in ("index", "driver_version")]
    return columns if len(known) * 2 > len(columns) else None


def _device(values: dict[str, str], row: int) -> Gpu | None:
    """Return the GPU of one line; ``None``: the line is about something else."""
    readings = Readings()
    for column, value in values.items():
        if column in _PLACES:
            section, _, name = _PLACES[column].partition("/")
            readings.add(section, name, value)
    _reasons(readings, values)
    said = gpu(readings, _index(values, row))
    is_gpu = (
        said.uuid.startswith("GPU-")
        or _MAKER.match(said.name)
        or said.pci_address.count(":") == _SEVERAL
        or ("index" in values and values["index"].isdecimal() and any("." in c for c in values))
    )
    if not is_gpu:
        return None
    capability = values.get("compute_cap", "")
    return replace(said, capability=capability if re.fullmatch(r"\d{1,2}\.\d", capability) else None)


def _index(values: dict[str, str], row: int) -> int:
    told = values.get("index", "")
    return int(told) if told.isascii() and told.isdecimal() and len(told) <= _SEVERAL else row


def _reasons(readings: Readings, values: dict[str, str]) -> None:
    """Add why the clocks are held down: by the mask, or by columns of their own where all that harm are there."""
    told = {c.partition(".")[2]: value for c, value in values.items() if c.startswith(_REASONS)}
    mask = told.pop("active", "")
    if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", mask):
        bits = int(mask, 16)
        told = {name: "Active" if bits >> n & 1 else "Not Active" for n, name in enumerate(THROTTLE_REASONS)}
    if "Active" in told.values() or set(_HARMFUL) <= set(told):
        for name, value in told.items():
            readings.add("clocks_event_reasons", name, value)


def _version(text: str) -> str | None:
    return text if re.fullmatch(r"\d{2,4}(?:\.\d{1,4}){1,2}", text) else None

"""``nvidia-smi -q``: what it says of each GPU, section by section."""

import re
from collections.abc import Iterable

from msgspec.structs import replace

from gpudoctor.facts import Gpu
from gpudoctor.importers.nvidia_smi.addresses import ADDRESS
from gpudoctor.importers.nvidia_smi.readings import Readings, gpu, normal
from gpudoctor.importers.nvidia_smi.table import Table

_GPU = re.compile(rf"GPU {ADDRESS}$")
_FIELD = re.compile(r"(?P<name>[A-Z][\w .()/-]{0,60}?)\s+: (?P<value>.*)")
_HEADER = re.compile(r"[A-Z][\w .()/-]{2,60}$")
_LOG = "NVSMI LOG"
_ALONE = frozenset(
    (
        "Remapped Rows",
        "Retired Pages",
        "Bank Remap Availability Histogram",
        "Clocks Event Reasons",
        "Clocks Throttle Reasons",
        "ECC Errors",
        "Ecc Errors",
        "ECC Mode",
        "Ecc Mode",
        "MIG Mode",
        "Inforom Version",
        "GPU Reset Status",
        "FB Memory Usage",
        "GPU Link Info",
        "GPU Power Readings",
        "Power Readings",
        "GPU Operation Mode",
        "GPU Virtualization Mode",
        "Fabric",
    )
)
"""Sections that people cut out of the log of the one GPU that it is about."""  # fmt: skip
_ROWS = ("Current Power Limit", "Enforced Power Limit", "Default Power Limit", "Max Power Limit")
"""Rows of ``GPU Power Readings`` that say what they are of by their names alone."""
_PROCESS = ("process_id", "type", "name", "used_gpu_memory")
_MOST = 64


def read(lines: Iterable[str]) -> Table:
    """Read the log; indentation may be lost, so a value belongs to the last line that is a section's name.

    ``GPU 00000000:18:00.0`` … ``Remapped Rows`` … ``Pending : Yes``
    """
    found, table, attached = list[Readings](), Table(), None
    section, inside = "", False
    for line in lines:
        if _LOG in line or _GPU.match(line):
            inside = True
        elif line in _ALONE and not found and not inside:
            inside = True
            found.append(Readings())
        elif line.startswith(_ROWS) and not found and not inside and _FIELD.match(line):
            inside, section = True, "gpu_power_readings"
            found.append(Readings())
        if not inside:
            continue
        if match := _GPU.match(line):
            if len(found) >= _MOST:
                break
            if found and not found[0].address:
                found.clear()  # the whole log stands below what was cut out of it
            found.append(Readings(match["address"]))
            section = ""
        elif match := _FIELD.match(line):
            name, value = normal(match["name"]), match["value"].strip()
            if found:
                _value(found[-1], section, name, value)
            elif name == "driver_version":
                table.driver_version = value if re.fullmatch(r"[\d.]{3,20}", value) else None
            elif name == "cuda_version":
                table.cuda_version = value if re.fullmatch(r"[\d.]{3,8}", value) else None
            elif name == "attached_gpus" and value.isdecimal() and value.isascii():
                attached = int(value[:4])
        elif _HEADER.match(line):
            section = normal(line)
    cut = bool(found) and not found[0].address and not table.driver_version
    table.devices = [replace(gpu, unnumbered=cut) for gpu in devices(found, attached)]
    return table


def devices(found: list[Readings], attached: int | None) -> list[Gpu]:
    """Number the GPUs: in order where all are there, else (``-i 3``) as the device node is."""
    whole = attached in (None, len(found))
    return [gpu(r, place if whole else r.whole("minor_number") or 0) for place, r in enumerate(found)]


def _value(readings: Readings, section: str, name: str, value: str) -> None:
    if name == "process_id":
        readings.processes = [*(readings.processes or []), {}][:1000]
    if readings.processes is not None and name in _PROCESS:
        readings.processes[-1][name] = value
    else:
        readings.add(section, name, value)

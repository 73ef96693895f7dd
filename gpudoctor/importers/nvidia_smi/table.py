"""nvidia-smi's table: a header, two or three lines for each GPU, MIG instances, processes."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from gpudoctor.facts import Gpu, GpuProcess
from gpudoctor.importers.nvidia_smi.addresses import ADDRESS, pci_address
from gpudoctor.importers.nvidia_smi.readings import mebibytes, process_name
from gpudoctor.importers.nvidia_smi.vocabulary import COMPUTE_MODES, DRIVER_MODELS

_DRIVER = re.compile(r"Driver Version:\s{0,20}(\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)")
_CUDA = re.compile(r"CUDA Version:\s{0,20}(\d{1,2}\.\d{1,2})")
_BUS = re.compile(ADDRESS)
_MEMORY = re.compile(r"(\d{1,7})MiB\s{0,8}/\s{0,8}(\d{1,7})MiB")
_POWER = re.compile(r"(?:(\d{1,4})W|N/A|ERR!)\s{0,8}/\s{0,8}(?:(\d{1,4})W|N/A|ERR!)")
_TEMPERATURE = re.compile(r"(?:^|\s)(\d{1,3})C(?:\s|$)")
_USE = re.compile(r"(?P<percent>\d{1,3})%")
_MODE = re.compile(r"Default|E\. ?Process|E\. ?Thread|Prohibited")
_PROCESS = re.compile(
    r"(?P<gpu>\d{1,4})\s+(?:(?:N/A|\d{1,3})\s+(?:N/A|\d{1,3})\s+)?(?P<pid>\d{1,10})\s+"
    r"(?P<kind>C\+G|M\+C\+G|M\+C|C|G)\s+(?P<name>\S.*?)\s+(?:(?P<memory>\d{1,7})MiB|N/A)$"
)
_PERSISTENCE = {"On": True, "Off": False}
_MODES = {*_PERSISTENCE, *DRIVER_MODELS, "N/A", "Disabled", "Enabled", "ERR!"}
UNKNOWN = 999
"""``nvmlReturn_t`` of the words ``Unknown Error``, for which the table has ``ERR!``."""
_JETSON = "(nvgpu)"
"""Behind the name of a Jetson's GPU, which is on no bus and of which the table tells nothing else."""
_ALL_BUT_ONE = 3
"""Of fan, temperature, performance state and power: a passive card has no fan."""
_MOST = 64


@dataclass
class Table:
    """What a text shows of the table."""

    driver_version: str | None = None
    cuda_version: str | None = None
    devices: list[Gpu] = field(default_factory=list)
    processes: dict[int, list[GpuProcess]] | None = None
    """By GPU; ``None``: the part with the processes is not there."""
    instances: dict[int, int] | None = None
    """How many MIG instances each GPU has; ``None``: the part with them is not there."""

    @property
    def gpus(self) -> list[Gpu]:
        """The GPUs with their processes and instances."""
        return [self._whole(gpu) for gpu in self.devices]

    def _whole(self, gpu: Gpu) -> Gpu:
        if self.processes is not None:
            gpu = replace(gpu, processes=self.processes.get(gpu.index, []))
        if not gpu.mig or gpu.mig_uuids:
            return gpu
        # The part with the instances names no UUID. Where it was cut off there may be one, and an empty list says no.
        count = 1 if self.instances is None else self.instances.get(gpu.index, 0)
        return replace(gpu, mig_uuids=[""] * count)


def read(lines: Iterable[str]) -> Table:
    """Read a table; of several the first one's value counts, unless it has none. Its head may stand alone in prose.

    ``| NVIDIA-SMI 535.104.05    Driver Version: 535.104.05   CUDA Version: 12.2     |``
    ``|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |``
    """
    table, row, part = Table(), 0, "devices"
    for line in lines:
        if "|" not in line and "NVIDIA-SMI" not in line:
            continue
        if "Driver Version:" in line:
            part = "devices"
            if table.driver_version is None and (driver := _DRIVER.search(line)):
                cuda = _CUDA.search(line)
                table.driver_version, table.cuda_version = driver[1], cuda[1] if cuda else None
        cells = [cell.strip() for cell in line.split("|", 4)]
        if len(cells) < 3 or cells[0]:
            continue
        if cells[1].startswith("MIG devices"):
            part, table.instances = "instances", table.instances or {}
        elif cells[1].startswith("Processes"):
            part = "processes"
        elif part == "processes":
            _process(table, cells[1])
        elif part == "instances":
            _instance(table, cells)
        elif len(cells) >= 4:
            row = _row(table, cells, row)
    return table


def _row(table: Table, cells: list[str], row: int) -> int:
    """Read one line of a GPU, and return which one comes next; 0: none of a GPU that is known here."""
    words, bus = cells[1].split(), _BUS.match(cells[2])
    if not bus and _JETSON in words and words[0].isascii() and words[0].isdecimal() and not table.devices:
        table.devices.append(Gpu(index=int(words[0][:4]), name=" ".join(words[1 : words.index(_JETSON)])))
        return 0
    if bus and len(words) >= 3 and words[-1] in _MODES and words[0].isascii() and words[0].isdecimal():
        index = int(words[0][:4])
        if len(table.devices) >= _MOST or any(gpu.index == index for gpu in table.devices):
            return 0
        ecc = cells[3]
        table.devices.append(
            Gpu(
                index=index,
                name=" ".join(words[1:-1]).removesuffix("...").replace("ERR!", "").strip(),
                pci_address=pci_address(bus["address"]),
                persistence=_PERSISTENCE.get(words[-1]),
                driver_model=words[-1] if words[-1] in DRIVER_MODELS else "",
                ecc=True if ecc.isdecimal() or ecc == "On" else False if ecc == "Off" else None,
                ecc_uncorrected=int(ecc[:12]) if ecc.isascii() and ecc.isdecimal() else None,
                errors=["ECC: Unknown Error"] if ecc == "ERR!" else [],
            )
        )
        return 2
    if not table.devices or not row:
        return 0
    if row == 2:
        table.devices[-1] = replace(table.devices[-1], **_second(table.devices[-1], cells))
        return 3
    if cells[3].startswith(("Enabled", "Disabled")):
        on = cells[3].startswith("Enabled")
        # A star: after the next reset it is the other way round.
        table.devices[-1] = replace(table.devices[-1], mig=on, mig_pending=on != cells[3].endswith("*"))
    return 0


def _second(gpu: Gpu, cells: list[str]) -> dict[str, Any]:
    """Read ``| N/A   34C    P0              62W / 400W |       4MiB / 81920MiB |      0%      Default |``."""
    found: dict[str, Any] = {}
    if temperature := _TEMPERATURE.search(cells[1]):
        found["temperature_celsius"] = int(temperature[1])
    if power := _POWER.search(cells[1]):
        names = ("power_watts", "power_limit_watts")
        found |= {name: float(watts) for name, watts in zip(names, power.groups(), strict=True) if watts}
    if memory := _MEMORY.search(cells[2]):
        found["memory_used_bytes"], found["memory_bytes"] = (int(size) << 20 for size in memory.groups())
    if use := _USE.search(cells[3]):
        found["utilization_percent"] = int(use["percent"])
    if mode := _MODE.search(cells[3]):
        found["compute_mode"] = COMPUTE_MODES[mode[0].replace(" ", "").lower()]
    # Of power and fan alone some laptops say so, and all is well.
    words = cells[1].split()
    if "ERR!" in cells[3] or (temperature is None and "ERR!" in words[:2]):
        found["errors"] = [*gpu.errors, "temperature and utilization: Unknown Error"]
        nothing = "ERR!" in cells[3] and words[:4].count("ERR!") >= _ALL_BUT_ONE
        if gpu.errors or nothing:  # nothing is left that it answers
            found["handle_code"] = UNKNOWN
    return found


def _instance(table: Table, cells: list[str]) -> None:
    """Read ``|  0    7   0   0  |  12MiB /  9728MiB  | …``: GPU, GPU instance, compute instance, MIG device."""
    words = cells[1].split()
    if len(words) != 4 or not all(word.isascii() and word.isdecimal() for word in words):
        return
    index = int(words[0][:4])
    for place, gpu in enumerate(table.devices):
        if gpu.index == index and table.instances is not None:
            table.devices[place] = replace(gpu, mig=True)
            table.instances[index] = min(table.instances.get(index, 0) + 1, 64)


def _process(table: Table, text: str) -> None:
    """Read ``0   N/A  N/A      4411      C   python      3310MiB``; who only draws (``G``) is left out."""
    if table.processes is None and ("No running processes" in text or text.startswith("GPU ")):
        table.processes = {}
    match = _PROCESS.match(text[:300])
    if match is None or match["kind"] == "G":
        return
    windows = any(gpu.driver_model and gpu.index == int(match["gpu"]) for gpu in table.devices)
    if windows and match["kind"] == "C+G" and not match["memory"]:
        return  # all that shows a window there is of both kinds
    table.processes = table.processes or {}
    found = table.processes.setdefault(int(match["gpu"]), [])
    if len(found) < 200 and all(process.pid != int(match["pid"]) for process in found):
        found.append(
            GpuProcess(
                pid=int(match["pid"]),
                memory_bytes=mebibytes(match["memory"] or ""),
                name=process_name(match["name"]),
            )
        )

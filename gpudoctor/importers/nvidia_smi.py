"""What stands of ``nvidia-smi``'s table, or of its refusal, in a pasted text."""

import re
from dataclasses import dataclass, field

from msgspec.structs import replace

from gpudoctor.facts import Gpu

_DRIVER = re.compile(r"Driver Version:\s{0,20}(\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)")
_CUDA = re.compile(r"CUDA Version:\s{0,20}(\d{1,2}\.\d{1,2})")
_BUS = re.compile(r"([0-9A-Fa-f]{8}):([0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9])")
_MEMORY = re.compile(r"(\d{1,7})MiB\s{0,8}/\s{0,8}(\d{1,7})MiB")
_MODES = {"On", "Off", "N/A", "WDDM", "TCC", "MCDM", "Disabled", "Enabled"}
# nvmlReturn_t of the words that NVML has for it.
_CODES = {
    "driver not loaded": 9,
    "gpu access blocked by the operating system": 17,
    "driver/library version mismatch": 18,
    "unknown error": 999,
}
_REFUSALS = ("NVIDIA-SMI has failed", "No devices were found", "Unable to determine the device handle")
_NVML = "Failed to initialize NVML: "


@dataclass
class Table:
    """What a text shows of ``nvidia-smi``."""

    driver_version: str | None = None
    cuda_version: str | None = None
    error: str | None = None
    error_code: int | None = None
    devices: list[Gpu] = field(default_factory=list)


def read(lines: list[str]) -> Table:
    """Read the header, the rows and the refusals.

    ``| NVIDIA-SMI 535.104.05    Driver Version: 535.104.05   CUDA Version: 12.2     |``
    ``|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |``
    """
    table = Table()
    for line in map(str.strip, lines):
        if table.error is None:
            _refusal(table, line)
        if "|" not in line:
            continue
        if "Driver Version:" in line and (driver := _DRIVER.search(line)):
            cuda = _CUDA.search(line)
            table.driver_version, table.cuda_version = driver[1], cuda[1] if cuda else None
        _row(table, [cell.strip() for cell in line.split("|", 4)])
    return table


def _refusal(table: Table, line: str) -> None:
    if line.startswith(_NVML):
        table.error = line.removeprefix(_NVML)[:300]
        table.error_code = _CODES.get(table.error.lower().rstrip(". "))
    elif line.startswith(_REFUSALS):
        table.error = line[:300]


def _row(table: Table, cells: list[str]) -> None:
    """Read a row's first line (index, name, address), or its second (memory)."""
    if len(cells) < 4 or cells[0]:
        return
    words, bus = cells[1].split(), _BUS.match(cells[2])
    if bus and len(words) >= 3 and words[-1] in _MODES and words[0].isascii() and words[0].isdecimal():
        index = int(words[0][:4])
        if all(gpu.index != index for gpu in table.devices[-64:]):
            address = f"{bus[1][4:]}:{bus[2]}".lower()
            table.devices.append(Gpu(index=index, name=" ".join(words[1:-1]), pci_address=address))
    elif table.devices and table.devices[-1].memory_bytes is None and (memory := _MEMORY.search(cells[2])):
        used, whole = (int(mebibytes) << 20 for mebibytes in memory.groups())
        table.devices[-1] = replace(table.devices[-1], memory_bytes=whole, memory_used_bytes=used)

"""What nvidia-smi says where it cannot ask the driver, or one of the GPUs."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from gpudoctor.facts import Gpu
from gpudoctor.importers.nvidia_smi.addresses import ADDRESS, pci_address

# nvmlReturn_t of the words that NVML has for it.
_CODES = {
    "driver not loaded": 9,
    "gpu access blocked by the operating system": 17,
    "driver/library version mismatch": 18,
    "unknown error": 999,
}
_NVML = "Failed to initialize NVML: "
# What a program printed of it: stdout="Failed to initialize NVML: Unknown Error"
_QUOTED = re.compile(r"[\"'`=:] ?Failed to initialize NVML: (?P<error>[A-Z][\w /-]{2,60}?)[\"'`]?$")
# Other programs' words for it: "Error: nvml: Driver/library version mismatch", "nvidia nvml : Driver/library …"
_MISMATCH = re.compile(r"\bnvml ?: (?P<error>Driver/library version mismatch)", re.IGNORECASE)
# It prints these words for NVML_ERROR_DRIVER_NOT_LOADED.
_NOT_LOADED = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver"
# b"NVIDIA-SMI has failed because it couldn't …" of a program that ran it
_QUOTED_NOT_LOADED = re.compile(
    r"[\"'`](?P<error>NVIDIA-SMI has failed because it couldn.{1,3}t communicate with the NVIDIA driver)"
)
_NO_DEVICES = "No devices were found"
# nvidia-smi says "No devices were found", in somebody's sentence or alone on its line
_QUOTED_NO_DEVICES = re.compile(
    r"(?:nvidia-smi\b.{0,120}|^[\s>*-]{0,8}`{0,3})[\"'`]No devices were found[\"'`]"
)
# "GPU 0000:0B:00.0: Unknown Error", "GPU0000:65:00.0: …", "GPU3: 0000:5F:00.0: …", "GPU2: Unknown Error"
_HANDLE = re.compile(
    rf"Unable to determine the device handle for GPU ?(?:(?P<index>\d{{1,3}}): ?)?(?:{ADDRESS}: ?)?"
    r"(?P<error>[A-Z][\w /-]{2,60})",
    re.IGNORECASE,
)
_HANDLE_CODES = {"gpu is lost": 15, "unknown error": 999, "not found": 6, "insufficient permissions": 4}
_MOST = 64


@dataclass
class Refusal:
    """What nvidia-smi could not do."""

    error: str | None = None
    """NVML's own words, or nvidia-smi's, for not having started at all."""
    error_code: int | None = None
    """``nvmlReturn_t``."""
    no_devices: bool = False
    """NVML started, and has no GPU."""
    lost: list[Gpu] = field(default_factory=list)
    """GPUs for which there is no handle; an index of -1 is not known."""


def read(lines: Iterable[str]) -> Refusal:
    """Read the refusals that stand at the beginning of a line, or quoted at its end: within one they are prose.

    ``Failed to initialize NVML: Driver/library version mismatch``
    """
    refusal = Refusal()
    for line in lines:
        if refusal.error is None and line.startswith(_NVML):
            said = line.removeprefix(_NVML)[:300]
            # A title goes on behind the words: "Unknown Error after some hours".
            words = next((words for words in _CODES if said.lower().startswith(words)), "")
            refusal.error = said[: len(words)] if words else said
            refusal.error_code = _CODES.get(words)
        elif refusal.error is None and _NVML in line and (quoted := _QUOTED.search(line[-400:])):
            refusal.error = quoted["error"]
            refusal.error_code = _CODES.get(quoted["error"].lower())
        elif refusal.error is None and line.startswith("NVIDIA-SMI has failed"):
            refusal.error = line[:300]
            refusal.error_code = 9 if line.startswith(_NOT_LOADED) else None
        elif (
            refusal.error is None
            and "NVIDIA-SMI has" in line
            and (quoted := _QUOTED_NOT_LOADED.search(line[:2000]))
        ):
            refusal.error, refusal.error_code = quoted["error"], 9
        elif (
            refusal.error_code is None
            and "version mismatch" in line
            and (other := _MISMATCH.search(line[:400]))
        ):
            refusal.error, refusal.error_code = other["error"], _CODES[other["error"].lower()]
        elif _NO_DEVICES in line and (line.startswith(_NO_DEVICES) or _QUOTED_NO_DEVICES.search(line[:2000])):
            refusal.no_devices = True
        elif line[:10].lower() == "unable to " and len(refusal.lost) < _MOST:
            _lost(refusal, line)
    return refusal


def _lost(refusal: Refusal, line: str) -> None:
    match = _HANDLE.match(line)
    if match is None:
        return
    index = int(match["index"]) if match["index"] else -1
    address = pci_address(match["address"] or "")
    if any(gpu.index == index and gpu.pci_address == address for gpu in refusal.lost):
        return
    error = match["error"].strip()
    refusal.lost.append(
        Gpu(
            index=index,
            pci_address=address,
            errors=[f"handle: {error}"],
            lost=error.lower() == "gpu is lost",
            handle_code=_HANDLE_CODES.get(error.lower()),
        )
    )

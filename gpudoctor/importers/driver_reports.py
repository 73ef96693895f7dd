"""GPUs and driver as programs beside nvidia-smi list them: ``nvidia-container-cli info``, cuDNN's ``collect_env``."""

import re
from collections.abc import Iterable
from typing import Any

from gpudoctor.facts import Gpu
from gpudoctor.importers.nvidia_smi.addresses import pci_address
from gpudoctor.importers.nvidia_smi.table import Table

_FIELD = re.compile(
    r"(?P<key>NVRM version|CUDA version|Device Index|Model|GPU UUID|Bus Location|Architecture|Driver version"
    r"|GPU (?P<index>\d{1,3}) \(CUDA order\))\s{0,12}:\s{1,12}(?P<value>\S.{0,120})$"
)
# "Nvidia-driver: 460.91.03", "5. Nvidia Driver:525.105.17", as people type it
_TYPED = re.compile(
    r"[-*\d. ]{0,6}(?:nvidia[ -]?)?(?:gpu )?driver(?:[ -]version)?\s{0,4}[:=]\s{0,4}v?"
    r"(?P<version>\d{3}\.\d{1,3}(?:\.\d{1,3})?)$",
    re.IGNORECASE,
)
# "on an RTX 5090, driver 535.104.05", "and the nvidia driver version is 442.92": within a sentence of what is there
_SAID = re.compile(
    r"\b(?:nvidia[ -]?|gpu |cuda )?driver(?: version)?(?: is| was|:|=)? {0,2}v?"
    r"(?P<version>[3-9]\d{2}\.\d{2,3}(?:\.\d{1,3})?)(?![\w+])(?!\.\d)",
    re.IGNORECASE,
)
# What somebody should install, or has tried, is not what is there.
_OTHER = re.compile(
    r"\b(?:install|upgrad|updat|downgrad|requir|need|minimum|at least|recommend|support|tried|try|chang|from|old"
    r"|newer|instead|or later|works?|supposed|until|since|fixed|bump|latest)|>=|https?:",
    re.IGNORECASE,
)
_VERSION = re.compile(r"\d{2,4}\.\d{1,4}(?:\.\d{1,4})?$")
_NAMES = {"Model": "name", "GPU UUID": "uuid", "Architecture": "capability"}
_MOST = 64


def read(lines: Iterable[str]) -> Table:
    """Read the devices, and the driver's version where somebody typed it.

    ``NVRM version:   460.39`` … ``Device Index:   0`` … ``Model:          GeForce RTX 3090``
    """
    driver: str | None = None
    said: set[str] = set()
    found: dict[int, dict[str, Any]] = {}
    last: int | None = None
    for line in lines:
        match = _FIELD.match(line[:200]) if line[:1] in "NCDMGBA" else None
        if match is None:
            if driver is None and "river" in line[:40] and (typed := _TYPED.match(line[:80])):
                driver = typed["version"]
            elif "river" in line[:400] and not _OTHER.search(line[:400]):
                said |= {match["version"] for match in _SAID.finditer(line[:400])}
            continue
        key, value = match["key"], match["value"].strip()
        if key in ("NVRM version", "Driver version"):
            driver = driver or (value if _VERSION.match(value) else None)
        elif key == "Device Index" and value.isascii() and value.isdecimal() and len(found) < _MOST:
            last = int(value[:3])
            found.setdefault(last, {})
        elif match["index"] and len(found) < _MOST:
            found.setdefault(int(match["index"]), {"name": value.partition(" | ")[0]})
        elif last is not None and key in _NAMES:
            found[last].setdefault(_NAMES[key], value)
        elif last is not None and key == "Bus Location":
            found[last].setdefault("pci_address", pci_address(value))
    devices = [Gpu(index=index, **values) for index, values in sorted(found.items()) if values]
    if driver is None and len(said) == 1:
        driver = said.pop()
    return Table(driver_version=driver, devices=devices)

"""Torch's complaints about a machine in a text that holds no environment block: an issue's body, a line of a log."""

import re
from collections.abc import Iterable

from gpudoctor.facts import Raised, Torch, TorchDevice
from gpudoctor.importers import torch_messages

# torch/cuda/__init__.py; a reader who types it from the screen writes it small, and "capabilities".
_INCOMPATIBLE = re.compile(
    r"(?P<name>(?:NVIDIA |GeForce |Tesla |Quadro )?[A-Za-z][\w .-]{2,60}?) with CUDA capabilit(?:y|ies) "
    r"sm_(?P<capability>\d{2,3})[af]? is not compatible with the current PyTorch installation",
    re.IGNORECASE,
)
# "(found version 11040)" stands in the text that torch prints, and in nobody's prose about it.
_TOO_OLD = re.compile(r"The NVIDIA driver on your system is too old \(found version \d{4,6}\)")
_NO_DRIVER = re.compile(r"Found no NVIDIA driver on your system\. Please check that you have an NVIDIA GPU")
_STARTS = re.compile(r"Unexpected error from cudaGetDeviceCount\(\)|CUDA unknown error - this may be due to")
# What a logger or the system's journal puts in front of a line.
_FRONT = re.compile(r".{0,200}?(?:\]: |Warning: |Error: ?)")
_LINES_BELOW = 3
"""The list of what torch was built for stands in the same paragraph."""


def read(lines: list[str]) -> Torch | None:
    """Read what torch said of the driver or a GPU; ``None`` where the text has none of its own words.

    Which CUDA that torch was built for is not known, which an empty text says: it was built for some.

    ``The NVIDIA driver on your system is too old (found version 11040). Please update …``
    """
    raised = torch_messages.init_error(lines) or _raised(lines)
    warning = _incompatible(lines)
    if raised is None and warning is None:
        return None
    warnings = [warning] if warning is not None else []
    devices = [
        TorchDevice(ordinal=number, name=name, capability=capability)
        for number, (name, capability) in enumerate(torch_messages.capabilities(warnings).items())
    ]
    return Torch(
        imported=True,
        cuda="",
        warnings=warnings,
        arch_list=torch_messages.architectures(warnings),
        cuda_available=False if raised is not None else None,
        cuda_error=raised,
        devices=devices,
    )


def _raised(lines: Iterable[str]) -> Raised | None:
    for line in lines:
        for words in (_TOO_OLD, _NO_DRIVER, _STARTS):
            if (match := words.search(line[:3000])) is not None:
                return Raised(type="RuntimeError", message=line[match.start() :][:2000].rstrip("\"'`"))
    return None


def _incompatible(lines: list[str]) -> str | None:
    """Return the warning about a GPU without code as torch writes it, on one line."""
    for number, line in enumerate(lines):
        if "sm_" not in line or (match := _INCOMPATIBLE.search(line[:2000])) is None:
            continue
        below = [_FRONT.sub("", text, count=1) for text in lines[number + 1 : number + 1 + _LINES_BELOW]]
        listed = next((text.strip() for text in below if "CUDA capabilities" in text), "")
        name, capability = match["name"].strip(), match["capability"]
        said = f"{name} with CUDA capability sm_{capability} is not compatible with the current PyTorch installation."
        return f"UserWarning: {said} {listed}".strip()
    return None

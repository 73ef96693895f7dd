"""``pip list``, ``pip freeze``, ``uv pip list`` and ``conda list`` -> what is installed."""

import re
from collections.abc import Iterable

from gpudoctor.facts.distributions import CONDA_NAMES, Distribution

_PIP_HEADER = re.compile(r"Package\s+Version(?:\s|$)")
_CONDA_HEADER = re.compile(r"#\s*(?:packages in environment at |Name\s+Version\s+Build)")
_ROW = re.compile(r"(?P<name>[A-Za-z0-9_][\w.-]{0,80})\s{1,60}(?P<version>\d[\w.+!-]{0,80})(?:\s|$)")
_FROZEN = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]{0,80})==(?P<version>\d[\w.+!-]{0,80})$")
# The same public names that the patient's own packages are looked through for; others may be private.
_RELEVANT = re.compile(
    r"(torch|nvidia|cuda|cudnn|nccl|triton|numpy|scipy|pip$|setuptools$|mpi4py|horovod|apex|deepspeed|fairscale|"
    r"accelerate|lightning|transformers|diffusers|datasets|bitsandbytes|xformers|flash|vllm|ray$|jax|tensorflow|"
    r"pillow|psutil|packaging|intel|mkl|onnx|optree|numba|cupy|megatron|transformer.engine|functorch|functional)",
    re.IGNORECASE,
)
# "pip list | grep torch" has no line of columns; people type "torch: 2.1.0", "PyTorch version: 1.9", "torchvision 0.15"
_TYPED = re.compile(
    r"[-*\u2022]?\s{0,3}[`'\"]{0,2}(?P<name>torch|pytorch|torchvision|torchaudio|nvidia-[a-z-]{4,30}-cu1\d)[`'\"]{0,2}"
    r"(?: ?versions?)?(?:\s{0,4}(?:==?|:)\s{0,4}|\s{1,60})[`'\"]?v?"
    r"(?P<version>\d{1,3}\.\d{1,3}(?:\.[\w.+]{1,40})?)[`'\"]?"
    r"(?P<rest>[,;]?$|\s{2,}\S.{0,300}$)",
    re.IGNORECASE,
)
_FROZEN_ENOUGH = 8
"""Fewer lines of ``name==1.2`` may be what somebody asks for, and not what is installed."""
_COMMAND = re.compile(r"\bpip3? (?:list|freeze)\b")
_ALONE = 3
"""So many of them, and nothing else in the text but the command, are its output."""
_CONDA_TORCH = re.compile(
    r"(?:- )?pytorch(?:\s+|=)(?P<version>\d[\w.]{0,40})(?:\s+|=)"
    r"(?:py\d\.\d{1,2}_(?:cuda(?P<dotted>\d{1,2}\.\d)|cpu)|(?:cuda(?P<plain>\d{3})|cpu_|py\d\S{0,20}_cpu))"
)
_COLUMNS = 4
"""Name, version, build and channel."""
_CONDA_ROWS = ("pytorch ", "pytorch=", "- pytorch=")
_MOST = 2000


def read(lines: Iterable[str]) -> list[Distribution]:
    """Read the first list of a text; without any, `[]`.

    ``Package  Version`` with a row of hyphens below it, ``# packages in environment at …``, or ``torch==2.5.1`` lines.
    """
    found: list[Distribution] = []
    frozen: list[Distribution] = []
    kind, rows, others = "", 0, False
    for line in lines:
        if kind:
            row = _ROW.match(line[:300])
            if row is not None and len(found) < _MOST:
                found += _entry(row, conda=kind == "conda")
            elif line and not line.startswith(("-", "#", "\u2500")):
                kind = ""
        elif found:
            break
        elif _PIP_HEADER.match(line[:100]):
            kind = "pip"
        elif _CONDA_HEADER.match(line[:100]):
            kind = "conda"
        elif "==" in line and (row := _FROZEN.match(line[:200])):
            rows += 1
            frozen += _entry(row, conda=False)[: _MOST - len(frozen)]
        elif line and not others and " @ " not in line and not _COMMAND.search(line[:200]):
            others = True
    return found or (frozen if rows >= _FROZEN_ENOUGH or (rows >= _ALONE and not others) else [])


def build(lines: Iterable[str]) -> str | None:
    """Return for which CUDA conda built the torch of its list: ``11.8``, or ``cpu``; ``None`` where it does not say.

    ``pytorch   2.0.1   py3.10_cuda11.8_cudnn8.7.0_0   pytorch``, conda-forge's ``cuda118_py310h…``, ``cpu_generic_…``
    """
    for line in lines:
        if line.startswith(_CONDA_ROWS) and (match := _CONDA_TORCH.match(line[:300])):
            told = match["dotted"] or match["plain"]
            return "cpu" if told is None else told if "." in told else f"{told[:-1]}.{told[-1]}"
    return None


def conda_row(lines: Iterable[str]) -> list[Distribution]:
    """Return the torch of conda's row that stands alone, without the list's head: its build tells that it is a row.

    ``pytorch   2.1.0   py3.10_cpu_0   pytorch``, ``- pytorch=2.1.0=py3.10_cuda12.1_cudnn8.9.2_0`` of an export
    """
    rows = (
        _CONDA_TORCH.match(line)
        for line in lines
        if line.startswith(_CONDA_ROWS)
        and len(line) < 300
        and len(line.removeprefix("- ").split()) in (1, _COLUMNS - 1, _COLUMNS)
        and " or " not in line
    )
    versions = {row["version"] for row in rows if row is not None}
    return [Distribution(name="torch", version=version) for version in versions]


def typed(lines: Iterable[str]) -> list[Distribution]:
    """Read versions of torch and of its family that stand on lines of their own; of several of a package none.

    Where torch is not among them, or is of two versions, nothing is known: pins stand beside an environment.

    ``torch==2.6.0``, ``torchvision                  0.20.1``, ``PyTorch version: 1.7.1``
    """
    found: dict[str, set[str]] = {}
    for line in lines:
        if "or" in line[:40].lower() or "nvidia-" in line[:40]:
            match = _TYPED.match(line[:400])
            if match is not None and len(found) < _MOST:
                name = match["name"].lower()
                found.setdefault(CONDA_NAMES.get(name, name), set()).add(match["version"])
    if len(found.get("torch", ())) != 1:
        return []
    told = {name: next(iter(versions)) for name, versions in found.items() if len(versions) == 1}
    return [Distribution(name=name, version=version) for name, version in told.items()]


def _entry(row: re.Match[str], *, conda: bool) -> list[Distribution]:
    name = CONDA_NAMES.get(row["name"], row["name"]) if conda else row["name"]
    return [Distribution(name=name, version=row["version"])] if _RELEVANT.search(name) else []

"""``dcgmi diag`` and ``dcgmi health``: what NVIDIA's DCGM says of a GPU, in its own sentences (``dcgm_errors.h``).

Of ``dcgm-exporter``, the metrics of which one value is a fault.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from gpudoctor.facts import Gpu, RemappedRows

_SENTENCES: list[tuple[re.Pattern[str], dict[str, Any]]] = [
    (
        re.compile(
            r"GPU (?P<gpu>\d{1,3}) ha[ds] (?:uncorrectable )?memory errors and row remappings are pending"
        ),
        {"remapped_rows": RemappedRows(pending=True)},
    ),
    (
        re.compile(r"GPU (?P<gpu>\d{1,3}) had uncorrectable memory errors and row remapping failed"),
        {"remapped_rows": RemappedRows(failed=True)},
    ),
    (
        re.compile(r"Persistence mode for GPU (?P<gpu>\d{1,3}) is (?:currently )?disabled"),
        {"persistence": False},
    ),
    (
        re.compile(r"Pending page retirements .{0,60}detected (?:on|in) GPU (?P<gpu>\d{1,3})"),
        {"retired_pages_pending": True},
    ),
    (re.compile(r"GPU (?P<gpu>\d{1,3}) requires a reset to recover from a fault"), {"reset_required": True}),
]
# dcgm-exporter, and what Prometheus keeps of it: DCGM_FI_DEV_ROW_REMAP_FAILURE{gpu="3",device="nvidia3",…} 1
_METRIC = re.compile(
    r"DCGM_FI_DEV_ROW_REMAP_(?P<what>FAILURE|PENDING)\{(?:[^}]{0,400},\s?)?"
    r'gpu="(?P<gpu>\d{1,3})"[^}]{0,600}\} 1(?:\.0)?$'
)
_FIELDS = {"FAILURE": "failed", "PENDING": "pending"}
_SIGNS = ("GPU ", "ending page", "ersistence mode for", "DCGM_FI_DEV_ROW_REMAP")
_MOST = 64


def read(lines: Iterable[str]) -> list[Gpu]:
    """Read the GPUs of which DCGM complained, with what it says of each; a cell of its table may be several lines high.

    ``| Warning     | GPU 5 had memory errors and row remappings are pending |``
    """
    found: dict[int, Gpu] = {}
    for text in _sentences(lines):
        if (metric := _METRIC.search(text)) is not None:
            gpu = found.get(int(metric["gpu"]), Gpu(index=int(metric["gpu"])))
            rows = replace(gpu.remapped_rows or RemappedRows(), **{_FIELDS[metric["what"]]: True})
            found[gpu.index] = replace(gpu, remapped_rows=rows)
            continue
        for words, says in _SENTENCES:
            match = words.search(text)
            if match is None:
                continue
            index = int(match["gpu"])
            if index in found or len(found) < _MOST:
                found[index] = replace(found.get(index, Gpu(index=index)), **says)
    return [found[index] for index in sorted(found)]


def _sentences(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines with a sign of a sentence; a row whose first cell is empty goes on in the cell above it."""
    cell = ""
    for line in lines:
        cells = [part.strip() for part in line[:400].split("|")] if line.startswith("|") else []
        if len(cells) == 4 and not cells[1] and not cells[3]:
            cell = f"{cell} {cells[2]}"[-2000:]
            continue
        if any(sign in cell for sign in _SIGNS):
            yield cell
        cell = cells[2] if len(cells) == 4 else line[:400]
    yield cell

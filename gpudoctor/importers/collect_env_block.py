"""collect_env's fields in a pasted text: ``key: value`` lines among prose, logs and other blocks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gpudoctor.importers.packages import ENTRY

SPECIFIC = frozenset(
    {
        "pytorch version",
        "is debug build",
        "cuda used to build pytorch",
        "rocm used to build pytorch",
        "rocm sdk used to build pytorch",
        "hip used to build pytorch",
        "python platform",
        "is cuda available",
        "cuda runtime version",
        "cuda_module_loading set to",
        "gpu models and configuration",
        "nvidia driver version",
        "cudnn version",
        "is xpu available",
        "hip runtime version",
        "miopen runtime version",
        "is xnnpack available",
        "caching allocator config",
    }
)
"""Keys that collect_env has and prose seldom."""
KEYS = SPECIFIC | {
    "os",
    "gcc version",
    "clang version",
    "cmake version",
    "libc version",
    "container",
    "python version",
    "nccl version",
    "cpu",
    "architecture",
    "cpu(s)",
    "model name",
    "name",
    "versions of relevant libraries",
    "rocm version",
    "neuron sdk version",
    "vllm version",
    "vllm build flags",
    "gpu topology",
    "legend",
    "environment variables",
}
ANCHORS = frozenset({"is debug build", "cuda used to build pytorch", "is cuda available"})
"""Keys that a block holds once and prose never."""
FIRST = frozenset({"is debug build", "cuda used to build pytorch"})
"""Those that come before the others."""
_LATE = frozenset(
    {
        "gpu models and configuration",
        "nvidia driver version",
        "cudnn version",
        "versions of relevant libraries",
    }
)
"""What comes below all of them."""
NOTHING = frozenset({"could not collect", "no cuda", "n/a", "none", "not available", "unknown"})
"""Values that say that there is none, in lower case."""
_JOINED = re.compile(
    r"(?<=\S) +(?=(?:"
    r"PyTorch version|Is debug build|CUDA used to build PyTorch|ROCM used to build PyTorch|OS|GCC version"
    r"|Clang version|CMake version|Libc version|Python version|Python platform|Is CUDA available"
    r"|CUDA runtime version|CUDA_MODULE_LOADING set to|GPU models and configuration|GPU \d{1,3}"
    r"|Nvidia driver version|cuDNN version|Is XPU available|HIP runtime version|MIOpen runtime version"
    r"|Is XNNPACK available|CPU|Architecture|CPU\(s\)|Model name|Versions of relevant libraries"
    r") {0,40}: |={10,80} |\[(?:pip3?|conda|uv)\] )"
)
_QUOTED = re.compile(r"(?: >){1,20}$")
"""The mark of the next line, in an output that was quoted before it lost its line ends."""
_EXAMPLE = re.compile(r" \(e\.g\.,? [^()]{1,40}\)")
"""What the issue form of 2018 to 2021 had in a key: ``PyTorch Version (e.g., 1.0): 1.4.0``."""
_WITHOUT_COLON = re.compile(r"PyTorch version (\d{1,2}\.\d{1,3}\S{0,60})$")
_INCOMPATIBLE = "is not compatible with the current PyTorch installation"
_TITLES = ("collecting environment information", "system info")
_BEGINS = re.compile(
    r"[|+]|GPU \d{1,4}:|MIG |\[(?:pip|conda|uv)|[A-Z][\w() ]{0,40}: {2,}|[A-Z][A-Z0-9_]{1,79}=|Traceback |[=`]{3,}"
    r"|\S{0,300}:\d{1,6}: \w+Warning"
)


@dataclass(frozen=True)
class Block:
    """The lines of one output, and what stands before it."""

    lines: list[str]
    """Without indentation, quote marks and tags."""
    values: dict[str, str] = field(default_factory=dict)
    """By key, in lower case."""
    places: dict[str, int] = field(default_factory=dict)
    """The line of each key."""

    def said(self, key: str) -> str | None:
        """Return a value; ``None`` where its line is missing or says that there is none."""
        value = self.values.get(key, "")
        return None if not value or value.lower() in NOTHING else value

    def denied(self, key: str) -> bool:
        """Return whether the line is there and says that there is none."""
        return self.values.get(key, "").lower() in NOTHING

    def truth(self, key: str) -> bool | None:
        """Return ``True`` or ``Yes``, ``False`` or ``No``; ``None`` for anything else."""
        return {"true": True, "yes": True, "false": False, "no": False}.get(self.values.get(key, "").lower())

    def after(self, key: str) -> Iterator[str]:
        """Yield the lines below a key, up to the next key."""
        if key not in self.places:
            return
        begin = self.places[key] + 1
        end = min((place for place in self.places.values() if place >= begin), default=len(self.lines))
        yield from self.lines[begin:end]


def spread(line: str) -> list[str]:
    """Split a whole output that lost its line ends: ``… OS: Ubuntu 22.04 Is CUDA available: True …``.

    Returns the line alone where it is none.
    """
    if len(line) < 200 or len(_JOINED.findall(line[:100_000])) < 6:
        return [line]
    return [_QUOTED.sub("", part.strip()) for part in _JOINED.sub("\n", line[:100_000]).split("\n")]


def find(all_rows: list[str]) -> Block | None:
    """Find collect_env's output among the lines of a text; ``None`` where it has none.

    Of several outputs it is the one with the most fields, of equals the first: the reporter's comes before
    the answers'. A key that comes twice counts where it is nearest to the fields that only collect_env has.
    """
    found = [(number, *field) for number, row in enumerate(all_rows) if (field := _field(row)) is not None]
    best: Block | None = None
    for begin, end, fields in _regions(all_rows, found):
        values, places = _nearest(fields, begin)
        if best is None or len(values) > len(best.values):
            best = Block(all_rows[begin:end], values, places)
    if best is None:
        return None
    best = _without_others(best)
    entries = sum(1 for row in best.lines if row.startswith("[") and ENTRY.match(row))
    warned = "pytorch version" in best.values and any(_INCOMPATIBLE in row for row in all_rows)
    if not (SPECIFIC & best.values.keys() or entries) or len(best.values) + entries + warned < 2:
        return None
    return best


def _without_others(block: Block) -> Block:
    """Leave out a list of packages that stands above the version of torch, where there is one below too."""
    place = block.places.get("pytorch version", 0)
    listed = [number for number, row in enumerate(block.lines) if row.startswith("[") and ENTRY.match(row)]
    if not listed or not listed[0] < place < listed[-1]:
        return block
    lines = ["" if number in listed and number < place else row for number, row in enumerate(block.lines)]
    return Block(lines, block.values, block.places)


def _field(row: str) -> tuple[str, str] | None:
    """Split ``- PyTorch version   : 2.5.1``, by hand ``PyTorch version 2.5.1``; ``None`` for a line without a key."""
    head, colon, value = row[:80].replace("\N{FULLWIDTH COLON}", ":").partition(":")
    if not colon:
        retyped = _WITHOUT_COLON.match(row)
        return ("pytorch version", retyped[1]) if retyped else None
    key = _EXAMPLE.sub("", " ".join(head.lstrip("-*\u2022 ").split()).lower())
    return (key, (value + row[80:]).strip()) if key in KEYS else None


def begins(line: str) -> bool:
    """Return whether a line is none that a terminal cut off from the one above it."""
    line = line.strip()
    return _field(line) is not None or _BEGINS.match(line) is not None


def _regions(
    rows: list[str], found: list[tuple[int, str, str]]
) -> Iterator[tuple[int, int, list[tuple[int, str, str]]]]:
    """Yield the parts of a text that hold one output each.

    A new one begins where an anchor comes again, or below the end of an output that lost its upper lines.
    """
    starts, seen, last = [0], set[str](), 0
    for number, key, _ in found:
        if key in ANCHORS:
            if key in seen or (key in FIRST and _cut_above(rows, found, last, number)):
                starts.append(_start(rows, last + 1, number))
                seen.clear()
            seen.add(key)
            last = number
    position = 0
    for begin, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        fields = []
        while position < len(found) and found[position][0] < end:
            fields.append(found[position])
            position += 1
        yield begin, end, fields


def _cut_above(rows: list[str], found: list[tuple[int, str, str]], last: int, high: int) -> bool:
    """Return whether the output of the anchor at `high` is a second one, and the first lost its upper lines.

    Then what stands late in every output comes before its first line, and comes again.
    """
    begin = _start(rows, last + 1, high)
    above = {key for number, key, _ in found if last <= number < begin} & _LATE
    return begin < high and bool(above) and above <= {key for number, key, _ in found if number > high}


def _start(rows: list[str], low: int, high: int) -> int:
    """Return where the output begins whose first anchor stands at `high`, after the line `low`."""
    version = high
    for number in range(low, high):
        if rows[number].lower().startswith(_TITLES):
            return number
        if (field := _field(rows[number])) and field[0] == "pytorch version":
            version = number
    return version


def _nearest(fields: list[tuple[int, str, str]], begin: int) -> tuple[dict[str, str], dict[str, int]]:
    """Choose among lines of the same key: collect_env's own follow soon after its first anchor."""
    anchor = next((number for number, key, _ in fields if key in ANCHORS), None)
    chosen: dict[str, tuple[int, int, str]] = {}
    for number, key, value in fields:
        away = 0 if anchor is None else number - anchor if number >= anchor else 4 * (anchor - number)
        if key not in chosen or away < chosen[key][0]:
            chosen[key] = (away, number, value)
    values = {key: value for key, (_, _, value) in chosen.items()}
    return values, {key: number - begin for key, (_, number, _) in chosen.items()}

"""The ``gpudoctor checkpoint fix`` line that writes a copy with the target's names."""

import fnmatch
import os.path
import re
import shlex
from collections import Counter
from collections.abc import Sequence

from gpudoctor.checkpoint.comparison.leaving import GLOB, NAMED, grouped
from gpudoctor.checkpoint.comparison.load_line import is_module
from gpudoctor.checkpoint.comparison.renaming import Step
from gpudoctor.facts.checkpoint_file import CheckpointFile

MENDED = ("torch zip", "torch legacy", "safetensors")
"""Kinds of file that ``gpudoctor checkpoint fix`` writes copies of."""
DROPS = 12
"""Entries that one line drops by name."""


def copy_path(file: CheckpointFile | None) -> str:
    """Return the path of the copy that is offered."""
    stem, extension = os.path.splitext(file.path if file is not None else "checkpoint.pt")
    return f"{stem}-fixed{extension}"


def fix_line(
    file: CheckpointFile | None,
    entry: str,
    steps: Sequence[Step],
    without: Sequence[str],
    kept: Sequence[str],
) -> str:
    """Return the line that writes a copy with the target's names, and without the keys `without`.

    `kept` are the keys that stay, by their names in the file too. Empty where there is nothing to do to the file, or
    too much for one line.
    """
    if not (entry or steps or without) or is_module(file, entry) or _in_list(file, entry):
        return ""
    if any("=" in step.pattern for step in steps):  # --rename could not tell which of them parts old from new
        return ""
    if file is not None and file.kind not in MENDED:
        return ""
    dropped = _dropped(without, kept)
    if len(dropped) > DROPS:
        return ""
    path = file.path if file is not None else "checkpoint.pt"
    words = ["gpudoctor", "checkpoint", "fix", path, "-o", copy_path(file)]
    before = f"{entry}." if entry else ""
    words += [word for name in dropped for word in ("--drop", before + name)]
    if entry:
        words += ["--select", entry]
    return shlex.join([*words, *rename_options(steps)])


def _dropped(names: Sequence[str], kept: Sequence[str]) -> list[str]:
    """Return the names and globs that mean `names` and none that is kept; too many where that cannot be written."""
    if any(GLOB & set(name) for name in names):
        return [""] * (DROPS + 1)
    begins, single = grouped(names, kept)
    plain = [*(f"{begin}*" for begin in begins), *single]
    if len(plain) <= NAMED:
        return plain
    found: list[str] = []
    rest = list(names)
    for glob in _globs(names):
        meant = re.compile(fnmatch.translate(glob)).match
        hit = [name for name in rest if meant(name)]
        if len(hit) > 1 and not any(meant(name) for name in kept):
            found.append(glob)
            rest = [name for name in rest if not meant(name)]
    begins, single = grouped(rest, kept)
    short = [*found, *(f"{begin}*" for begin in begins), *single]
    return short if len(short) < len(plain) else plain


def _globs(names: Sequence[str]) -> list[str]:
    """Return globs for names that have a component, or end, in common, those that mean most names first."""
    counts: Counter[str] = Counter()
    for name in names:
        parts = name.split(".")
        counts.update({f"*.{part}.*" for part in parts[1:-1] if not part.isdecimal()})
        counts.update({f"*.{'.'.join(parts[-n:])}" for n in (1, 2) if len(parts) > n})
    return [glob for glob, count in counts.most_common(8) if count > 1]


def rename_options(steps: Sequence[Step]) -> list[str]:
    """Return the options of ``gpudoctor checkpoint fix`` that do the steps, in order."""
    if all(step.strip or step.add for step in steps):
        pairs = [
            ("--strip-prefix", step.strip) if step.strip else ("--add-prefix", step.add) for step in steps
        ]
        return [word for pair in pairs for word in pair]
    return [word for step in steps for word in ("--rename", f"{step.pattern}={step.new}")]


def _in_list(file: CheckpointFile | None, entry: str) -> bool:
    """Tell whether an entry lies in a list, where ``--select`` does not reach; a number is taken for a place in one."""
    lists = {known.path for known in file.entries if known.kind == "list"} if file is not None else set()
    parts = entry.split(".")
    return any(
        part.isdecimal() and (number == 0 or ".".join(parts[:number]) in lists)
        for number, part in enumerate(parts)
    )

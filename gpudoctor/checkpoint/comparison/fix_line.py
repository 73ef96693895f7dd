"""The ``gpudoctor checkpoint fix`` line that writes a copy with the target's names."""

import os.path
import shlex
from collections.abc import Sequence

from gpudoctor.checkpoint.comparison.key_groups import globs
from gpudoctor.checkpoint.comparison.renames import Step
from gpudoctor.facts.checkpoint_file import CheckpointFile

DROPS = 12
"""Entries that one line drops by name."""
GLOB = frozenset("*?[]")


def copy_path(file: CheckpointFile) -> str:
    """Return the path of the copy that is offered."""
    stem, extension = os.path.splitext(file.path)
    return f"{stem}-fixed{extension}"


def fix_line(
    file: CheckpointFile,
    entry: str,
    steps: Sequence[Step],
    without: Sequence[str],
    kept: Sequence[str],
) -> str:
    """Return the line that writes a copy with the target's names, and without the keys `without`.

    `kept` are the keys that stay, by their names in the file too. Empty where there is nothing to do to the file, or
    too much for one line.
    """
    if not file.mendable or not (entry or steps or without) or file.is_module(entry) or _in_list(file, entry):
        return ""
    if any("=" in step.pattern for step in steps):  # --rename could not tell which of them parts old from new
        return ""
    dropped = globs(without, kept)
    if len(dropped) > DROPS or any(GLOB & set(name) for name in without):
        return ""
    words = ["gpudoctor", "checkpoint", "fix", file.path, "-o", copy_path(file)]
    before = f"{entry}." if entry else ""
    words += [word for name in dropped for word in ("--drop", before + name)]
    if entry:
        words += ["--select", entry]
    return shlex.join([*words, *_rename_options(steps)])


def _rename_options(steps: Sequence[Step]) -> list[str]:
    """Return the options of ``gpudoctor checkpoint fix`` that do the steps, in order."""
    if all(step.strip or step.add for step in steps):
        pairs = [
            ("--strip-prefix" if step.strip else "--add-prefix", step.strip or step.add) for step in steps
        ]
        return [word for pair in pairs for word in pair]
    return [word for step in steps for word in ("--rename", f"{step.pattern}={step.new}")]


def _in_list(file: CheckpointFile, entry: str) -> bool:
    """Return whether an entry lies in a list, where ``--select`` does not reach.

    A number is taken for a place in one.
    """
    lists = {known.path for known in file.entries if known.kind == "list"}
    parts = entry.split(".")
    return any(
        part.isdecimal() and (number == 0 or ".".join(parts[:number]) in lists)
        for number, part in enumerate(parts)
    )

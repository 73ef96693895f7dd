"""What there is to say of the file as a whole when one of its state dicts is to be loaded."""

from gpudoctor.checkpoint.comparison.load_line import is_module
from gpudoctor.checkpoint.comparison.sides import Sides
from gpudoctor.facts.checkpoint_file import CheckpointFile, StateDict

KINDS = ("torch zip", "torch legacy")
"""Kinds of file that torch.load opens."""


def refused(file: CheckpointFile | None, entry: str) -> bool:
    """Tell whether ``torch.load(weights_only=True)`` refuses a file for what else is in it."""
    return file is not None and file.kind in KINDS and bool(file.foreign) and not is_module(file, entry)


def context_notes(sides: Sides, own: StateDict, file: CheckpointFile | None, line: str) -> list[str]:
    """Return the notes: what else is in the file, other element types, which of several prefixes, trust."""
    notes = [*_which(sides), *_types(sides)]
    if own.entry and not is_module(file, own.entry):
        notes.append(
            f"the file is a whole checkpoint: its state dict is the entry {own.entry}; "
            "load_state_dict must be given that, not the whole"
        )
    if file is not None and file.kind == "distributed":
        notes.append(
            "a distributed checkpoint is read into the model where it is; python -m "
            "torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER FILE makes one file of it, which "
            "gpudoctor checkpoint fix mends"
        )
    if is_module(file, own.entry):
        notes.append(
            "the file holds a whole pickled module: the line needs its classes, and runs what is in the file; "
            "only for a file whose origin you trust"
        )
    elif file is not None and refused(file, own.entry):
        notes.append(
            f"torch.load(weights_only=True) refuses this file, for it asks for {file.foreign[0].name}"
        )
        if "weights_only=False" in line:
            notes.append("weights_only=False runs what is in the file: only if you trust its origin")
    return notes


def _which(sides: Sides) -> list[str]:
    """Say which of several prefixes that fit is taken."""
    if not sides.fits:
        return []
    taken, *others = sides.fits
    shown = ", ".join(_prefix(text) for text in others[:4]) + (" and more" if len(others) > 4 else "")
    said = f"{len(sides.fits)} prefixes fit equally: the line takes {_prefix(taken)}"
    return [f"{said}; put {shown} in its place to have that one"]


def _prefix(text: str) -> str:
    return f'"{text}"' if text else "the names without a prefix"


def _types(sides: Sides) -> list[str]:
    pairs = {(key.dtype, sides.other[name].dtype) for name, key in sides.own.items() if name in sides.other}
    changed = sorted(pair for pair in pairs if pair[0] != pair[1] and all(pair))
    if not changed:
        return []
    kinds = ", ".join(f"{a} in the file, {b} in the target" for a, b in changed[:3])
    return [f"other element types ({kinds}): load_state_dict converts them"]

"""What the values of a checkpoint's tensors are like."""

from msgspec import Struct


class CheckpointValues(Struct, frozen=True, kw_only=True):
    """What a look at every number of a checkpoint showed; tensors are named by their paths."""

    path: str
    read: int = 0
    """Bytes."""
    nonfinite: tuple[tuple[str, int], ...] = ()
    """Tensors that hold NaN or infinity, and how many numbers of that kind."""
    zero: tuple[str, ...] = ()
    """Tensors of nothing but zeros."""
    same: tuple[tuple[str, ...], ...] = ()
    """Groups of tensors of the same bytes in different storages; constant and very small ones are left out."""
    skipped: tuple[tuple[str, int], ...] = ()
    """Why tensors could not be looked at, and how many."""

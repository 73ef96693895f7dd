"""Read the folder of a distributed checkpoint by its ``.metadata``."""

from gpudoctor.checkpoint.tree import Checkpoint, Unreadable


def read_distributed(path: str) -> Checkpoint:
    """Read a folder's ``.metadata``; raises `Unreadable`."""
    raise Unreadable("a distributed checkpoint is not read yet")

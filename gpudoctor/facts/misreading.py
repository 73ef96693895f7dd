"""A value that its reader does not take as it is meant."""

from msgspec import Struct


class Misread(Struct, frozen=True):
    """A value that its reader does not take as it is meant."""

    why: str
    """What the reader makes of it."""
    write: str = ""
    """A value of the right form; empty: none can be named."""
    fatal: bool = False
    """The reader raises: training does not start."""

"""Whether this machine's clock goes with the time of the network."""

from msgspec import Struct


class Clock(Struct, frozen=True, kw_only=True):
    """What the kernel knows of its clock (``adjtimex``), or a text shows of ``timedatectl`` and ``chronyc``."""

    synchronized: bool | None = None
    """A time service has set it, and the kernel still trusts that; ``None``: not known."""
    offset_seconds: float | None = None
    """How far it is from the time of the network, where a text says it; in front is positive."""
    said: str = ""
    """The line of a text that says it."""

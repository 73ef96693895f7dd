"""Listening TCP sockets and who owns them."""

from msgspec import Struct


class Listener(Struct, frozen=True, kw_only=True):
    """One listening TCP socket."""

    port: int
    address: str = ""
    pid: int | None = None
    """``None``: gpudoctor may not see whose it is: another user's, or outside this container."""
    command: str | None = None
    """The process's name, without its arguments."""
    own: bool = False
    """It belongs to the launch that is examined: an ancestor of gpudoctor's own process holds it."""

    @property
    def owner(self) -> str:
        """Who holds the port, in words."""
        if self.pid is None:
            return "a process that gpudoctor may not see (another user's, or outside this container)"
        return f"{self.command or 'a process'} (pid {self.pid})"


class Sockets(Struct, frozen=True, kw_only=True):
    """All listening TCP sockets of this network namespace."""

    listeners: list[Listener] = []

    def listener(self, port: int | None) -> Listener | None:
        """Return who listens on a TCP port, or ``None``."""
        return next((s for s in self.listeners if s.port == port), None)

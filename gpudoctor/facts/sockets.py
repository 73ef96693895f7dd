"""TCP sockets that keep a port from others, and who owns them."""

from msgspec import Struct


class Listener(Struct, frozen=True, kw_only=True):
    """One TCP socket that keeps its port from others: one that listens, as a rule."""

    port: int
    address: str = ""
    pid: int | None = None
    """``None``: gpudoctor may not see whose it is: another user's, or outside this container."""
    command: str | None = None
    """The process's name, without its arguments."""
    own: bool = False
    """It belongs to the launch that is examined: an ancestor of gpudoctor's own process holds it."""
    listens: bool = True
    """``False``: a connection ends at the port, or a socket is bound to it and does not listen (yet)."""

    @property
    def owner(self) -> str:
        """Who holds the port, in words."""
        if self.pid is None and not self.listens:
            return "a socket that does not listen, of a process that gpudoctor cannot name"
        if self.pid is None:
            return "a process that gpudoctor may not see (another user's, or outside this container)"
        return f"{self.command or 'a process'} (pid {self.pid})"


class Sockets(Struct, frozen=True, kw_only=True):
    """All listening TCP sockets of this network namespace, and what else holds the launch's port."""

    listeners: list[Listener] = []
    held: list[Listener] = []
    """Who holds MASTER_PORT without listening on it, where trying has shown that it cannot be bound."""

    def holder(self, port: int) -> Listener | None:
        """Return who keeps a store from opening on a TCP port, or ``None``: one that listens goes first."""
        return next((s for s in (*self.listeners, *self.held) if s.port == port), None)

    def listener(self, port: int | None) -> Listener | None:
        """Return who listens on a TCP port, or ``None``."""
        return next((s for s in self.listeners if s.port == port), None)

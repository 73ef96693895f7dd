"""List the listening TCP sockets and their owners, and who else keeps the launch's port from it."""

import errno
import functools
import os
import socket
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from gpudoctor.facts import Listener, Sockets

if TYPE_CHECKING:
    from psutil._common import sconn

Named = Callable[[int | None], str | None]
OF_TORCHRUN = ("TORCHELASTIC_RUN_ID", "GROUP_RANK")


def probe() -> Sockets:
    """Read the sockets of this network namespace; the owner of another user's socket may stay unknown."""
    import psutil

    @functools.cache
    def command(pid: int | None) -> str | None:
        try:
            return str(psutil.Process(pid).name()) if pid is not None else None
        except psutil.Error:
            return None

    ancestors = {process.pid for process in psutil.Process(os.getpid()).parents()}
    # A process that started a rank is torchrun, or has torch; a shell's or a test's socket on the port is a stranger's.
    launched = any(name in os.environ for name in OF_TORCHRUN)
    connections = psutil.net_connections(kind="tcp")
    listeners = {
        (found.laddr.port, found.laddr.ip, found.pid): Listener(
            port=found.laddr.port,
            address=found.laddr.ip,
            pid=found.pid,
            command=command(found.pid),
            # PID 1 holds no rendezvous port; torchrun, as the parent of a rank, does.
            own=found.pid in ancestors and found.pid != 1 and (launched or _has_torch(found.pid)),
        )
        for found in connections
        if found.status == psutil.CONN_LISTEN
    }
    port = _port_of_the_launch()
    listening = any(key[0] == port for key in listeners)
    return Sockets(
        listeners=[listeners[key] for key in sorted(listeners, key=lambda k: (k[0], k[1], k[2] or 0))],
        held=[] if port is None or listening or _can_bind(port) else [_holder(port, connections, command)],
    )


def _has_torch(pid: int) -> bool:
    """Return whether a process has loaded torch; one that may not be looked into is taken for a launcher."""
    try:
        with open(f"/proc/{pid}/maps", "rb") as maps:
            return any(b"/libtorch" in line or b"/libc10" in line for line in maps)
    except OSError:
        return True


def _port_of_the_launch() -> int | None:
    """Return MASTER_PORT, ``None`` where it is not set or is no port."""
    text = os.environ.get("MASTER_PORT", "")
    return (
        int(text)
        if text.isascii() and text.isdecimal() and len(text) <= 5 and 0 < int(text) < 65536
        else None
    )


def _can_bind(port: int) -> bool:
    """Return whether c10d's store could bind the port: it asks for all addresses, with SO_REUSEADDR as libuv sets it.

    A socket that is bound and does not listen stands in no table of the kernel's before Linux 6.7, so that only trying
    tells. The port is free again at once, and a store that binds it in the same moment is let in: both say that they
    share it, and nobody listens here.
    """
    for family, address in ((socket.AF_INET6, "::"), (socket.AF_INET, "")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as tried:
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    tried.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
                tried.bind((address, port))
                return True
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
    return True  # neither family here, or no right to the port: that is no holder's doing


def _holder(port: int, connections: Iterable["sconn"], command: Named) -> Listener:
    """Return whose connection ends at the port here; nobody's where the socket is only bound."""
    ends = [found for found in connections if found.laddr and found.laddr.port == port]
    pid = next((found.pid for found in ends if found.pid is not None), None)
    return Listener(
        port=port, address=ends[0].laddr.ip if ends else "", pid=pid, command=command(pid), listens=False
    )

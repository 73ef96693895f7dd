"""List the listening TCP sockets and their owners."""

import functools
import os

from gpudoctor.facts import Listener, Sockets


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
    listeners = {
        (socket.laddr.port, socket.laddr.ip, socket.pid): Listener(
            port=socket.laddr.port,
            address=socket.laddr.ip,
            pid=socket.pid,
            command=command(socket.pid),
            # PID 1 and login shells hold no rendezvous port; torchrun, as the parent of a rank, does.
            own=socket.pid in ancestors and socket.pid != 1,
        )
        for socket in psutil.net_connections(kind="tcp")
        if socket.status == psutil.CONN_LISTEN
    }
    return Sockets(
        listeners=[listeners[key] for key in sorted(listeners, key=lambda k: (k[0], k[1], k[2] or 0))]
    )

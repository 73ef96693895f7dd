"""List the listening TCP sockets and their owners."""

import os

from gpudoctor.facts import Listener, Sockets


def probe() -> Sockets:
    """Read the sockets of this network namespace; the owner of another user's socket may stay unknown."""
    import psutil

    commands: dict[int, str | None] = {}

    def command(pid: int | None) -> str | None:
        if pid is None:
            return None
        if pid not in commands:
            try:
                commands[pid] = psutil.Process(pid).name()
            except psutil.Error:
                commands[pid] = None
        return commands[pid]

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

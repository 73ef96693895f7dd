"""Ask the resolver for the own host name and for MASTER_ADDR, as a rendezvous would."""

import os
import socket
import time

from gpudoctor.facts import Names, Resolution

# glibc asks each name server for 5 s, twice (resolv.conf(5): timeout, attempts).
deadline = 25.0


def probe() -> Names:
    """Resolve both names; a name that does not resolve is a fact."""
    master = os.environ.get("MASTER_ADDR")
    return Names(own=resolve(socket.gethostname()), master=resolve(master) if master else None)


def resolve(name: str) -> Resolution:
    """Ask ``getaddrinfo`` for the addresses of `name`, in its order."""
    begun = time.monotonic()
    try:
        answers = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        words = error.strerror if isinstance(error, OSError) else str(error)
        return Resolution(name=name, error=words or str(error), seconds=round(time.monotonic() - begun, 3))
    addresses = list(dict.fromkeys(str(answer[4][0]) for answer in answers))
    return Resolution(name=name, addresses=addresses, seconds=round(time.monotonic() - begun, 3))

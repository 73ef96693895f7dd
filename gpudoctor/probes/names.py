"""Ask the resolver for the own host name, MASTER_ADDR and the rendezvous' host, as a rendezvous would."""

import os
import socket
import time
from pathlib import Path

from gpudoctor.facts import Names, Resolution, Route

# glibc asks each name server for 5 s, twice (resolv.conf(5): timeout, attempts).
deadline = 25.0


def probe(root: Path = Path("/")) -> Names:
    """Resolve the names; a name that does not resolve is a fact."""
    master = os.environ.get("MASTER_ADDR")
    endpoint = endpoint_host(os.environ.get("PET_RDZV_ENDPOINT", ""))
    return Names(
        own=resolve(socket.gethostname(), root),
        master=resolve(master, root) if master else None,
        endpoint=resolve(endpoint, root) if endpoint else None,
    )


def endpoint_host(endpoint: str) -> str:
    """Return the host of an endpoint: ``node1:29500``, ``[fd00::1]:29500``, or without a port."""
    endpoint = endpoint.strip()
    if endpoint.startswith("["):
        return endpoint[1:].partition("]")[0]
    return endpoint.partition(":")[0]


def resolve(name: str, root: Path = Path("/")) -> Resolution:
    """Ask ``getaddrinfo`` for the addresses of `name`, in its order, and the kernel for the way to each."""
    begun = time.monotonic()
    try:
        answers = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        words = error.strerror if isinstance(error, OSError) else str(error)
        return Resolution(name=name, error=words or str(error), seconds=round(time.monotonic() - begun, 3))
    seconds = round(time.monotonic() - begun, 3)
    silent = unanswered(root)
    found: dict[str, Route] = {}
    for family, _, _, _, address in answers:
        host = str(address[0])
        if host not in found:
            found[host] = route(family, address, host in silent)
    return Resolution(name=name, addresses=list(found), seconds=seconds, routes=list(found.values()))


def route(family: int, address: tuple[object, ...], silent: bool) -> Route:
    """Ask the kernel how packets to an address would leave; connecting a UDP socket sends none."""
    host = str(address[0])
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as way:
            way.connect((host, 9, *address[2:]))
            return Route(address=host, source=str(way.getsockname()[0]), silent=silent)
    except OSError as error:
        return Route(address=host, error=error.strerror or str(error), silent=silent)


def unanswered(root: Path) -> set[str]:
    """Return the addresses that the kernel asked the local network for in vain: flags 0x0 of ``/proc/net/arp``."""
    try:
        lines = (root / "proc/net/arp").read_text(errors="replace").splitlines()[1:]
    except OSError:
        return set()
    return {fields[0] for fields in map(str.split, lines) if len(fields) > 2 and fields[2] == "0x0"}

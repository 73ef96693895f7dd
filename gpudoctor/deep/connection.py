"""Try to connect to MASTER_ADDR and MASTER_PORT, as a rank does, and send packets of the largest size there."""

import errno
import os
import socket
import time

from gpudoctor.deep import packets
from gpudoctor.facts import Connection

SECONDS = 3.0
"""For each address: one that answers does so in milliseconds, on another continent in half a second."""
ADDRESSES = 3
OUTCOMES = {
    errno.ECONNREFUSED: "refused",
    errno.ETIMEDOUT: "no answer",
    errno.EHOSTUNREACH: "unreachable",
    errno.ENETUNREACH: "unreachable",
    errno.EADDRNOTAVAIL: "unreachable",
}
BEST = ("connected", "refused", "no answer", "unreachable", "")
"""Of several addresses the outcome counts that is first in this order."""


def probe() -> Connection:
    """Read both variables and connect; raises ValueError where they do not name a place."""
    host, port = os.environ.get("MASTER_ADDR", ""), os.environ.get("MASTER_PORT", "").strip()
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError("MASTER_ADDR and MASTER_PORT are not both set")
    return connect(host, int(port))


def connect(host: str, port: int, seconds: float = SECONDS) -> Connection:
    """Connect to the addresses of a host one after another until one answers."""
    begun = time.monotonic()
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return Connection(host=host, port=port, outcome="unresolved", reason=str(error))
    tried: list[tuple[str, str]] = []
    for family, kind, protocol, _, address in found[:ADDRESSES]:
        tried.append(_try(socket.socket(family, kind, protocol), address, seconds))
        if tried[-1][0] == "connected":
            break
    taken = round(time.monotonic() - begun, 3)
    outcome, reason = min(tried, key=lambda one: BEST.index(one[0]))
    answered = next((n for n, (how, _) in enumerate(tried) if how in ("connected", "refused")), None)
    sent = packets.send(found[answered][0], found[answered][4]) if answered is not None else None
    addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
    return Connection(
        host=host,
        port=port,
        addresses=addresses,
        outcome=outcome,
        reason=reason,
        seconds=taken,
        packets=sent,
    )


def _try(tried: socket.socket, address: object, seconds: float) -> tuple[str, str]:
    with tried:
        tried.settimeout(seconds)
        try:
            tried.connect(address)  # type: ignore[arg-type]
        except TimeoutError:
            return "no answer", f"no answer in {seconds:g} s"
        except OSError as error:
            return OUTCOMES.get(error.errno or 0, ""), error.strerror or str(error)
    return "connected", ""

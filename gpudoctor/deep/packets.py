"""Whether packets as large as an interface sends come through to another machine, uncut.

A datagram to a port where nobody listens is answered by the other machine's kernel ("port unreachable"), whoever sent
it. So no right is needed, and nothing at the other end; where a firewall swallows the answer, nothing is known.
"""

import errno
import socket
import sys
import time

from gpudoctor.facts import Packets

SMALL = 512
"""Bytes of data that pass every way (RFC 791 asks for 576 with the headers)."""
WAIT = 0.4
"""Seconds for an answer: the longest ways on earth take 0.3."""
TRIES = 3
"""A kernel answers six such datagrams at once, and then one a second (net.ipv4.icmp_ratelimit): six are sent."""
# linux/in.h and linux/in6.h; PROBE: send with "don't fragment", whatever is known of the way
_OPTIONS: dict[int, tuple[int, int, int, int]] = {
    socket.AF_INET: (socket.IPPROTO_IP, 10, 14, 28),
    socket.AF_INET6: (socket.IPPROTO_IPV6, 23, 24, 48),
}
_PROBE = 3


def send(family: int, address: tuple[object, ...]) -> Packets | None:
    """Send small datagrams and one of the interface's own size; ``None`` where that is this machine, or no Linux."""
    if family not in _OPTIONS or not sys.platform.startswith("linux"):
        return None
    level, discover, size, headers = _OPTIONS[family]
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        try:
            sender.setsockopt(level, discover, _PROBE)
            sender.connect(address)
            mtu = sender.getsockopt(level, size)
            if sender.getsockname()[0] == address[0]:
                return None
        except OSError:
            return None
        return _passed(sender, mtu, headers)


def _passed(sender: socket.socket, mtu: int, headers: int) -> Packets:
    if not any(_answer(sender, SMALL) == errno.ECONNREFUSED for _ in range(2)):
        return Packets(bytes=mtu)
    for _ in range(TRIES):
        answer = _answer(sender, mtu - headers)
        if answer == errno.ECONNREFUSED:
            return Packets(bytes=mtu, passed=True)
        if answer == errno.EMSGSIZE:
            # a router said so; what it allows the system knows now
            level, _, size, _ = _OPTIONS[sender.family]
            return Packets(bytes=mtu, passed=False, told=sender.getsockopt(level, size))
    # Lost because of their size, and not because the other machine is gone or has answered enough.
    still = _answer(sender, SMALL) == errno.ECONNREFUSED
    return Packets(bytes=mtu, passed=False if still else None)


def _answer(sender: socket.socket, size: int) -> int | None:
    """Return the error that the system reports for one datagram; ``None`` for none in time."""
    until = time.monotonic() + WAIT
    try:
        sender.send(bytes(size))
        while (left := until - time.monotonic()) > 0:
            sender.settimeout(left)
            sender.recv(1)  # somebody listens there, and answers: that is no error
            return errno.ECONNREFUSED
    except TimeoutError:
        return None
    except OSError as error:
        return error.errno
    return None

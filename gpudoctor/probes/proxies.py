"""Read which HTTP proxies are set; what they hold of names and passwords is left where it is."""

import functools
import ipaddress
import os
import socket
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from gpudoctor.facts import Proxies, Proxy

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "grpc_proxy")
# glibc asks each name server for 5 s, twice (resolv.conf(5): timeout, attempts).
deadline = 25.0


def probe() -> Proxies:
    """Read the variables in both spellings, and resolve the proxies' names."""
    return read(os.environ, socket.gethostname())


def read(environment: Mapping[str, str], own: str) -> Proxies:
    """Return the proxies that an environment names, and what its ``no_proxy`` keeps from them."""
    found = [
        proxy(name, environment[name])
        for variable in VARIABLES
        for name in (variable, variable.upper())
        if environment.get(name, "").strip()
    ]
    left_out = environment.get("no_proxy", environment.get("NO_PROXY", ""))
    hosts = {"localhost": "localhost", "own": own}
    if environment.get("MASTER_ADDR"):
        hosts["master"] = environment["MASTER_ADDR"]
    return Proxies(
        all=found, bypassed={role: bypasses(left_out, host) for role, host in hosts.items()} if found else {}
    )


def proxy(variable: str, value: str) -> Proxy:
    """Take a proxy's address apart; a value that is no address leaves the host empty."""
    parts: SplitResult | None
    try:
        parts = urlsplit(value if "://" in value else f"//{value}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return Proxy(variable=variable)
    return Proxy(
        variable=variable,
        scheme=parts.scheme,
        host=host,
        port=port,
        credentials=parts.username is not None,
        error=_unresolved(host) if host else None,
        local=host == "localhost" or _is_loopback(host),
    )


@functools.cache
def _unresolved(host: str) -> str | None:
    """Return the resolver's words where a name has no address; asked once, since a dead name server is slow."""
    try:
        socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as refused:
        return str(getattr(refused, "strerror", "") or refused)
    return None


def bypasses(left_out: str, host: str) -> bool:
    """Return whether ``no_proxy`` keeps a host from the proxies: by ``*``, name, domain, address or network."""
    host = host.lower()
    for part in (word.strip().lower() for word in left_out.replace(" ", ",").split(",")):
        if part == "*" or (part and (host == part.lstrip(".") or host.endswith("." + part.lstrip("*.")))):
            return True
        if host == "localhost" and part in ("127.0.0.1", "127.0.0.0/8", "::1"):
            return True
        try:
            if ipaddress.ip_address(host) in ipaddress.ip_network(part, strict=False):
                return True
        except ValueError:
            continue
    return False


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

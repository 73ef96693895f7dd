"""HTTP proxies that this process would use; never a name or a password."""

from msgspec import Struct


class Proxy(Struct, frozen=True, kw_only=True):
    """One variable that names a proxy."""

    variable: str
    """``http_proxy``, ``HTTPS_PROXY``, ``all_proxy``, ``grpc_proxy`` …"""
    scheme: str = ""
    host: str = ""
    port: int | None = None
    credentials: bool = False
    """It holds a name or password, which is not kept."""
    error: str | None = None
    """The resolver's words where the host's name does not resolve."""
    local: bool = False
    """The host is this machine (``localhost``, ``127.0.0.1``)."""


class Proxies(Struct, frozen=True, kw_only=True):
    """The proxies, and which hosts of a training ``no_proxy`` keeps from them."""

    all: list[Proxy] = []
    bypassed: dict[str, bool] = {}
    """``localhost``, ``own`` (the own name) and ``master`` (MASTER_ADDR, where set): whether no_proxy names it."""

    @property
    def for_plain_http(self) -> list[Proxy]:
        """Those that connections inside a job would use: http, gRPC and all."""
        names = ("http_proxy", "grpc_proxy", "all_proxy")
        return [p for p in self.all if p.variable.lower() in names and p.host]

"""``ibstat``, ``ibstatus``, ``ibv_devinfo``, ``ibv_devices``, ``ibdev2netdev`` and ``show_gids`` -> RDMA adapters."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gpudoctor.facts import Gid, IbDevice, IbPort, Infiniband

_CA = re.compile(r"(?:CA '(?P<name>[\w.-]{1,40})'|hca_id:\s{1,8}(?P<hca>[\w.-]{1,40}))$")
_PORT = re.compile(r"(?:Port (?P<number>\d{1,3}):|port:\s{1,8}(?P<of_hca>\d{1,3}))$")
_STATUS = re.compile(r"Infiniband device '(?P<name>[\w.-]{1,40})' port (?P<number>\d{1,3}) status:$")
_FIELD = re.compile(
    r"(?P<name>CA type|[Ss]tate|[Pp]hysical state|phys state|[Rr]ate|[Ll]ink[ _]layer):\s{0,20}(?P<value>.{1,80})"
)
# ibdev2netdev: "mlx5_0 port 1 ==> ib0 (Up)"; with -v the model stands in between
_PAIRED = re.compile(
    r"(?:0000:\S{7,9}\s{1,8})?(?P<name>[\w.-]{1,40})\s{1,20}(?:\(.{0,200}\) .{0,120})?port\s{1,8}(?P<number>\d{1,3})\s"
    r".{0,60}?==>\s{1,8}(?P<interface>[\w.-]{1,32})\s{1,20}\((?P<state>Up|Down)\)(?:\s{1,8}#.{0,200})?$"
)
# show_gids: device, port, index, the address, of RoCE its IPv4 form, version, interface
_GID = re.compile(
    r"(?P<name>[\w.-]{1,40})\s+(?P<number>\d{1,3})\s+(?P<index>\d{1,3})\s+(?P<gid>(?:[0-9a-f]{4}:){7}[0-9a-f]{4})\s+"
    r"(?:[\d.]{7,15}\s+)?(?P<version>v1|v2)(?:\s+(?P<interface>[\w.-]{1,32}))?$"
)
_COLONS = 7
"""Of a GID."""
_LISTED = re.compile(r"(?P<name>[\w.-]{1,40})\s+[0-9a-f]{16}$")
_LIST = ["device", "node", "GUID"]
_NONE = ("No IB devices found", "No InfiniBand devices found")
_LEAD = re.compile(r"\d{1,2}: ")
# The kernel driver by the adapter's name; one that was renamed is Mellanox's in all that is for training.
_DRIVERS = {"mlx4": "mlx4_core", "bnxt_re": "bnxt_en", "irdma": "irdma", "efa": "efa", "rxe": "", "siw": ""}
_MOST = 256


@dataclass
class _Adapter:
    model: str = ""
    ports: dict[int, dict[str, Any]] = field(default_factory=dict)

    def port(self, number: str) -> dict[str, Any]:
        return self.ports.setdefault(int(number), {})


def read(lines: Iterable[str]) -> Infiniband | None:
    """Read the adapters and their ports; ``None`` where there is no such output.

    What this process may open (``/dev/infiniband``, libibverbs) neither command says.

    ``CA 'mlx5_0'`` … ``Port 1:`` … ``State: Active`` … ``Rate: 400`` … ``Link layer: InfiniBand``
    """
    found: dict[str, _Adapter] = {}
    adapter: _Adapter | None = None
    port: dict[str, Any] | None = None
    unnamed = _Adapter()
    listed = none = False
    for line in lines:
        if match := _line_of_port(line):
            adapter = _of(found, match["name"])
            port = adapter.port(match["number"]) if adapter else None
            if port is not None and "Infiniband" not in line[:12]:
                _row(port, match.groupdict())
        elif line.startswith(("CA '", "hca_id:")) and (match := _CA.match(line)):
            adapter, port = _of(found, match["name"] or match["hca"]), None
        elif listed and (match := _LISTED.match(line[:80])):
            _of(found, match["name"])
        elif line.endswith("node GUID") and line.split() == _LIST:
            listed = True
        elif line in _NONE:
            none = True
        elif adapter is None:
            if line == "Port 1:" and not found:  # an excerpt, without the line "CA 'mlx5_0'" above it
                unnamed = adapter = _Adapter()
                port = adapter.port("1")
            continue
        elif match := _PORT.match(line):
            port = adapter.port(match["number"] or match["of_hca"])
        elif match := _FIELD.match(line):
            if port is None and match["name"].lower() in ("state", "rate"):
                port = adapter.port("1")  # grep left its line out
            _value(adapter, port, match["name"].lower().replace("_", " "), match["value"].strip())
    if not found and {"state", "phys_state"} <= unnamed.port("1").keys():
        found["an adapter"] = unnamed
    if not found:
        return Infiniband() if none else None
    return Infiniband(devices=[_device(name, adapter) for name, adapter in found.items()])


def _line_of_port(line: str) -> re.Match[str] | None:
    """Return what a line says that names adapter and port; ``None`` for any other."""
    if line.startswith("Infiniband device"):
        return _STATUS.match(line)
    if "==>" in line[:400]:
        return _PAIRED.match(line[:400])
    return _GID.match(line[:200]) if line.count(":", 0, 80) == _COLONS else None


def _of(found: dict[str, _Adapter], name: str) -> _Adapter | None:
    """Return the adapter of a name; ``None`` where there are too many."""
    return found.setdefault(name, _Adapter()) if name in found or len(found) < _MOST else None


def _row(port: dict[str, Any], row: dict[str, str | None]) -> None:
    """Add a line of ``ibdev2netdev`` or ``show_gids``.

    The former shows the network interface: without IPoIB that is down on an InfiniBand port that carries traffic.
    """
    if row.get("state"):
        name = row["interface"] or ""
        layer = "InfiniBand" if name.startswith("ib") else "Ethernet" if name.startswith("e") else ""
        port.setdefault("link_layer", layer)
        if row["state"] == "Up":
            port.setdefault("state", "ACTIVE")
        elif layer == "Ethernet":
            port.setdefault("state", "DOWN")
    elif row.get("version"):
        gid = row["gid"] or ""
        kind = "link-local" if gid.startswith("fe80") else "ipv4" if ":0000:ffff:" in gid else "ipv6"
        version = "RoCE v2" if row["version"] == "v2" else "IB/RoCE v1"
        port.setdefault("gids", []).append(
            Gid(index=int(row["index"] or 0), type=version, kind=kind, interface=row["interface"] or "")
        )


def _value(adapter: _Adapter, port: dict[str, Any] | None, name: str, value: str) -> None:
    if name == "ca type":
        adapter.model = value[:40]
    if port is None:
        return
    # ibstatus writes "4: ACTIVE" and "5: LinkUp", ibstat "Active" and "LinkUp", ibv_devinfo "PORT_ACTIVE (4)".
    words = _LEAD.sub("", value).removeprefix("PORT_").partition(" (")[0]
    if name == "state":
        state = words.upper()
        port.setdefault("state", {"INITIALIZING": "INIT"}.get(state, state))
    elif name in ("physical state", "phys state"):
        port.setdefault("phys_state", words)
    elif name == "link layer":
        port.setdefault("link_layer", words)
    elif name == "rate" and (rate := re.match(r"\d{1,5}(?:\.\d{1,2})?", words)):
        port.setdefault("rate_gbps", float(rate[0]))


def _device(name: str, adapter: _Adapter) -> IbDevice:
    driver = next((driver for prefix, driver in _DRIVERS.items() if name.startswith(prefix)), "mlx5_core")
    ports = [IbPort(number=number, **values) for number, values in sorted(adapter.ports.items())]
    return IbDevice(name=name, driver=driver, model=adapter.model, ports=ports)

"""``ibstat``, ``ibstatus`` and ``ibv_devinfo`` -> RDMA adapters."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gpudoctor.facts import IbDevice, IbPort, Infiniband

_CA = re.compile(r"(?:CA '(?P<name>[\w.-]{1,40})'|hca_id:\s{1,8}(?P<hca>[\w.-]{1,40}))$")
_PORT = re.compile(r"(?:Port (?P<number>\d{1,3}):|port:\s{1,8}(?P<of_hca>\d{1,3}))$")
_STATUS = re.compile(r"Infiniband device '(?P<name>[\w.-]{1,40})' port (?P<number>\d{1,3}) status:$")
_FIELD = re.compile(
    r"(?P<name>CA type|[Ss]tate|[Pp]hysical state|phys state|[Rr]ate|[Ll]ink[ _]layer):\s{0,20}(?P<value>.{1,80})"
)
_LEAD = re.compile(r"\d{1,2}: ")
# The kernel driver by the adapter's name; one that was renamed is Mellanox's in all that is for training.
_DRIVERS = {"mlx4": "mlx4_core", "bnxt_re": "bnxt_en", "irdma": "irdma", "efa": "efa", "rxe": "", "siw": ""}
_MOST = 256


@dataclass
class _Adapter:
    model: str = ""
    ports: dict[int, dict[str, Any]] = field(default_factory=dict)


def read(lines: Iterable[str]) -> Infiniband | None:
    """Read the adapters and their ports; ``None`` where there is no such output.

    What this process may open (``/dev/infiniband``, libibverbs) neither command says.

    ``CA 'mlx5_0'`` … ``Port 1:`` … ``State: Active`` … ``Rate: 400`` … ``Link layer: InfiniBand``
    """
    found: dict[str, _Adapter] = {}
    adapter: _Adapter | None = None
    port: dict[str, Any] | None = None
    for line in lines:
        if match := _STATUS.match(line):
            adapter = found.setdefault(match["name"], _Adapter()) if len(found) < _MOST else None
            port = adapter.ports.setdefault(int(match["number"]), {}) if adapter else None
        elif match := _CA.match(line):
            adapter = (
                found.setdefault(match["name"] or match["hca"], _Adapter()) if len(found) < _MOST else None
            )
            port = None
        elif adapter is None:
            continue
        elif match := _PORT.match(line):
            port = adapter.ports.setdefault(int(match["number"] or match["of_hca"]), {})
        elif match := _FIELD.match(line):
            _value(adapter, port, match["name"].lower().replace("_", " "), match["value"].strip())
    if not found:
        return None
    return Infiniband(devices=[_device(name, adapter) for name, adapter in found.items()])


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

"""Read the RDMA adapters from sysfs, and whether this process may use them."""

import ipaddress
import os
import re
import time
from pathlib import Path

from gpudoctor.facts import Gid, IbDevice, IbPort, Infiniband
from gpudoctor.probes._files import text

ERRORS = (
    "symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_rcv_remote_physical_errors",
    "port_xmit_discards", "local_link_integrity_errors", "excessive_buffer_overrun_errors", "local_ack_timeout_err",
    "rnr_nak_retry_err", "packet_seq_err", "out_of_sequence", "req_transport_retries_exceeded",
)  # fmt: skip
RATE = re.compile(r"([\d.]+) Gb/sec(?: \((\d+)X ?(\w*)\))?")
NULL = ipaddress.IPv6Address(0)
MOST_GIDS = 32
"""Of a port's table; the kernel fills it from the front, and mlx5's has 256 places."""
VERBS = "libibverbs.so.1"
DRIVERS = {"mlx5_": "mlx5_core", "mlx4_": "mlx4_core", "efa": "efa", "rdmap": "efa", "bnxt_re": "bnxt_en",
           "irdma": "irdma", "ibp": "mlx5_core", "roce": "mlx5_core"}  # fmt: skip
"""By the adapter's name, where its folder does not show the driver; what has none of these is software."""
PAUSE = 0.3
"""Seconds between two looks at the counters."""


def probe(root: Path = Path("/")) -> Infiniband:
    """Read every adapter; a machine without the subsystem has none."""
    folder = root / "sys/class/infiniband"
    devices = [device(path) for path in sorted(folder.iterdir())] if folder.is_dir() else []
    if devices:
        devices = _grown(devices, folder)
    nodes = sorted((root / "dev/infiniband").glob("uverbs[0-9]*"))
    modules = root / "sys/module"
    return Infiniband(
        devices=devices,
        verbs=[node.name for node in nodes],
        verbs_refused=[node.name for node in nodes if not os.access(node, os.R_OK | os.W_OK)],
        libibverbs=_verbs_library(root) if devices else None,
        peermem=any((modules / name).is_dir() for name in ("nvidia_peermem", "nv_peer_mem"))
        if modules.is_dir()
        else None,
        uptime_days=_uptime(root),
    )


def device(folder: Path) -> IbDevice:
    """Read one adapter."""
    behind = folder / "device"
    driver = behind / "driver"
    ports = sorted((folder / "ports").glob("[0-9]*"), key=lambda p: int(p.name))
    numa = text(behind / "numa_node")
    return IbDevice(
        name=folder.name,
        driver=driver.resolve().name if driver.exists() else _by_name(folder.name),
        model=text(folder / "hca_type"),
        board=text(folder / "board_id"),
        pci_address=behind.resolve().name if behind.exists() else "",
        virtual_function=(behind / "physfn").exists(),
        numa_node=int(numa) if numa.isdigit() else None,
        ports=[port(path) for path in ports],
    )


def _by_name(name: str) -> str:
    return next((driver for start, driver in DRIVERS.items() if name.startswith(start)), "")


def port(folder: Path) -> IbPort:
    """Read one port; what a driver does not tell stays unknown."""
    rate = RATE.search(text(folder / "rate"))
    return IbPort(
        number=int(folder.name),
        state=text(folder / "state").partition(":")[2].strip(),
        phys_state=text(folder / "phys_state").partition(":")[2].strip(),
        rate_gbps=float(rate[1]) if rate else None,
        lanes=int(rate[2]) if rate and rate[2] else None,
        speed=rate[3] or "" if rate else "",
        link_layer=text(folder / "link_layer"),
        gids=gids(folder),
        counters=counters(folder),
    )


def gids(folder: Path) -> list[Gid]:
    """Read a port's addresses, as far as there are any."""
    found = []
    for number in range(MOST_GIDS):
        gid = text(folder / "gids" / str(number))
        if not gid:
            break
        try:
            address = ipaddress.IPv6Address(gid)
        except ValueError:
            continue
        if address == NULL:
            continue
        sort = "ipv4" if address.ipv4_mapped else "link-local" if address.is_link_local else "ipv6"
        attributes = folder / "gid_attrs"
        found.append(
            Gid(
                index=number,
                type=text(attributes / "types" / str(number)),
                kind=sort,
                interface=text(attributes / "ndevs" / str(number)),
            )
        )
    return found


def counters(folder: Path) -> dict[str, int]:
    """Read the counters of errors that are not zero."""
    found = {}
    for part in ("counters", "hw_counters"):
        for name in ERRORS:
            value = text(folder / part / name)
            if value.isdigit() and int(value):
                found[name] = int(value)
    return found


def _grown(devices: list[IbDevice], folder: Path) -> list[IbDevice]:
    """Look at the counters a second time, where there are any: those that grow tell of now."""
    from msgspec.structs import replace

    if not any(p.counters for d in devices for p in d.ports):
        return devices
    time.sleep(PAUSE)
    made = []
    for one in devices:
        ports = []
        for p in one.ports:
            now = counters(folder / one.name / "ports" / str(p.number))
            growing = {n: now[n] - old for n, old in p.counters.items() if now.get(n, old) > old}
            ports.append(replace(p, growing=growing))
        made.append(replace(one, ports=ports))
    return made


def _verbs_library(root: Path) -> bool:
    """Return whether the loader would find the library, without loading it."""
    folders = [Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    for start in ("lib", "lib64", "usr/lib", "usr/lib64"):
        folders += [root / start, *(root / start).glob("*-linux-gnu")]
    if any((folder / VERBS).exists() for folder in folders):
        return True
    try:
        return VERBS.encode() in (root / "etc/ld.so.cache").read_bytes()
    except OSError:
        return False


def _uptime(root: Path) -> float | None:
    try:
        return round(float(text(root / "proc/uptime").split()[0]) / 86400, 2)
    except (IndexError, ValueError):
        return None

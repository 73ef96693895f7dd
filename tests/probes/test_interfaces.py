"""Network interfaces, those of this machine and those of a namespace made for the test."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from gpudoctor.facts import Interfaces
from gpudoctor.probes.interfaces import default_routes, described, ipv6, kind
from gpudoctor.snapshot import Snapshot

Ask = Callable[..., Snapshot]
PROBE = [sys.executable, "-m", "gpudoctor.probes", "gpudoctor.probes.interfaces"]


@pytest.fixture
def namespace() -> Iterator[str]:
    """A network namespace with an Ethernet pair (one end down), a bridge, and loopback that is up."""
    if shutil.which("ip") is None:
        pytest.skip("needs ip (iproute2)")
    name = f"gpudoctor-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"needs a network namespace (root): {made.stderr.strip()}")
    try:
        for command in (
            "link set lo up",
            "link add near type veth peer name far",
            "addr add 10.9.8.7/24 dev near",
            "addr add 10.9.9.7/24 dev near label near:1",
            "link set near mtu 9000 up",
            "link add bridge9 type bridge",
        ):
            done = subprocess.run(["ip", "-n", name, *command.split()], capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"ip {command}: {done.stderr.strip()}")
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def test_loopback_is_told_from_the_rest(ask: Ask) -> None:
    interfaces = ask("interfaces").get(Interfaces)
    assert interfaces is not None
    loopback = [i for i in interfaces.all if i.loopback]
    assert [i.name for i in loopback] == ["lo"]
    assert not any(i.loopback for i in interfaces.usable)


def test_states_addresses_and_kinds_of_a_namespace(namespace: str) -> None:
    answer = subprocess.run(
        ["ip", "netns", "exec", namespace, *PROBE], capture_output=True, text=True, timeout=30, check=True
    )
    told = next(line for line in answer.stdout.splitlines() if line.startswith("gpudoctor "))
    interfaces = msgspec.convert(json.loads(told.removeprefix("gpudoctor "))["facts"], Interfaces)
    found = {i.name: i for i in interfaces.all}
    assert found.keys() >= {"lo", "near", "far", "bridge9"}
    assert found["lo"].loopback
    assert "127.0.0.1" in found["lo"].addresses
    near, far = found["near"], found["far"]
    assert near.addresses[:2] == ["10.9.8.7", "10.9.9.7"]
    assert near.labels == ["near:1"]
    # its other end is down: it is up without a carrier
    assert (near.up, near.running, near.kind, far.running) == (True, False, "veth", False)
    assert (found["lo"].running, found["lo"].kind, found["bridge9"].kind) == (True, "loopback", "bridge")
    assert near.mtu == 9000
    assert (far.up, far.addresses) == (False, [])
    assert not found["bridge9"].up
    assert near.virtual
    assert far.virtual
    assert "far" not in [i.name for i in interfaces.usable]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"type": "1", "device/vendor": "0x15b3"}, "ethernet"),
        ({"type": "32", "device/vendor": "0x15b3"}, "infiniband"),
        ({"type": "1", "device/vendor": "0x8086", "uevent": "DEVTYPE=wlan\nINTERFACE=wlp2s0"}, "wireless"),
        ({"type": "1", "uevent": "DEVTYPE=bridge\nINTERFACE=docker0"}, "bridge"),
        ({"type": "1", "bridge/bridge_id": "8000.000000000000"}, "bridge"),
        ({"type": "1", "bonding/mode": "802.3ad 4"}, "bond"),
        ({"type": "1", "uevent": "DEVTYPE=vlan", "lower_eth0/type": "1"}, "vlan"),
        ({"type": "1", "ifindex": "7", "iflink": "6"}, "veth"),
        ({"type": "1", "ifindex": "7", "iflink": "7"}, "virtual"),
        ({"type": "65534", "tun_flags": "0x1001"}, "tun"),
        ({"type": "65534", "uevent": "DEVTYPE=wireguard"}, "wireguard"),
    ],
)
def test_what_an_interface_is_shows_in_its_folder(
    tmp_path: Path, files: dict[str, str], expected: str
) -> None:
    for name, text in files.items():
        write(tmp_path / name, text)
    assert kind(tmp_path) == expected


def test_parts_and_master_of_a_bond(tmp_path: Path) -> None:
    bond, part = tmp_path / "bond0", tmp_path / "eth1"
    write(bond / "uevent", "DEVTYPE=bond")
    write(bond / "operstate", "up")
    write(part / "type", "1")
    (bond / "lower_eth1").symlink_to(part)
    (part / "master").symlink_to("../bond0")
    assert described(bond, 5, loopback=False) == {
        "operstate": "up",
        "kind": "bond",
        "master": None,
        "parts": ["eth1"],
    }
    assert described(part, 6, loopback=False)["master"] == "bond0"


def test_another_namespaces_folder_tells_nothing(tmp_path: Path) -> None:
    """`unshare -n` leaves the old /sys: there, eth0 may be another interface of that name."""
    write(tmp_path / "ifindex", "4")
    write(tmp_path / "operstate", "up")
    assert described(tmp_path, 2, loopback=False) == {}
    assert described(tmp_path, 4, loopback=False)["operstate"] == "up"


def test_default_routes_of_both_families(tmp_path: Path) -> None:
    head = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT"
    way = "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0"
    near = "eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0"
    refused = "*\t00000000\t00000000\t0200\t0\t0\t0\t00000000\t0\t0\t0"
    write(tmp_path / "proc/net/route", f"{head}\n{way}\n{near}\n{refused}")
    six = " ".join(
        ["0" * 32, "00", "0" * 32, "00", "fe80" + "0" * 28, "00000400", "1", "0", "00000003", "eth2"]
    )
    none = " ".join(["0" * 32, "00", "0" * 32, "00", "0" * 32, "ffffffff", "1", "0", "00200200", "lo"])
    write(tmp_path / "proc/net/ipv6_route", f"{six}\n{none}")
    assert default_routes(tmp_path) == {"eth0", "eth2"}


def test_ipv6_may_be_switched_off_or_not_be_there(tmp_path: Path) -> None:
    assert ipv6(tmp_path) is None
    (tmp_path / "proc/net").mkdir(parents=True)
    assert ipv6(tmp_path) is False
    write(tmp_path / "proc/net/if_inet6", "")
    write(tmp_path / "proc/sys/net/ipv6/conf/all/disable_ipv6", "1")
    assert ipv6(tmp_path) is False
    write(tmp_path / "proc/sys/net/ipv6/conf/all/disable_ipv6", "0")
    assert ipv6(tmp_path) is True

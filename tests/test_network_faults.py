"""Faults of the network, really made in a namespace: ``gpudoctor check`` finds each of them alone."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.warm_python import warm_python

GOOD = "127.0.0.1 localhost\n10.77.0.4 node1\n"
TWO_NODES = {
    "RANK": "0",
    "WORLD_SIZE": "2",
    "LOCAL_RANK": "0",
    "LOCAL_WORLD_SIZE": "1",
    "MASTER_ADDR": "10.77.0.4",
    "MASTER_PORT": "29501",
}
NO_IPV6 = "sysctl -qw net.ipv6.conf.all.disable_ipv6=1"
SECOND = "ip link add eth5 type veth peer name far5 && ip addr add 10.78.0.4/24 dev eth5"
FAULTS = {
    "own-name-on-no-interface": ("hostname-resolution", "", "127.0.0.1 localhost\n10.99.0.4 node1\n", {}),
    "gloo-missing": ("gloo-interface", "", GOOD, {"GLOO_SOCKET_IFNAME": "ens9"}),
    "gloo-down": ("interface-down", SECOND, GOOD, {"GLOO_SOCKET_IFNAME": "eth5"}),
    "gloo-lo-on-two-nodes": ("gloo-interface", "", GOOD, {**TWO_NODES, "GLOO_SOCKET_IFNAME": "lo"}),
    "nccl-missing": ("nccl-interface", "", GOOD, {"NCCL_SOCKET_IFNAME": "ib0"}),
    "lo-down": ("interface-down", "ip link set lo down", GOOD, {}),
    "no-ipv6": ("address-family", NO_IPV6, GOOD, {**TWO_NODES, "RANK": "1", "MASTER_ADDR": "fd00::9"}),
    "dead-master": ("rendezvous-unreachable", "", GOOD, {**TWO_NODES, "MASTER_ADDR": "10.99.0.9"}),
    "firewall": (
        "rendezvous-unreachable",
        "iptables -A INPUT -p tcp --dport 29501 -j DROP",
        GOOD,
        TWO_NODES,
    ),
}
HEALTHY = {
    "two-nodes": ("", GOOD, {**TWO_NODES, "GLOO_SOCKET_IFNAME": "eth0", "NCCL_SOCKET_IFNAME": "^lo"}),
    "no-ipv6": (NO_IPV6, GOOD, {}),
    "second-address": (
        "ip addr add 10.79.0.4/24 dev eth0 label eth0:1",
        "10.79.0.4 node1\n127.0.0.1 localhost\n",
        {},
    ),
    "bridge-and-spare": (
        "ip link add docker0 type bridge && ip link add eth5 type veth peer name far5",
        GOOD,
        {},
    ),
}


@pytest.fixture
def host() -> Iterator[str]:
    """A namespace with loopback, eth0 (10.77.0.4) and a way to the rest of the world."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "unshare", "hostname"))):
        pytest.skip("needs root, ip, unshare and hostname")
    name, peer = (f"gpudoctor-{os.getpid()}-{end}" for end in ("host", "world"))
    made = [subprocess.run(["ip", "netns", "add", n], capture_output=True, text=True) for n in (name, peer)]
    try:
        if any(one.returncode for one in made):
            pytest.skip(f"needs network namespaces: {made[0].stderr.strip()}")
        for command in (
            f"link add eth0 netns {name} type veth peer name far netns {peer}",
            f"-n {peer} link set far up",
            f"-n {name} link set lo up",
            f"-n {name} addr add 10.77.0.4/24 dev eth0",
            f"-n {name} link set eth0 up",
            f"-n {name} route add default via 10.77.0.1",
        ):
            subprocess.run(["ip", *command.split()], check=True)
        look, ends = ["ip", "-n", name, "link", "show", "eth0"], time.monotonic() + 5
        while "state UP" not in subprocess.run(look, capture_output=True, text=True).stdout:
            assert time.monotonic() < ends  # the kernel says so up to a second later
            time.sleep(0.05)
        yield name
    finally:
        for namespace in (name, peer):
            subprocess.run(["ip", "netns", "delete", namespace], capture_output=True)
        shutil.rmtree(f"/etc/netns/{name}", ignore_errors=True)


def found(host: str, setup: str, hosts: str, variables: dict[str, str]) -> list[str]:
    """Return the ids above a note, in their order."""
    folder = Path("/etc/netns", host)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hosts").write_text(hosts)
    (folder / "nsswitch.conf").write_text("hosts: files\n")
    inside = ["ip", "netns", "exec", host]
    made = subprocess.run([*inside, "sh", "-c", setup or ":"], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"{setup}: {made.stderr.strip()}")
    check = f"check --python {warm_python()} --only network --only nccl --json"
    command = f"hostname node1 && {sys.executable} -m gpudoctor {check}"
    asked = [*inside, "unshare", "--uts", "sh", "-c", command]
    kept = {n: v for n, v in os.environ.items() if not n.lower().endswith("_proxy")}
    done = subprocess.run(asked, capture_output=True, text=True, env={**kept, **variables}, timeout=60)
    return [f["id"] for f in json.loads(done.stdout)["findings"] if f["severity"] != "note"]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_alone(host: str, name: str) -> None:
    expected, setup, hosts, variables = FAULTS[name]
    assert found(host, setup, hosts, variables) == [expected]


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_machine_is_left_in_peace(host: str, name: str) -> None:
    assert found(host, *HEALTHY[name]) == []

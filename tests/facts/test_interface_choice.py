"""What NCCL takes, by its own rules: prefixes, names, exceptions, families and the order of the kernel."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.facts import (
    Interface,
    Interfaces,
    gloo_names,
    means_nothing_elsewhere,
    nccl_choice,
    outward_addresses,
    outward_interfaces,
)


def up(name: str, index: int, *addresses: str, **fields: object) -> Interface:
    return Interface(name=name, up=True, running=True, index=index, addresses=list(addresses), **fields)  # type: ignore[arg-type]


LO = up("lo", 1, "127.0.0.1", "::1", loopback=True)
ETH0 = up("eth0", 2, "10.0.0.4", "fe80::1%eth0", default_route=True)
ETH1 = up("eth1", 3, "10.1.0.4")
DOCKER = up("docker0", 4, "172.17.0.1")
SIX = up("ens6", 5, "fd00::4")
IB0 = up("ib0", 6, "10.5.0.4")
DOWN = Interface(name="eth9", up=False, running=False, index=7, addresses=["10.9.0.4"])
ALL = [IB0, DOCKER, SIX, ETH1, ETH0, LO, DOWN]


@pytest.mark.parametrize(
    ("there", "variables", "taken"),
    [
        (ALL, {}, ["ib0"]),
        ([LO, ETH0, ETH1, DOCKER, SIX], {}, ["eth0", "eth1", "ens6"]),
        ([LO, DOCKER], {}, ["docker0"]),
        ([LO], {}, ["lo"]),
        ([], {}, []),
        (ALL, {"NCCL_SOCKET_IFNAME": "eth"}, ["eth0", "eth1"]),
        (ALL, {"NCCL_SOCKET_IFNAME": "=eth"}, []),
        (ALL, {"NCCL_SOCKET_IFNAME": "=eth1"}, ["eth1"]),
        (ALL, {"NCCL_SOCKET_IFNAME": "=eth1,ib0"}, ["eth1", "ib0"]),
        (ALL, {"NCCL_SOCKET_IFNAME": "^ib,docker,lo"}, ["eth0", "eth1", "ens6"]),
        (ALL, {"NCCL_SOCKET_IFNAME": "^=eth0,ib0"}, ["lo", "eth1", "docker0", "ens6"]),
        (ALL, {"NCCL_SOCKET_IFNAME": "ib0, eth1"}, ["ib0"]),
        (ALL, {"NCCL_SOCKET_IFNAME": "eth9"}, []),
        (ALL, {"NCCL_SOCKET_IFNAME": "eth1:1"}, ["eth1"]),
        (ALL, {"NCCL_SOCKET_IFNAME": "e"}, ["ib0"]),  # one letter is not heeded
        ([LO, ETH0, SIX], {"NCCL_SOCKET_FAMILY": "AF_INET6"}, ["eth0", "ens6"]),
        ([LO, ETH1], {"NCCL_SOCKET_FAMILY": "AF_INET6"}, []),
        ([LO, SIX], {"NCCL_SOCKET_FAMILY": "AF_INET"}, ["lo"]),
    ],
)
def test_what_nccl_takes(there: list[Interface], variables: dict[str, str], taken: list[str]) -> None:
    assert [i.name for i in nccl_choice(Interfaces(all=there), variables).interfaces] == taken


def test_what_gloo_is_told() -> None:
    assert gloo_names({"GLOO_SOCKET_IFNAME": "eth0,eth1"}) == ["eth0", "eth1"]
    assert gloo_names({"GLOO_SOCKET_IFNAME": ""}) == []
    assert gloo_names({}) == []


def test_whose_addresses_mean_nothing_elsewhere() -> None:
    assert [i.name for i in ALL if means_nothing_elsewhere(i)] == ["docker0", "lo"]
    assert not means_nothing_elsewhere(up("veth0", 2, "10.0.0.4", default_route=True))


def test_over_which_interfaces_others_may_reach_this_machine() -> None:
    assert [i.name for i in outward_interfaces(Interfaces(all=ALL))] == ["eth0", "ib0", "ens6", "eth1"]
    assert outward_addresses(Interfaces(all=ALL)) == {"10.5.0.4", "fd00::4", "10.1.0.4", "10.0.0.4"}


ASKED: list[dict[str, str]] = [
    {},
    {"NCCL_SOCKET_IFNAME": "eth"},
    {"NCCL_SOCKET_IFNAME": "=eth"},
    {"NCCL_SOCKET_IFNAME": "eth1"},
    {"NCCL_SOCKET_IFNAME": "^br,lo"},
    {"NCCL_SOCKET_IFNAME": "^=eth0"},
    {"NCCL_SOCKET_IFNAME": "ib0, eth0"},
    {"NCCL_SOCKET_IFNAME": "e"},
    {"NCCL_SOCKET_IFNAME": "eth0:1"},
    {"NCCL_SOCKET_FAMILY": "AF_INET6", "NCCL_SOCKET_IFNAME": "eth1"},
]
SETUP = """
ip link set lo up && ip link add br-1 type bridge && ip addr add 172.18.0.1/16 dev br-1 && ip link set br-1 up
ip link add in type veth peer name out && ip link set in master br-1 && ip link set in up && ip link set out up
ip link add eth0 type veth peer name far0 && ip addr add 10.0.0.4/24 dev eth0
ip link set eth0 up && ip link set far0 up
ip link add eth1 type veth peer name far1 && ip addr add 10.1.0.4/24 dev eth1 && ip link set eth1 up
"""
ASK = """
import ctypes, os, sys
from gpudoctor.facts import nccl_choice
from gpudoctor.probes.interfaces import probe
print("ours:" + ",".join(i.name for i in nccl_choice(probe(), os.environ).interfaces[:1]), flush=True)
ctypes.CDLL(sys.argv[1]).ncclGetUniqueId(ctypes.create_string_buffer(128))
"""


def test_nccl_itself_chooses_so() -> None:
    """What ``ncclGetUniqueId`` takes for its set-up, which needs no GPU."""
    libraries = sorted(Path(sys.prefix).glob("lib/python*/site-packages/nvidia/nccl/lib/libnccl.so.2"))
    if not libraries or shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.skip("needs NCCL, unshare (util-linux) and ip (iproute2)")
    asks = [
        shlex.join(["env", "NCCL_DEBUG=INFO", *(f"{n}={v}" for n, v in asked.items())])
        + ' "$@" 2>&1; echo ---'
        for asked in ASKED
    ]
    script = f"{SETUP}\necho ready; sleep 2; echo ---\n" + "\n".join(asks)
    command = ["unshare", "-n", "sh", "-c", script, "x", sys.executable, "-c", ASK, str(libraries[0])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if "ready" not in done.stdout or "Error" in done.stderr:
        pytest.skip(f"needs a network namespace (root): {done.stderr.strip()[-200:]}")
    answers = done.stdout.split("---\n")[1:-1]
    assert len(answers) == len(ASKED)
    for asked, answer in zip(ASKED, answers, strict=True):
        took = re.search(r"Bootstrap: Using ([^:]+):", answer)
        ours = re.search(r"^ours:(.*)$", answer, re.MULTILINE)
        assert ours is not None, answer
        assert ours[1] == (took[1] if took else ""), (asked, answer)
        assert took is not None or "no socket interface found" in answer

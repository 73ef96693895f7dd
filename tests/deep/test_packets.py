"""Packets of the interface's own size, sent to another machine: a network namespace at the other end of a cable."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import msgspec
import pytest

from gpudoctor.deep import packets
from gpudoctor.facts import Packets

Send = Callable[..., Packets | None]
LOOK = """
import json, socket, msgspec
from gpudoctor.deep import packets
sent = packets.send(socket.AF_INET, ("{address}", 29500))
print(json.dumps(msgspec.to_builtins(sent)))
"""


@pytest.fixture
def send() -> Iterator[Send]:
    """Send from 10.78.0.1, with an MTU, to 10.78.0.2 with another one, or by way of it to 10.79.0.2."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "sysctl"))):
        pytest.skip("needs root, ip and sysctl")
    names = [f"gdp-{os.getpid()}-{n}" for n in range(3)]
    ends = [f"gp{os.getpid() % 10**6}e{n}" for n in range(4)]

    def run(own: int, other: int, address: str = "10.78.0.2", behind: int = 0) -> Packets | None:
        commands = [f"link add {ends[0]} type veth peer name {ends[1]}"]
        for n, size in enumerate((own, other)):
            commands += [
                f"link set {ends[n]} netns {names[n]}",
                f"-n {names[n]} link set {ends[n]} mtu {size} up",
            ]
            commands += [
                f"-n {names[n]} addr add 10.78.0.{n + 1}/24 dev {ends[n]}",
                f"-n {names[n]} link set lo up",
            ]
        if behind:  # a router, and a third machine to which its other link leads
            commands += [f"link add {ends[2]} type veth peer name {ends[3]}"]
            for n, end, last in ((1, ends[2], 1), (2, ends[3], 2)):
                commands += [
                    f"link set {end} netns {names[n]}",
                    f"-n {names[n]} link set {end} mtu {behind} up",
                ]
                commands += [f"-n {names[n]} addr add 10.79.0.{last}/24 dev {end}"]
            commands += [f"netns exec {names[1]} sysctl -qw net.ipv4.ip_forward=1"]
            commands += [
                f"-n {names[0]} route add default via 10.78.0.2",
                f"-n {names[2]} route add default via 10.79.0.1",
            ]
        for command in commands:
            subprocess.run(["ip", *command.split()], check=True)
        asked = ["ip", "netns", "exec", names[0], sys.executable, "-c", LOOK.format(address=address)]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True)
        answer = json.loads(done.stdout)
        return None if answer is None else msgspec.convert(answer, Packets)

    try:
        for name in names:
            made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
            if made.returncode:
                pytest.skip(f"needs network namespaces: {made.stderr.strip()}")
        yield run
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def test_one_size_at_both_ends(send: Send) -> None:
    assert send(1500, 1500) == Packets(bytes=1500, passed=True)


def test_packets_that_the_other_end_does_not_take(send: Send) -> None:
    assert send(9000, 1500) == Packets(bytes=9000, passed=False)


def test_a_router_says_what_it_allows(send: Send) -> None:
    assert send(1500, 1500, address="10.79.0.2", behind=1400) == Packets(bytes=1500, passed=False, told=1400)


def test_nobody_is_there(send: Send) -> None:
    assert send(1500, 1500, address="10.78.0.3") == Packets(bytes=1500, passed=None)


def test_this_machine_is_no_other() -> None:
    assert packets.send(socket.AF_INET, ("127.0.0.1", 29500)) is None
    assert packets.send(socket.AF_UNIX, ("/x",)) is None

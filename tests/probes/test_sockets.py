"""Listening sockets: real ones, held by another process, by the process that asks, and by its ancestors."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import msgspec
import pytest

from gpudoctor.facts import Sockets
from gpudoctor.snapshot import Snapshot

Ask = Callable[..., Snapshot]
LISTEN = """
import socket, sys
listener = socket.create_server((sys.argv[1], 0), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
print(listener.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def listen() -> Iterator[Callable[[str], tuple[int, int]]]:
    """Start a process that listens; return its port and pid."""
    started = []

    def start(address: str) -> tuple[int, int]:
        command = [sys.executable, "-c", LISTEN, address]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        return int(process.stdout.readline()), process.pid

    yield start
    for process in started:
        process.communicate()


def sockets_of(snapshot: Snapshot) -> Sockets:
    sockets = snapshot.get(Sockets)
    assert sockets is not None, snapshot.probes
    return sockets


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_strangers_listener_shows_port_pid_and_command(
    ask: Ask, listen: Callable[[str], tuple[int, int]], address: str
) -> None:
    if address == "::1" and not os.path.exists("/proc/net/if_inet6"):
        pytest.skip("needs IPv6")
    port, pid = listen(address)
    found = sockets_of(ask("sockets")).listener(port)
    assert found is not None
    assert (found.port, found.address, found.pid, found.own) == (port, address, pid, False)
    assert (found.command or "").startswith("python")
    assert f"pid {pid}" in found.owner


def test_a_listener_of_the_process_that_asks_is_its_own(ask: Ask) -> None:
    """Torchrun holds the rendezvous port while its ranks look: that is no stranger."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = sockets_of(ask("sockets")).listener(listener.getsockname()[1])
    assert found is not None
    assert (found.pid, found.own) == (os.getpid(), True)


def test_a_port_that_is_only_connected_or_bound_has_no_listener(ask: Ask) -> None:
    with socket.socket() as bound, socket.create_server(("127.0.0.1", 0)) as server:
        bound.bind(("127.0.0.1", 0))
        with socket.create_connection(server.getsockname()) as client:
            port = client.getsockname()[1]
            sockets = sockets_of(ask("sockets"))
        assert sockets.listener(port) is None
        assert sockets.listener(bound.getsockname()[1]) is None
        assert sockets.listener(None) is None


def test_each_listener_comes_once_in_the_order_of_ports(
    ask: Ask, listen: Callable[[str], tuple[int, int]]
) -> None:
    ports = {listen("127.0.0.1")[0], listen("127.0.0.1")[0]}
    listeners = sockets_of(ask("sockets")).listeners
    assert [s.port for s in listeners] == sorted(s.port for s in listeners)
    assert sorted(s.port for s in listeners if s.port in ports) == sorted(ports)


def test_anothers_listener_that_may_not_be_seen_is_still_a_listener(
    listen: Callable[[str], tuple[int, int]],
) -> None:
    """An unprivileged gpudoctor sees the port and not the owner."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to ask as another user")
    port, _ = listen("127.0.0.1")
    drop = (
        "from gpudoctor.probes import __main__ as main, sockets; import gpudoctor.facts, psutil, os;"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534); main.main('gpudoctor.probes.sockets')"
    )
    answer = subprocess.run(
        [sys.executable, "-c", drop], capture_output=True, text=True, timeout=30, check=True
    )
    told = next(line for line in answer.stdout.splitlines() if line.startswith("gpudoctor "))
    found = msgspec.convert(json.loads(told.removeprefix("gpudoctor "))["facts"], Sockets).listener(port)
    assert found is not None
    assert (found.pid, found.command, found.own) == (None, None, False)
    assert "may not see" in found.owner

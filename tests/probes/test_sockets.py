"""Sockets that keep a port from others: of another process, of the process that asks, and of its ancestors."""

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
from tests.warm_python import warm_python

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


def test_a_listener_of_the_process_that_asks_is_its_own(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torchrun holds the rendezvous port while its ranks look: that is no stranger."""
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
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


def test_the_launchs_port_is_held_by_a_connection_or_a_socket_that_is_only_bound(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch's own store has the last word on each."""
    with socket.socket() as bound, socket.create_server(("127.0.0.1", 0)) as server:
        bound.bind(("127.0.0.1", 0))
        with socket.create_connection(server.getsockname()) as client:
            for one, pid in ((client, os.getpid()), (bound, None)):
                port = one.getsockname()[1]
                monkeypatch.setenv("MASTER_PORT", str(port))
                sockets = sockets_of(ask("sockets"))
                [held] = sockets.held
                assert (held.port, held.pid, held.listens) == (port, pid, False)
                assert sockets.holder(port) == held
                assert "EADDRINUSE" in opened(port)
        monkeypatch.setenv("MASTER_PORT", str(server.getsockname()[1]))
        sockets = sockets_of(ask("sockets"))
        assert (sockets.held, sockets.holder(server.getsockname()[1]).listens) == ([], True)


@pytest.mark.parametrize("reuses", [False, True])
def test_a_port_that_a_store_can_open_is_not_held(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, reuses: bool
) -> None:
    """Free, or bound by one that shares it: 64 ranks that look at once find no holder in each other."""
    with socket.socket() as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        if not reuses:
            bound.close()
        monkeypatch.setenv("MASTER_PORT", str(port))
        assert sockets_of(ask("sockets")).held == []
        assert opened(port) == "opened"


@pytest.mark.parametrize("text", ["", "29500x", "0", "70000", "١٢٣"])
def test_what_is_no_port_is_not_tried(ask: Ask, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("MASTER_PORT", text)
    assert sockets_of(ask("sockets")).held == []


def opened(port: int) -> str:
    """Return what c10d's store says of a port."""
    pytest.importorskip("torch")
    code = f"from torch.distributed import TCPStore\nTCPStore('127.0.0.1', {port}, 1, True)\nprint('opened')"
    store = subprocess.run(
        [warm_python(), "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    return (store.stdout + store.stderr).strip().splitlines()[-1]


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

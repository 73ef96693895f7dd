"""Name look-ups, in host-name and mount namespaces where a machine of another name is needed."""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from gpudoctor.facts import Names, Route
from gpudoctor.probes.names import endpoint_host, resolve, unanswered
from gpudoctor.snapshot import Snapshot

Ask = Callable[..., Snapshot]
PROBE = [sys.executable, "-m", "gpudoctor.probes", "gpudoctor.probes.names"]


def names_of(snapshot: Snapshot) -> Names:
    names = snapshot.get(Names)
    assert names is not None, snapshot.probes
    return names


def names_on(tmp_path: Path, host: str, hosts: str, master: str | None = None) -> Names:
    """Run the probe on a machine of another name, whose resolver knows /etc/hosts alone."""
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare (util-linux)")
    (tmp_path / "nsswitch.conf").write_text("hosts: files\n")
    (tmp_path / "hosts").write_text(hosts)
    commands = [
        f"hostname {host}",
        *(f"mount --bind {tmp_path}/{name} /etc/{name}" for name in ("nsswitch.conf", "hosts")),
        "echo ready",
        (f"MASTER_ADDR={master} " if master else "") + " ".join(PROBE),
    ]
    command = ["unshare", "-u", "-m", "sh", "-c", " && ".join(commands)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if "ready" not in answer.stdout:
        pytest.skip(f"needs a host-name and a mount namespace (root): {answer.stderr.strip()}")
    told = next(line for line in answer.stdout.splitlines() if line.startswith("gpudoctor "))
    return msgspec.convert(json.loads(told.removeprefix("gpudoctor "))["facts"], Names)


def test_the_own_name_is_the_one_that_torch_would_ask_for(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    names = names_of(ask("names"))
    assert names.own.name == socket.gethostname()
    assert names.own.addresses or names.own.error
    assert names.master is None


def test_master_addr_is_resolved(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    master = names_of(ask("names")).master
    assert master is not None
    assert (master.name, master.addresses, master.error, master.loopback) == (
        "127.0.0.1",
        ["127.0.0.1"],
        None,
        True,
    )


@pytest.mark.parametrize("name", ["a..b", "x" * 300, "two words"])
def test_a_name_that_is_no_name_is_an_answer_not_an_exception(name: str) -> None:
    answer = resolve(name)
    assert answer.addresses == []
    assert answer.error


def test_a_host_name_that_does_not_resolve_says_what_the_resolver_said(tmp_path: Path) -> None:
    names = names_on(tmp_path, "node-7", "127.0.0.1 localhost\n")
    assert names.own.name == "node-7"
    assert names.own.addresses == []
    assert names.own.error in ("Name or service not known", "Temporary failure in name resolution")
    assert not names.own.loopback


def test_a_host_name_that_resolves_to_loopback_is_seen_as_such(tmp_path: Path) -> None:
    """Debian writes 127.0.1.1 into /etc/hosts."""
    own = names_on(tmp_path, "node-7", "127.0.0.1 localhost\n127.0.1.1 node-7\n").own
    assert (own.addresses, own.error, own.loopback) == (["127.0.1.1"], None, True)


def test_master_and_own_name_are_told_apart(tmp_path: Path) -> None:
    names = names_on(tmp_path, "node-7", "10.9.8.7 node-7\n10.9.8.6 node-6\n", master="node-6")
    assert names.own.addresses == ["10.9.8.7"]
    assert not names.own.loopback
    assert names.master is not None
    assert names.master.addresses == ["10.9.8.6"]


def test_a_master_that_does_not_resolve_leaves_the_own_name_alone(tmp_path: Path) -> None:
    names = names_on(tmp_path, "node-7", "10.9.8.7 node-7\n", master="gone")
    assert names.own.addresses == ["10.9.8.7"]
    assert names.master is not None
    assert names.master.error


def test_the_way_to_an_address_is_known_without_a_packet() -> None:
    assert resolve("127.0.0.1").routes == [Route(address="127.0.0.1", source="127.0.0.1")]


@pytest.fixture
def namespace() -> list[str]:
    """Commands run in an empty network namespace, in which nothing but loopback is there, and up."""
    command = ["unshare", "-n", "sh", "-c", 'ip link set lo up && echo ready && exec "$@"', "x"]
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.skip("needs unshare (util-linux) and ip (iproute2)")
    if subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("needs a network namespace (root)")
    return command


def test_an_address_without_a_way_to_it(namespace: list[str]) -> None:
    command = [*namespace, "env", "MASTER_ADDR=192.0.2.77", *PROBE]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    told = next(line for line in answer.stdout.splitlines() if line.startswith("gpudoctor "))
    master = msgspec.convert(json.loads(told.removeprefix("gpudoctor "))["facts"], Names).master
    assert master is not None
    assert master.no_way == Route(address="192.0.2.77", error="Network is unreachable")


def test_who_did_not_answer_on_the_local_network(tmp_path: Path) -> None:
    (tmp_path / "proc/net").mkdir(parents=True)
    (tmp_path / "proc/net/arp").write_text(
        "IP address       HW type     Flags       HW address            Mask     Device\n"
        "10.0.0.1         0x1         0x2         02:00:00:00:00:01     *        eth0\n"
        "10.0.0.77        0x1         0x0         00:00:00:00:00:00     *        eth0\n"
    )
    assert unanswered(tmp_path) == {"10.0.0.77"}
    assert unanswered(tmp_path / "nowhere") == set()


@pytest.mark.parametrize(
    ("endpoint", "host"),
    [
        ("node1:29500", "node1"),
        ("node1", "node1"),
        ("[fd00::1]:29500", "fd00::1"),
        ("", ""),
        (" node1:1 ", "node1"),
    ],
)
def test_the_host_of_an_endpoint(endpoint: str, host: str) -> None:
    assert endpoint_host(endpoint) == host

"""Two machines: network namespaces with names of their own, and a launch that spans them."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.warm_python import warm_python

PORT = 29500
Check = Callable[..., dict[str, Any]]


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[list[str]]:
    """Two namespaces that reach each other: node0 has 10.77.0.1, node1 has 10.77.0.2."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "unshare", "hostname"))):
        pytest.skip("needs root, ip, unshare and hostname")
    names = [f"gpudoctor-{os.getpid()}-{n}" for n in range(2)]
    # Names of interfaces hold 15 characters at most.
    ends = [f"gd{os.getpid() % 10**6}e{n}" for n in range(2)]
    try:
        for name in names:
            made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
            if made.returncode:
                pytest.skip(f"needs network namespaces: {made.stderr.strip()}")
        run = [f"link add {ends[0]} type veth peer name {ends[1]}"]
        for n, (name, end) in enumerate(zip(names, ends, strict=True)):
            run += [f"link set {end} netns {name}", f"-n {name} addr add 10.77.0.{n + 1}/24 dev {end}"]
            run += [f"-n {name} link set {end} up", f"-n {name} link set lo up"]
        for command in run:
            subprocess.run(["ip", *command.split()], check=True)
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)
            shutil.rmtree(f"/etc/netns/{name}", ignore_errors=True)


def names_of(host: str) -> Path:
    """Return what is a host's /etc/hosts."""
    return Path("/etc/netns", host, "hosts")


@pytest.fixture
def check(hosts: list[str]) -> Check:
    """Run ``gpudoctor check --only network`` on a host as that rank; its own name means `own`, or still the same."""

    def run(rank: int, own: str) -> dict[str, Any]:
        path = names_of(hosts[rank])
        path.parent.mkdir(parents=True, exist_ok=True)
        other = 1 - rank
        if own:
            path.write_text(f"127.0.0.1 localhost\n{own} node{rank}\n10.77.0.{other + 1} node{other}\n")
        launch = {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
        launch |= {"MASTER_ADDR": "node0", "MASTER_PORT": str(PORT)}
        asked = f"check --python {warm_python()} --only network --json --no-redact"
        command = f"hostname node{rank} && {sys.executable} -m gpudoctor {asked}"
        inside = ["ip", "netns", "exec", hosts[rank], "unshare", "--uts", "sh", "-c", command]
        done = subprocess.run(
            inside, capture_output=True, text=True, env={**os.environ, **launch}, timeout=60
        )
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    return run


def errors(report: dict[str, Any]) -> list[str]:
    return [finding["id"] for finding in report["findings"] if finding["severity"] != "note"]


@pytest.mark.parametrize("rank", [0, 1])
def test_nodes_whose_names_resolve_to_their_addresses_are_healthy(check: Check, rank: int) -> None:
    report = check(rank, f"10.77.0.{rank + 1}")
    assert errors(report) == []
    assert report["facts"]["names"]["master"]["addresses"] == ["10.77.0.1"]


def test_a_node_whose_own_name_is_loopback_is_an_error_when_the_launch_spans_nodes(check: Check) -> None:
    report = check(1, "127.0.1.1")
    assert errors(report) == ["hostname-resolution"]
    (finding,) = report["findings"]
    assert "127.0.1.1" in finding["message"]
    assert any("10.77.0.2 node1" in fix["command"] for fix in finding["fixes"])


def test_the_line_for_the_administrator_gives_the_name_its_address(check: Check, hosts: list[str]) -> None:
    """As Debian writes /etc/hosts; a further line alone changes nothing, for 127.0.1.1 is preferred."""
    (finding,) = check(1, "127.0.1.1 node1.example.org")["findings"]
    path = names_of(hosts[1])
    before = path.read_text()
    path.write_text(f"{before}10.77.0.2 node1\n")
    assert errors(check(1, "")) == ["hostname-resolution"]
    path.write_text(before)
    (line,) = [fix["command"] for fix in finding["fixes"] if fix["kind"] == "admin"]
    line = line.replace("sudo ", "").replace("/etc/hosts", str(path))
    subprocess.run(["sh", "-c", line], check=True, stdout=subprocess.DEVNULL)
    assert errors(check(1, "")) == []
    assert "127.0.0.1 localhost\n" in path.read_text()


def test_a_listener_on_the_port_is_the_trouble_of_rank_0_alone(check: Check, hosts: list[str]) -> None:
    code = f"import socket, time; s = socket.create_server(('', {PORT})); time.sleep(60)"
    holders = [subprocess.Popen(["ip", "netns", "exec", host, sys.executable, "-c", code]) for host in hosts]
    try:
        time.sleep(1.5)
        first = check(0, "10.77.0.1")
        assert errors(first) == ["port-in-use"]
        assert f"MASTER_PORT {PORT} is held by python" in first["findings"][0]["message"]
        assert errors(check(1, "10.77.0.2")) == []
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()

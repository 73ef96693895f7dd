"""Network interfaces, those of this machine and those of a namespace made for the test."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator

import msgspec
import pytest

from gpudoctor.facts import Interfaces
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
    assert near.addresses[:1] == ["10.9.8.7"]
    assert near.mtu == 9000
    assert (far.up, far.addresses) == (False, [])
    assert not found["bridge9"].up
    assert near.virtual
    assert far.virtual
    assert "far" not in [i.name for i in interfaces.usable]

"""The machine itself, compared with what the kernel and the shell say."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.facts import Host
from gpudoctor.snapshot import Snapshot

Ask = Callable[..., Snapshot]


def host_of(snapshot: Snapshot) -> Host:
    host = snapshot.get(Host)
    assert host is not None, snapshot.probes
    return host


def test_the_facts_agree_with_the_machine(ask: Ask) -> None:
    host = host_of(ask("host"))
    assert (host.system, host.kernel, host.machine) == (
        platform.system(),
        platform.release(),
        platform.machine(),
    )
    assert host.cpus == os.cpu_count()
    if os.path.exists("/proc/meminfo"):
        kib = int(Path("/proc/meminfo").read_text().split()[1])
        assert host.memory_bytes == kib * 1024
    assert 0 < (host.memory_available_bytes or 0) <= (host.memory_bytes or 0)
    assert set(host.limits) == {"memlock", "nofile", "nproc"}


def test_affinity_and_limits_are_those_of_the_process_that_asks(ask: Ask) -> None:
    """A training started beside gpudoctor would share them."""
    import resource

    own, limit = os.sched_getaffinity(0), resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = min(limit[0], 512) if limit[0] > 0 else 512
    try:
        os.sched_setaffinity(0, {min(own)})
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, limit[1]))
        host = host_of(ask("host"))
    finally:
        os.sched_setaffinity(0, own)
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    assert host.cpus_usable == 1
    assert host.limits["nofile"].soft == soft


def test_kubernetes_is_recognised_by_its_variable(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    assert host_of(ask("host")).container == "kubernetes"


def test_a_small_dev_shm_is_measured(tmp_path: Path) -> None:
    """Docker gives a container 64 MiB unless it is told otherwise."""
    probe = f"{sys.executable} -m gpudoctor.probes gpudoctor.probes.host"
    mount = f"mount -t tmpfs -o size=64m tmpfs /dev/shm && exec {probe}"
    answer = subprocess.run(
        ["unshare", "-m", "sh", "-c", mount], capture_output=True, text=True, timeout=30, cwd=tmp_path
    )
    if "unshare" in answer.stderr or "mount" in answer.stderr:
        pytest.skip(f"needs a mount namespace (root): {answer.stderr.strip()}")
    told = next(line for line in answer.stdout.splitlines() if line.startswith("gpudoctor "))
    assert json.loads(told.removeprefix("gpudoctor "))["facts"]["shm_bytes"] == 64 * 2**20

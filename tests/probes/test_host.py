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
from gpudoctor.probes.host import probe
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
    assert set(host.limits) == {"memlock", "nofile", "nproc", "core", "as", "data", "fsize", "cpu"}


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
    small = "mount -t tmpfs -o size=64m,nr_inodes=3 tmpfs /dev/shm && touch /dev/shm/a /dev/shm/b"
    mount = f"{small} && mount -o remount,ro /dev/shm && exec {probe}"
    answer = subprocess.run(
        ["unshare", "-m", "sh", "-c", mount], capture_output=True, text=True, timeout=30, cwd=tmp_path
    )
    if "unshare" in answer.stderr or "mount" in answer.stderr:
        pytest.skip(f"needs a mount namespace (root): {answer.stderr.strip()}")
    told = next(line for line in answer.stdout.splitlines() if line.startswith("gpudoctor "))
    facts = json.loads(told.removeprefix("gpudoctor "))["facts"]
    assert facts["shm_bytes"] == 64 * 2**20
    assert (facts["shm_inodes_free"], facts["shm_writable"]) == (0, False)


def tree(root: Path, files: dict[str, str]) -> Path:
    """Write a recorded tree of /proc and /sys."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    return root


UNIFIED = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
JOB = "sys/fs/cgroup/system.slice/slurmstepd.scope/job_7"


def test_control_groups_of_version_2_up_to_the_root(tmp_path: Path) -> None:
    """A Slurm step: the limits are set on the job, above the own group."""
    files = {
        "proc/self/cgroup": "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0",
        "proc/self/mountinfo": UNIFIED,
        f"{JOB}/memory.max": str(64 << 30),
        f"{JOB}/memory.current": str(10 << 30),
        f"{JOB}/memory.stat": f"anon 1\ninactive_file {4 << 30}",
        f"{JOB}/step_0/memory.max": "max",
        f"{JOB}/step_0/user/task_0/memory.max": "max",
        f"{JOB}/memory.high": str(60 << 30),
        f"{JOB}/step_0/user/task_0/memory.events": "low 0\nhigh 3\noom 2\noom_kill 1\noom_group_kill 0",
        f"{JOB}/step_0/cpuset.cpus.effective": "0-15",
        f"{JOB}/step_0/cpu.max": "400000 100000",
        f"{JOB}/cpu.max": "max 100000",
        f"{JOB}/pids.max": "500",
        f"{JOB}/pids.current": "20",
        "sys/fs/cgroup/system.slice/pids.max": "10000",
        "sys/fs/cgroup/system.slice/pids.current": "9900",
    }
    group = probe(tree(tmp_path, files)).cgroup
    assert group is not None
    assert (group.version, group.path) == (2, "/system.slice/slurmstepd.scope/job_7/step_0/user/task_0")
    assert (group.memory_max_bytes, group.memory_used_bytes) == (64 << 30, 6 << 30)
    assert (group.memory_high_bytes, group.memory_throttled) == (60 << 30, 3)
    assert (group.oom_kills, group.cpu_quota, group.cpus) == (1, 4.0, "0-15")
    assert (group.pids_max, group.pids_current) == (10000, 9900)  # the one that leaves the least room


def test_control_groups_of_version_1_in_a_container(tmp_path: Path) -> None:
    """Without a namespace of its own a container is told its path on the host, which it does not see."""
    inside = "/docker/4f1c"
    controllers = ("memory", "pids", "cpu,cpuacct", "cpuset")
    files = {
        "proc/self/cgroup": "\n".join(f"{n}:{c}:{inside}" for n, c in enumerate(controllers, 2)),
        "proc/self/mountinfo": "\n".join(
            f"3{n} 29 0:3{n} {inside} /sys/fs/cgroup/{c} ro - cgroup cgroup rw,{c}"
            for n, c in enumerate(controllers)
        ),
        "sys/fs/cgroup/memory/memory.limit_in_bytes": str(2 << 30),
        "sys/fs/cgroup/memory/memory.usage_in_bytes": str(1 << 30),
        "sys/fs/cgroup/memory/memory.stat": f"cache 5\ntotal_inactive_file {1 << 29}",
        "sys/fs/cgroup/memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3",
        "sys/fs/cgroup/pids/pids.max": "100",
        "sys/fs/cgroup/pids/pids.current": "12",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "150000",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
        "sys/fs/cgroup/cpuset/cpuset.effective_cpus": "0-3",
    }
    host = probe(tree(tmp_path, files))
    group = host.cgroup
    assert group is not None
    assert (group.version, group.memory_max_bytes, group.memory_used_bytes) == (1, 2 << 30, 1 << 29)
    assert (group.oom_kills, group.pids_max, group.pids_current) == (3, 100, 12)
    assert (host.cpu_quota, group.cpus) == (1.5, "0-3")


def test_no_limit_in_either_version(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "4:memory:/\n0::/",
        "proc/self/mountinfo": UNIFIED,
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
        "sys/fs/cgroup/memory/memory.stat": "cache 1",
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
        "sys/fs/cgroup/pids.max": "max",
    }
    host = probe(tree(tmp_path, files))
    assert host.cgroup is not None
    assert (host.cgroup.memory_max_bytes, host.cgroup.pids_max, host.cpu_quota) == (None, None, None)


def test_numa_governors_and_rdma_of_a_recorded_machine(tmp_path: Path) -> None:
    node, cpu = "sys/devices/system/node", "sys/devices/system/cpu"
    files = {
        f"{node}/node0/cpulist": "0-1",
        f"{node}/node0/meminfo": "Node 0 MemTotal:  1024 kB\nNode 0 MemFree:  512 kB",
        f"{node}/node10/cpulist": "",
        "proc/sys/kernel/numa_balancing": "1",
        "proc/sys/fs/file-nr": "1984\t0\t3250000\n",
        f"{cpu}/cpu0/cpufreq/scaling_governor": "powersave",
        f"{cpu}/cpu0/cpufreq/scaling_driver": "intel_pstate",
        f"{cpu}/cpu1/cpufreq/scaling_governor": "performance",
        "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE",
        "sys/class/infiniband/mlx5_0/ports/1/link_layer": "InfiniBand",
        "sys/class/infiniband/mlx5_1/ports/1/state": "1: DOWN",
        "sys/class/infiniband/mlx5_1/ports/1/link_layer": "InfiniBand",
        "proc/self/status": "Name: x\nCapEff:\t0000000000004400",
        "proc/uptime": "350735.47 234388.90",
    }
    host = probe(tree(tmp_path, files))
    assert (host.files_open, host.files_max) == (1984, 3250000)
    assert host.numa is not None
    assert [(n.node, n.cpus, n.memory_bytes) for n in host.numa.nodes] == [
        (0, "0-1", 1 << 20),
        (10, "", None),
    ]
    assert [n.node for n in host.numa.nodes if n.cpus] == [0]
    assert (host.numa.balancing, host.numa.governor_driver) == (True, "intel_pstate")
    assert host.numa.governors == {"performance": 1, "powersave": 1}
    assert host.rdma == {"mlx5_0": "InfiniBand", "mlx5_1": ""}
    assert host.capabilities == ["net_bind_service", "ipc_lock"]
    assert host.uptime_seconds == 350735.47


def test_a_dev_without_shm(tmp_path: Path) -> None:
    host = probe(tree(tmp_path, {"dev/null": ""}))
    assert (host.shm_bytes, host.shm_missing) == (None, True)
    assert probe(tree(tmp_path, {"dev/shm/.keep": ""})).shm_missing is False


def test_nothing_is_known_of_an_empty_root(tmp_path: Path) -> None:
    host = probe(tmp_path)
    assert (host.cgroup, host.capabilities, host.shm_bytes, host.uptime_seconds) == (None, None, None, None)
    assert host.numa is not None
    assert host.numa.balancing is None

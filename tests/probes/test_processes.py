"""Processes: real ones that are stuck, dead, orphaned, and what they leave in shared memory."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpudoctor.probes.processes import probe

# clone(CLONE_VFORK | SIGCHLD): the parent waits in the kernel, in state D, until its child ends.
STUCK = """
import ctypes, os, platform, sys, time
number = {"x86_64": 56, "aarch64": 220}[platform.machine()]
print("ready", flush=True)
if ctypes.CDLL(None).syscall(number, 0x4000 | 17, 0, 0, 0, 0) == 0:
    time.sleep(30)
    os._exit(0)
"""
DEAD = """
import os, sys, time
pid = os.fork()
if pid == 0:
    os._exit(1)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
print(pid, flush=True)
sys.stdin.read()
"""
# A launcher that goes away: its rank is a session of its own, as torchrun's ranks are.
LEFT = """
import os, subprocess, sys
environment = {**os.environ, "RANK": "3", "LOCAL_RANK": "3", "MASTER_PORT": "29777", "TORCHELASTIC_RUN_ID": "none"}
child = subprocess.Popen(
    [sys.executable, "-c", "import time; time.sleep(60)"], env=environment, start_new_session=True,
    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
)
print(child.pid, flush=True)
if sys.argv[1:]:
    sys.stdin.read()
"""
pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def start(started: list[subprocess.Popen[str]], code: str, *arguments: str) -> tuple[int, str]:
    """Start a script; return its pid and its first line."""
    command = [sys.executable, "-c", code, *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    started.append(process)
    assert process.stdout is not None
    return process.pid, process.stdout.readline().strip()


def children(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_process_that_waits_in_the_kernel_at_two_looks(
    started: list[subprocess.Popen[str]], wait_for: Callable[[Callable[[], bool], float], float]
) -> None:
    pid, _ = start(started, STUCK)
    wait_for(lambda: bool(children(pid)), 10)
    held = children(pid)
    try:
        stuck = [p for p in probe().stuck if p.pid == pid]
    finally:
        for child in held:
            os.kill(child, 9)
    assert [(p.name.startswith("python"), p.state, p.same_user) for p in stuck] == [(True, "D", True)]


def test_a_dead_process_that_its_parent_does_not_collect(started: list[subprocess.Popen[str]]) -> None:
    parent, dead = start(started, DEAD)
    zombies = {p.pid: p for p in probe().zombies}
    assert int(dead) in zombies
    assert zombies[int(dead)].parent == parent


def test_a_child_of_the_process_that_asks_is_no_zombie_of_interest() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    zombies = [p.pid for p in probe().zombies]
    process.wait()
    assert process.pid not in zombies


def test_a_rank_whose_launcher_is_gone(started: list[subprocess.Popen[str]]) -> None:
    process, rank = start(started, LEFT)
    started[-1].wait(10)
    try:
        found = next(p for p in probe().ranks if p.pid == int(rank))
    finally:
        os.kill(int(rank), 9)
    assert (found.rank, found.local_rank, found.master_port) == ("3", "3", "29777")
    assert found.same_user
    assert found.parent != process
    if found.parent == 1:
        assert found.orphaned


def test_a_rank_whose_launcher_lives(started: list[subprocess.Popen[str]]) -> None:
    _, rank = start(started, LEFT, "stay")
    try:
        found = next(p for p in probe().ranks if p.pid == int(rank))
    finally:
        os.kill(int(rank), 9)
    assert not found.orphaned
    assert not found.own


def test_threads_of_this_user_are_counted() -> None:
    threads = probe().user_threads
    assert threads is not None
    assert threads >= 1


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A root whose /dev/shm is empty, and whose /proc is the real one."""
    (tmp_path / "dev/shm").mkdir(parents=True)
    (tmp_path / "proc").symlink_to("/proc")
    if os.readlink("/proc/self/ns/pid") != "pid:[4026531836]":
        pytest.skip("in a PID namespace of its own nobody can tell who else uses /dev/shm")
    return tmp_path


def test_segments_that_nobody_uses(shared: Path) -> None:
    for name in ("nccl-aBcDeF", "torch_4711_99_0", "sem.lock", "psm_1234"):
        (shared / "dev/shm" / name).write_bytes(b"x" * 10000)
    found = {s.name: s.bytes for s in probe(shared).segments}
    assert found.keys() == {"nccl-aBcDeF", "torch_4711_99_0"}
    assert min(found.values()) >= 10000


def test_a_segment_that_a_process_has_open(shared: Path) -> None:
    with (shared / "dev/shm/nccl-inuse").open("wb"):
        assert probe(shared).segments == []
    assert [s.name for s in probe(shared).segments] == ["nccl-inuse"]


def test_a_segment_that_a_process_has_mapped(shared: Path) -> None:
    import mmap

    with (shared / "dev/shm/nccl-mapped").open("wb+") as file:
        file.truncate(4096)
        mapped = mmap.mmap(file.fileno(), 4096)
    try:
        assert probe(shared).segments == []
    finally:
        mapped.close()


def test_without_proc_there_is_no_answer(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        probe(tmp_path)


def test_processes_come_and_go_while_they_are_read(tmp_path: Path) -> None:
    for pid, content in (("7", ""), ("8", "8 (a) b) S"), ("9", None)):
        (tmp_path / "proc" / pid).mkdir(parents=True)
        if content is not None:
            (tmp_path / "proc" / pid / "stat").write_text(content)
    assert probe(tmp_path).ranks == []

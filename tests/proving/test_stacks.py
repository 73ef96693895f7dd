"""Where the processes of a training stand: asked by py-spy, and by Python's fault handler."""

import os
import shutil
import subprocess
import sys
import time

import psutil
import pytest

from gpudoctor.child import Child, run
from gpudoctor.proving.stacks import Stacks

RANK = """import faulthandler, os, signal, threading, time
def in_time():
    time.sleep(60)
def too_late():
    time.sleep(60)
if os.environ["RANK"] != "3":
    faulthandler.register(signal.SIGUSR1, all_threads=True)
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
os.write(1, b"ready\\n")  # in one piece: the ranks share the pipe
too_late() if os.environ["RANK"] == "2" else in_time()
"""
LAUNCHER = """import os, subprocess, sys
ranks = [subprocess.Popen([sys.executable, os.environ["SCRIPT"]], env={**os.environ, "RANK": str(n)}) for n in range(4)]
for rank in ranks:
    rank.wait()
"""


def stood(folder, monkeypatch, path):
    """What is told of four ranks, the third of which stands elsewhere, and the last keeps no signal for it."""
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("PYTHONFAULTHANDLER", "1")
    (folder / "rank.py").write_text(RANK)
    (folder / "launcher.py").write_text(LAUNCHER)
    ready, taken = [], []

    def hear(line):
        ready.append(line)
        for stacks in taken:
            stacks.hear(line.decode())

    def look(running):
        if not taken and ready.count(b"ready") == 4:
            taken.append(Stacks(running[0].process.pid, str(folder / "rank.py")))
        elif taken and taken[0].look():
            running[0].deadline = 0.0

    command = [sys.executable, str(folder / "launcher.py")]
    environment = {**os.environ, "SCRIPT": str(folder / "rank.py")}
    child = Child("launcher", command, 60.0, hear, environment, merge_errors=True)
    run([child], on_tick=look)
    assert taken, ready
    _, left = psutil.wait_procs([rank.process for rank in taken[0].stood], timeout=10)
    assert left == []
    return taken[0].told().splitlines()


def test_ranks_that_stand_alike_are_together_and_the_odd_one_comes_first(tmp_path, monkeypatch):
    assert stood(tmp_path, monkeypatch, "") == [
        "rank 2 stands here (most recent call first):",
        "    too_late (rank.py:5)",
        "    <module> (rank.py:10)",
        "ranks 0-1,3 stand here (most recent call first):",
        "    in_time (rank.py:3)",
        "    <module> (rank.py:10)",
    ]


@pytest.mark.skipif(shutil.which("py-spy") is None, reason="needs py-spy")
def test_py_spy_says_the_same(tmp_path, monkeypatch):
    own = stood(tmp_path, monkeypatch, os.path.dirname(shutil.which("py-spy")))
    assert own == stood(tmp_path, monkeypatch, "")


def test_a_process_that_tells_nothing_is_said(tmp_path):
    """It runs no Python: no signal is sent, and nothing is known."""
    (tmp_path / "rank.py").write_text("sleep 30\n")
    process = subprocess.Popen(["sh", str(tmp_path / "rank.py")], start_new_session=True)
    try:
        time.sleep(0.5)  # until its child is `sleep`, and no copy of the shell
        stacks = Stacks(process.pid, str(tmp_path / "rank.py"))
        while not stacks.look():
            pass
        assert stacks.told() == "rank 0 stands somewhere that Python did not tell"
        assert process.poll() is None
    finally:
        os.killpg(process.pid, 9)
        process.wait()

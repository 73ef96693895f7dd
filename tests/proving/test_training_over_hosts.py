"""A training whose ranks are on four hosts, started by torchrun on each: network namespaces on one bridge.

Two hosts are those of reproductions, such as `duplicate-hostname`; two nodes those of Slurm.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest

from gpudoctor.proving.needs import makes_namespaces
from gpudoctor.proving.training_script import training_script
from tests.late_import import late_import

late_import("torch")
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None or not makes_namespaces(),
    reason="needs root, ip and namespaces",
)
FEW = ("--epochs", "1", "--limit", "640", "--batch-size", "16")
HOSTS = 4
LAUNCH = """
import ctypes, multiprocessing, os, socket, subprocess, sys
import torch
from torch.distributed.run import main

count, script, options = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
unshare = ctypes.CDLL(None).unshare


def run(commands):
    subprocess.run(["sh", "-ec", commands], check=True)


def host(number):
    unshare(0x20000 | 0x4000000 | 0x40000000)  # CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWNET
    pids[number] = os.getpid()
    meet.wait()  # their numbers are known
    meet.wait()  # they have a cable each
    socket.sethostname(f"host{number}")
    run("mount --make-rprivate /; mount --bind hosts /etc/hosts; ip link set lo up; ip link set eth0 up")
    run(f"ip addr add 10.78.0.{number + 1}/24 dev eth0")
    os.environ["GLOO_SOCKET_IFNAME"] = "eth0"
    begin.wait()
    launch = [f"--nnodes={count}", "--nproc-per-node=1", "--rdzv-backend=c10d", "--rdzv-endpoint=host0:29500"]
    main([*launch, "--rdzv-id=job", "--run-path", "--start-method=fork", script, *options])


unshare(0x40000000)
run("ip link add switch type bridge; ip link set switch up")
fork = multiprocessing.get_context("fork")
pids, meet, begin = fork.Array("i", count), fork.Barrier(count + 1), fork.Barrier(count)
hosts = [fork.Process(target=host, args=(number,)) for number in range(count)]
for one in hosts:
    one.start()
meet.wait()
for number, pid in enumerate(pids):
    run(f"ip link add port{number} type veth peer name eth0 netns {pid}")
    run(f"ip link set port{number} master switch; ip link set port{number} up")
meet.wait()
for one in hosts:
    one.join()
sys.exit(any(one.exitcode for one in hosts))
"""


def test_ranks_on_four_hosts_compute_what_one_device_does(tmp_path, gpu_count):
    if gpu_count:
        pytest.skip("several hosts on one machine: NCCL takes one rank for each GPU")
    (tmp_path / "launch.py").write_text(LAUNCH)
    # A forked rank must return: its agent waits for what it returns.
    text = training_script("ddp")
    assert text.count("    os._exit(code)") == 1
    (tmp_path / "train.py").write_text(text.replace("    os._exit(code)", "    assert code == 0"))
    names = [f"10.78.0.{number + 1} host{number}" for number in range(HOSTS)]
    (tmp_path / "hosts").write_text("\n".join(["127.0.0.1 localhost", *names, ""]))
    command = ["timeout", "-k", "5", "240", sys.executable, "launch.py", str(HOSTS), "train.py", *FEW]
    kept = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=kept, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    [result] = [event for event in events if event["event"] == "result"]  # the first rank alone speaks
    assert result["passed"], result
    assert result["parameters_equal"] is True
    assert 0 < result["largest_relative_difference"] < 1e-5
    assert next(event["world_size"] for event in events if event["event"] == "start") == HOSTS

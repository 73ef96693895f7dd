"""Both nodes have the name that their image brought, and each takes it for itself."""
# run: python fixed.py
# needs: torch
# needs: root
# needs: namespaces

import ctypes
import datetime
import multiprocessing
import os
import socket
import subprocess
import sys

import torch
import torch.distributed as dist
from torch.distributed.run import main

SAME = "localhost.localdomain"
HOSTS = [f"127.0.0.1 localhost {SAME}\n::1 localhost {SAME}\n"] * 2
LAUNCH = [
    "--nnodes=2",
    "--nproc-per-node=1",
    "--rdzv-backend=c10d",
    "--rdzv-id=job",
    "--rdzv-endpoint=10.0.0.1:29500",
]


def node(rank, pids, meet):
    """Be one of two machines: with a network, a name and an /etc/hosts of its own."""
    ctypes.CDLL(None).unshare(0x20000 | 0x4000000 | 0x40000000)  # CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWNET
    pids[rank] = os.getpid()
    meet.wait()
    if rank == 0:
        run(f"ip link add eth0 type veth peer name eth0 netns {pids[1]}")
    meet.wait()
    socket.sethostname(SAME)
    with open(f"hosts{rank}", "w") as file:
        file.write(HOSTS[rank])
    run(
        f"mount --make-rprivate /; mount --bind hosts{rank} /etc/hosts; ip link set lo up; ip link set eth0 up"
    )
    run(f"ip addr add 10.0.0.{rank + 1}/24 dev eth0")
    meet.wait()
    launch = LAUNCH + [f"--rdzv-conf=read_timeout=8,join_timeout=8,is_host={rank == 0}"]
    launch += [f"--local-addr=10.0.0.{rank + 1}"]
    os.environ["GLOO_SOCKET_IFNAME"] = "eth0"
    main(launch + ["--run-path", "--start-method=fork", __file__])


def run(commands):
    subprocess.run(["sh", "-ec", commands], check=True)


def train():
    patience = 25 if os.environ["RANK"] == "0" else 8  # rank 1 is to fail first: it knows why
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=patience))
    gradient = torch.ones(1)
    dist.all_reduce(gradient)
    print(f"rank {dist.get_rank()}: trained")
    dist.destroy_process_group()


if "RANK" in os.environ:
    train()
else:
    fork = multiprocessing.get_context("fork")
    pids, meet = fork.Array("i", 2), fork.Barrier(2)
    nodes = [fork.Process(target=node, args=(rank, pids, meet)) for rank in (0, 1)]
    for one in nodes:
        one.start()
    for one in nodes:
        one.join(30)
        one.kill()  # an agent that outlives the one with the store may wait for it for minutes
    sys.exit(any(one.exitcode for one in nodes))

"""The nodes give each other addresses of different families: on one its own name means an IPv6 address."""
# run: python broken.py
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

HOSTS = [
    "127.0.0.1 localhost\nfd55::1 node0\n10.0.0.2 node1\n",
    "127.0.0.1 localhost\n10.0.0.1 node0\n10.0.0.2 node1\n",
]
LAUNCH = [
    "--nnodes=2",
    "--nproc-per-node=1",
    "--rdzv-backend=c10d",
    "--rdzv-id=job",
    "--rdzv-endpoint=node0:29500",
]
LAUNCH += ["--rdzv-conf=read_timeout=8,join_timeout=8"]


def node(rank, pids, meet):
    """Be one of two machines: with a network, a name and an /etc/hosts of its own."""
    ctypes.CDLL(None).unshare(0x20000 | 0x4000000 | 0x40000000)  # CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWNET
    pids[rank] = os.getpid()
    meet.wait()
    if rank == 0:
        run(f"ip link add eth0 type veth peer name eth0 netns {pids[1]}")
    meet.wait()
    socket.sethostname(f"node{rank}")
    with open(f"hosts{rank}", "w") as file:
        file.write(HOSTS[rank])
    run(
        f"mount --make-rprivate /; mount --bind hosts{rank} /etc/hosts; ip link set lo up; ip link set eth0 up"
    )
    run(f"ip addr add 10.0.0.{rank + 1}/24 dev eth0; ip addr add fd55::{rank + 1}/64 nodad dev eth0")
    meet.wait()
    main(LAUNCH + ["--run-path", "--start-method=fork", __file__])


def run(commands):
    subprocess.run(["sh", "-ec", commands], check=True)


def train():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=8))
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

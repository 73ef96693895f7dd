"""The ranks are sent to two ports: one opens a store, the other knocks where nobody listens."""
# run: python fixed.py
# needs: torch
# needs: Linux

import datetime
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def train(rank, port):
    patience = datetime.timedelta(seconds=4 if rank else 20)
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1")
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", timeout=patience)
    gradient = torch.ones(1)
    dist.all_reduce(gradient)
    print(f"rank {rank}: trained")
    dist.destroy_process_group()


port = free_port()
mp.start_processes(train, args=(port,), nprocs=2, start_method="fork")

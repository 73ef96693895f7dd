"""The ranks are sent to two ports: one opens a store, the other knocks where nobody listens."""
# run: python broken.py
# needs: torch
# needs: Linux

import datetime
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

PORTS = [29615, 29616]  # of rank 0 and rank 1


def train(rank):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORTS[rank]))
    patience = datetime.timedelta(seconds=4 if rank else 20)
    dist.init_process_group("gloo", timeout=patience)
    gradient = torch.ones(1)
    dist.all_reduce(gradient)
    print(f"rank {rank}: trained")
    dist.destroy_process_group()


mp.start_processes(train, nprocs=2, start_method="fork")

"""A script that starts its own ranks is started with torchrun, which starts ranks, too."""
# run: python fixed.py
# needs: torch
# needs: Linux

import datetime
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def train(rank):
    dist.init_process_group("gloo", rank=rank, world_size=2, timeout=datetime.timedelta(seconds=4))
    gradient = torch.ones(1)
    dist.all_reduce(gradient)
    print(f"rank {rank}: trained")
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29612")
    mp.start_processes(train, nprocs=2, start_method="fork")

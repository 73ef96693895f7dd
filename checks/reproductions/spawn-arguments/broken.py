"""mp.spawn passes the number of the process in front of what args holds."""
# run: python broken.py
# needs: torch

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def train(rank, world_size):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    gradient = torch.ones(1)
    dist.all_reduce(gradient)
    print(f"rank {rank}: trained")
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29577")
    mp.spawn(train, args=(0, 2), nprocs=2)

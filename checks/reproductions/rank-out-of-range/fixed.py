"""Ranks are numbered from 1 instead of from 0."""
# run: python fixed.py
# needs: torch
# needs: Linux

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

MEETING = "file://" + os.path.abspath(__file__) + ".store"


def train(local_rank):
    rank = local_rank
    dist.init_process_group("gloo", init_method=MEETING, rank=rank, world_size=2)
    gradient = torch.ones(1)
    dist.all_reduce(gradient)
    print(f"rank {rank}: trained")
    dist.destroy_process_group()


mp.start_processes(train, nprocs=2, start_method="fork")

"""The file by which the ranks meet is still there from a run that did not end well."""
# run: python broken.py
# needs: torch
# needs: Linux

import datetime
import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

STORE = os.path.abspath(__file__) + ".store"
MEETING = "file://" + STORE


def train(rank, killed):
    patience = datetime.timedelta(seconds=2)
    time.sleep(0 if killed else rank)  # one starts a little later than the other
    dist.init_process_group("gloo", init_method=MEETING, rank=rank, world_size=2, timeout=patience)
    gradient = torch.ones(1)
    dist.all_reduce(gradient)
    if killed:
        os._exit(0)  # nothing is tidied up
    print(f"rank {rank}: trained")
    dist.destroy_process_group()


mp.start_processes(train, args=(True,), nprocs=2, start_method="fork")
mp.start_processes(train, args=(False,), nprocs=2, start_method="fork")

"""A training whose ranks meet at a file is started again after a run that was killed, which left the file behind."""
# run: python broken.py
# needs: torch
# needs: Linux

import os
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

os.environ["GLOO_SOCKET_IFNAME"] = "lo"  # both ranks are on this machine
STORE = os.path.join(tempfile.mkdtemp(), "store")


def train(rank, killed):
    if rank == 0:
        time.sleep(3)  # it is the last to come
    dist.init_process_group("gloo", f"file://{STORE}", world_size=2, rank=rank)
    dist.all_reduce(torch.ones(1))
    if killed:
        os._exit(0)  # nobody leaves in order
    print(f"rank {rank}: trained")
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.start_processes(train, args=(True,), nprocs=2, start_method="fork")
    mp.start_processes(train, args=(False,), nprocs=2, start_method="fork")

"""The local rank, which starts at 0 on each node, chooses the share of the data."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import os

import torch.distributed as dist
from torch.utils.data import DistributedSampler

os.environ["LOCAL_RANK"] = "0"  # as on two nodes with one rank each
dist.init_process_group("gloo")
rank = int(os.environ["RANK"])
sampler = DistributedSampler(range(8), num_replicas=dist.get_world_size(), rank=rank)
shares = [None] * dist.get_world_size()
dist.all_gather_object(shares, list(sampler))
assert shares[0] != shares[1], "two ranks take the same share of the data"
print(f"rank {dist.get_rank()}: {shares}")
dist.destroy_process_group()

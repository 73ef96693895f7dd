"""shuffle=True beside a DistributedSampler."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import datetime

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
rank = dist.get_rank()
torch.manual_seed(0)

dataset = TensorDataset(torch.arange(20))
sampler = DistributedSampler(dataset, shuffle=True)
loader = DataLoader(dataset, batch_size=5, sampler=sampler)
orders = []
for epoch in range(2):
    sampler.set_epoch(epoch)
    orders.append([i for (x,) in loader for i in x.tolist()])
assert orders[0] != orders[1], "every epoch has the same order"
print(rank, orders)
dist.barrier()  # none leaves while another connects
dist.destroy_process_group()

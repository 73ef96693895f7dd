"""The sampler is not told the epoch, and shuffles all epochs alike."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo")
sampler = DistributedSampler(range(20), shuffle=True)
loader = DataLoader(range(20), batch_size=5, sampler=sampler)
orders = []
for epoch in range(2):
    orders.append([batch.tolist() for batch in loader])
assert orders[0] != orders[1], "every epoch has the same order"
print(f"rank {dist.get_rank()}: {orders}")
dist.destroy_process_group()

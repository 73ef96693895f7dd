"""The sampler is not told the epoch, and shuffles all epochs alike."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo")
dataset = range(20)
sampler = DistributedSampler(dataset, shuffle=True)
loader = DataLoader(dataset, batch_size=5, sampler=sampler)
orders = [[], []]
for epoch in range(2):
    for batch in loader:
        orders[epoch] += batch.tolist()
assert orders[0] != orders[1], "every epoch has the same order"
print(f"rank {dist.get_rank()}: {orders}")
dist.barrier()  # none leaves while another connects
dist.destroy_process_group()

"""The accuracy that each rank prints is that of its own share."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
dataset = TensorDataset(torch.tensor([1.0, 0.0, 1.0, 1.0]))  # 1: the model is right
loader = DataLoader(dataset, sampler=DistributedSampler(dataset, shuffle=False))
counts = torch.zeros(2)
with torch.no_grad():
    for (right,) in loader:
        counts += torch.tensor([right.sum(), len(right)])
dist.all_reduce(counts)
accuracy = (counts[0] / counts[1]).item()
assert counts[1] == len(dataset), (
    f"the accuracy {accuracy} is that of {counts[1]:.0f} of {len(dataset)} samples"
)
print(f"rank {dist.get_rank()}: accuracy {accuracy}")
dist.destroy_process_group()

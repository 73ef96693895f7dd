"""A rank whose images hold no object returns no loss for them."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.mask = nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, x, masks):
        features = self.backbone(x)
        losses = {"class": features.square().mean()}
        mask = self.mask(features)
        losses["mask"] = (mask - masks).square().mean() if len(masks) else mask.sum() * 0
        return losses


model = DistributedDataParallel(Net())
losses = model(torch.randn(4, 8), torch.randn(4, 1) if rank == 0 else torch.empty(0, 1))
length = torch.tensor(len(losses))
dist.all_reduce(length)  # as mmdetection asks, before it sums each loss over the ranks
said = f"rank {rank} len(log_vars): {len(losses)} keys: {','.join(losses)}"
assert length == len(losses) * size, "loss log variables are different across GPUs!\n" + said
sum(losses.values()).backward()
print(said)
dist.destroy_process_group()

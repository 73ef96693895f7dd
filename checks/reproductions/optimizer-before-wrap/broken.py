"""The optimizer is built before FSDP puts other parameters into the model."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import os

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # gloo, on the CPU

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
fully_shard(model)
for _ in range(3):
    model(torch.randn(4, 8)).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
held = {id(p) for group in optimizer.param_groups for p in group["params"]}
assert held & {id(p) for p in model.parameters()}, "the optimizer has none of the model's parameters"
print("trained")
dist.destroy_process_group()

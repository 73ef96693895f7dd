"""Fully sharded data parallelism, with torch.compile and a checkpoint that every rank takes part in."""

import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.layer = torch.nn.Linear(width, width)

    def forward(self, x):
        return x + self.layer(self.norm(x))


class Model(torch.nn.Module):
    def __init__(self, depth=4, width=64):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block(width) for _ in range(depth))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def train(dataset, epochs):
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("cuda:nccl,cpu:gloo", device_id=device)
    model = Model().to(device)
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    model = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    sampler = DistributedSampler(dataset, drop_last=True)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    is_master = dist.get_rank() == 0
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for step, batch in enumerate(loader):
            loss = model(batch.to(device)).pow(2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if is_master and step % 100 == 0:
                print(epoch, step)
        weights, state = get_state_dict(model, optimizer)
        dcp.save({"model": weights, "optimizer": state}, checkpoint_id=f"checkpoints/{epoch}")
    dist.destroy_process_group()

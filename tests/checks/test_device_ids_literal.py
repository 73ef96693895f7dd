"""device-ids-literal: seen in a script."""

FLAGGED = [
    (
        "torchrun.py",
        {"model = DDP(model, device_ids=[local_rank])": "model = DDP(model, device_ids=[0])  # <-"},
    ),
    (
        "data_parallel.py",
        {"model = nn.DataParallel(model)": "model = nn.DataParallel(model, device_ids=[0, 1, 2])  # <-"},
    ),
    """
import torch
import torch.nn as nn
net = nn.DataParallel(nn.Linear(2, 2).cuda(), [0, 1])  # <-
print(net)
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

def main(data):
    dist.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    net = DDP(torch.nn.Linear(2, 2).to(rank), device_ids=[rank])
    steps = torch.optim.SGD(net.parameters(), 0.1)
    sampler = DistributedSampler(data)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for batch in DataLoader(data, 4, sampler=sampler):
            batch = {name: part.to("cuda:1") for name, part in batch.items()}  # <-
            net(batch["x"]).sum().backward()
            steps.step()
            steps.zero_grad()
    dist.destroy_process_group()

main(None)
""",
]
FINE = [
    (
        "data_parallel.py",
        {
            "model = nn.DataParallel(model)": "model = nn.DataParallel(model, device_ids=list(range(torch.cuda.device_count())))"
        },
    ),
    """
import os
import torch
from torch.nn.parallel import DistributedDataParallel

os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["LOCAL_RANK"]
torch.distributed.init_process_group("nccl")
model = DistributedDataParallel(torch.nn.Linear(2, 2).to(0), device_ids=[0])
torch.distributed.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

def main(data):
    dist.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    net = DDP(torch.nn.Linear(2, 2).to(rank), device_ids=[rank])
    steps = torch.optim.SGD(net.parameters(), 0.1)
    sampler = DistributedSampler(data)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for batch in DataLoader(data, 4, sampler=sampler):
            batch = {name: part.to(rank) for name, part in batch.items()}
            net(batch["x"]).sum().backward()
            steps.step()
            steps.zero_grad()
    dist.destroy_process_group()

main(None)
""",
]

"""Each rank's BatchNorm computes mean and variance from its own half of the batch."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch
# needs: 2 GPUs

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

local_rank = int(os.environ["LOCAL_RANK"])
device = torch.device("cuda", local_rank)
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)
model = nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4)).to(device)
model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
model = DistributedDataParallel(model, device_ids=[local_rank])
x = torch.randn(4, 8, generator=torch.Generator().manual_seed(dist.get_rank()))
model(x.to(device)).square().mean().backward()
mean = model.module[1].running_mean
means = [torch.empty_like(mean) for _ in range(2)]
dist.all_gather(means, mean)
assert torch.allclose(*means), f"BatchNorm has other statistics on each rank: {means}"
print(f"rank {dist.get_rank()}: one mean and variance, of the whole batch")
dist.destroy_process_group()

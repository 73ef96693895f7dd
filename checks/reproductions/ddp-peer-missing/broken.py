"""One rank loads for longer than the other one waits."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch
# needs: 2 GPUs

import datetime
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=4))
if dist.get_rank() == 1:
    time.sleep(12)  # loads its data
model = DistributedDataParallel(nn.Linear(8, 2).cuda(), device_ids=[local_rank])
print(f"rank {dist.get_rank()}: {model(torch.ones(1, 8).cuda()).shape}")
dist.destroy_process_group()

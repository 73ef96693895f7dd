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
]

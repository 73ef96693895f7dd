"""NCCL is told to use a network that is not there."""
# run: torchrun --standalone --nproc-per-node=1 broken.py
# needs: torch
# needs: 1 GPU

import os

import torch
import torch.distributed as dist

os.environ["NCCL_NET"] = "AWS Libfabric"  # in a training the job script sets it
local_rank = int(os.environ["LOCAL_RANK"])
device = torch.device("cuda", local_rank)
torch.cuda.set_device(device)

dist.init_process_group("nccl", device_id=device)
dist.barrier()
print("connected")
dist.destroy_process_group()

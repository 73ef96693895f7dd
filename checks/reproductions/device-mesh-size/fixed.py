"""A mesh of 8 with 2 ranks."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import datetime

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
rank = dist.get_rank()
torch.manual_seed(0)

tp = 2
dp = dist.get_world_size() // tp
mesh = init_device_mesh("cpu", (dp, tp), mesh_dim_names=("dp", "tp"))
print(mesh)
dist.barrier()  # none leaves while another connects
dist.destroy_process_group()

"""The launch is for two nodes, and was started on one."""
# run: torchrun --nnodes=2 --nproc-per-node=2 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --rdzv-conf=join_timeout=4 broken.py
# needs: torch

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
gradient = torch.ones(1)
dist.all_reduce(gradient)
print(f"rank {dist.get_rank()}: trained")
dist.destroy_process_group()

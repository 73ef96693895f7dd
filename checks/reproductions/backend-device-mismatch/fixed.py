"""The process group is for tensors on the GPU alone, and a metric is reduced on the CPU."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import torch
import torch.distributed as dist

dist.init_process_group("cpu:gloo,cuda:gloo")
correct = torch.tensor([90.0 + dist.get_rank()])
dist.all_reduce(correct)
print(f"{correct.item()} of 200 are right")
dist.destroy_process_group()

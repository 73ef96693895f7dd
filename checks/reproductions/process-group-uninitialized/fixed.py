"""A script that was written for torchrun is run alone, to try it: nobody made the process group."""
# run: python fixed.py
# needs: torch

import os

import torch
import torch.distributed as dist

if "RANK" in os.environ:  # torchrun
    dist.init_process_group("gloo")
gradient = torch.ones(1)
if dist.is_initialized():
    dist.all_reduce(gradient)
print("trained")
if dist.is_initialized():
    dist.destroy_process_group()

"""CUDA_VISIBLE_DEVICES is set after torch has looked for GPUs."""
# run: python fixed.py
# needs: torch
# needs: 2 GPUs

import os

import torch

local_rank = 1  # from the launcher
os.environ["CUDA_VISIBLE_DEVICES"] = str(local_rank)
print(torch.cuda.is_available(), torch.zeros(1, device="cuda").device)
try:
    torch.zeros(1, device="cuda:1")
    hidden = False
except RuntimeError:
    hidden = True
assert hidden, "CUDA_VISIBLE_DEVICES was set too late: cuda:1 is still there"
print("one GPU is visible")

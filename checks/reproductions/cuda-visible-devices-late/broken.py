"""CUDA_VISIBLE_DEVICES is set after CUDA was started."""
# run: python broken.py
# needs: torch
# needs: 2 GPUs

import os

import torch

local_rank = 1  # from the launcher
print(torch.cuda.get_device_name())
os.environ["CUDA_VISIBLE_DEVICES"] = str(local_rank)
try:
    torch.zeros(1, device="cuda:1")
    hidden = False
except RuntimeError:
    hidden = True
assert hidden, "CUDA_VISIBLE_DEVICES was set too late: cuda:1 is still there"
print("one GPU is visible")

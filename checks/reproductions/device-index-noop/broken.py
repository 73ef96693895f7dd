"""A context manager is called as if it chose the GPU."""
# run: python broken.py
# needs: torch
# needs: 2 GPUs

import torch

local_rank = 1  # from the launcher
torch.accelerator.device_index(local_rank)
device = torch.zeros(1, device="cuda").device
assert device.index == local_rank, f"local rank {local_rank} works on {device}"
print(f"local rank {local_rank} works on {device}")

"""Slurm shows a task its own GPU alone, and the script counts from the first of the node."""
# run: python fixed.py
# needs: torch
# needs: 1 GPU

import os

# As Slurm sets them for the second task of a node.
os.environ.update(SLURM_LOCALID="1", CUDA_VISIBLE_DEVICES="0")

import torch

local = int(os.environ.get("SLURM_LOCALID", 0)) % torch.cuda.device_count()
torch.cuda.set_device(local)
print("works on", torch.zeros(1, device="cuda").device)

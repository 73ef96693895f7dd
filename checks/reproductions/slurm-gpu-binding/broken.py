"""Slurm shows a task its own GPU alone, and the script counts from the first of the node."""
# run: python broken.py
# needs: torch
# needs: 1 GPU

import os

# As Slurm sets them for the second task of a node.
os.environ.update(SLURM_LOCALID="1", CUDA_VISIBLE_DEVICES="0")

import torch

torch.cuda.set_device(int(os.environ.get("SLURM_LOCALID", 0)))
print("works on", torch.zeros(1, device="cuda").device)

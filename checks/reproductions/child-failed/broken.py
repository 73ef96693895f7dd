"""A worker ends without a word, and torchrun can only say that it did."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import os
import sys

import torch


def load(path):
    if not os.path.exists(path):
        sys.exit(1)
    return torch.load(path)


weights = load("pretrained.pt")
print("trained from", weights.sum().item())

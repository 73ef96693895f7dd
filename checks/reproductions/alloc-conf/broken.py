"""The memory allocator is given an option that it does not have."""
# run: python broken.py
# needs: torch
# needs: 1 GPU

import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size:128"  # in a training the job script sets it

import torch

print(torch.zeros(1, device="cuda:0").device)

"""An extension writes to an address that is no tensor's any more, in native code."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import ctypes

import torch

weights = torch.ones(8)
address = 0  # of a tensor that is gone
ctypes.memset(address, 0, 4)
print("the weights are", weights)

"""Everything is frozen."""
# run: python broken.py
# needs: torch

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential()
model.add_module("backbone", nn.Linear(8, 8))
model.add_module("head", nn.Linear(8, 2))
model.requires_grad_(False)
loss = model(torch.randn(4, 8)).square().mean()
loss.backward()
print("trained")

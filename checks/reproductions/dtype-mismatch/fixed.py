"""The input comes in double precision, and the weights are in single."""
# run: python fixed.py
# needs: torch

import torch
from torch import nn

model = nn.Linear(8, 2)
for step in range(3):
    x = torch.rand(4, 8, dtype=torch.float64)  # as from a table, or from numpy
    x = x.to(next(model.parameters()).dtype)
    print(model(x).mean().item())

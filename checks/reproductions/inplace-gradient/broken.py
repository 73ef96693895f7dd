"""`+=` on a value that its operation needs again."""
# run: python broken.py
# needs: torch

import torch
from torch import nn

torch.manual_seed(0)
weight = nn.Parameter(torch.randn(8))
for step in range(3):
    x = torch.exp(weight)
    x += 1
    x.sum().backward()
print("trained")

"""The head expects 256 numbers of each sample, and 144 come."""
# run: python broken.py
# needs: torch

import torch
from torch import nn

model = nn.Sequential(
    nn.Conv2d(1, 4, 3),
    nn.Flatten(),
    nn.Linear(256, 10),
)
print(model(torch.randn(2, 1, 8, 8)).shape)

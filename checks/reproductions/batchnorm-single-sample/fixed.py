"""The last batch holds one sample."""
# run: python fixed.py
# needs: torch

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))
dataset = TensorDataset(torch.randn(9, 8))
loader = DataLoader(dataset, batch_size=4, drop_last=True)
for (x,) in loader:
    model(x).square().mean().backward()
print("trained")

"""A checkpoint saved from nn.DataParallel is loaded into the bare model: every key starts with `module.`."""
# run: python fixed.py
# needs: torch

import os
import tempfile

import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))


model = nn.DataParallel(build())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(torch.randn(4, 8)).square().mean()
loss.backward()
optimizer.step()

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.pt")
    torch.save(model.module.state_dict(), path)

    bare = build()  # for evaluation on one device
    bare.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
print("loaded", len(bare.state_dict()), "tensors")

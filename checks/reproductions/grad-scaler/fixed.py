"""Gradients are unscaled after every part of an accumulated batch."""
# run: python fixed.py
# needs: torch

import torch
from torch import nn

model = nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")  # "cuda" in a training: the scaler's rules are the same
for part in range(4):
    loss = model(torch.randn(4, 8)).square().mean()
    scaler.scale(loss).backward()
    if part % 2 == 1:
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
print("trained")

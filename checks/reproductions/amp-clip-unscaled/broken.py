"""Gradients are clipped while they are still scaled."""
# run: python broken.py
# needs: torch

import torch
from torch import nn

model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
scaler = torch.amp.GradScaler("cpu")  # "cuda" in a training: the scaler's rules are the same
before = model.weight.detach().clone()
for step in range(2):
    optimizer.zero_grad()
    scaler.scale(100 * model(torch.ones(1, 8)).sum()).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
moved = (model.weight - before).norm().item()
assert moved > 0.1, f"the weights moved by {moved:.1e}: gradients were clipped while they were scaled"
print("the weights moved by", moved)

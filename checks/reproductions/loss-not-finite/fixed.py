"""The learning rate is too high for the first steps."""
# run: python fixed.py
# needs: torch

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.01, total_iters=100)
for step in range(100):
    x = torch.randn(16, 8)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    assert torch.isfinite(loss), f"step {step}: loss is not finite"
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    warmup.step()
print("loss:", loss.item())

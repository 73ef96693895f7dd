"""CUDA_VISIBLE_DEVICES, copied from a larger machine, names a GPU that this one does not have."""
# run: python broken.py
# needs: CUDA build of torch
# needs: 1 GPU

import os

os.environ["CUDA_VISIBLE_DEVICES"] = "99"

import torch
from torch import nn

device = torch.device("cuda")
model = nn.Linear(8, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for step in range(3):
    x = torch.randn(4, 8, device=device)
    target = torch.randint(2, (4,), device=device)
    loss = nn.functional.cross_entropy(model(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")

"""A layer that is put into the model after nn.DataParallel wrapped it stays on the CPU."""
# run: python broken.py
# needs: CUDA build of torch
# needs: 1 GPU

import torch
from torch import nn

backbone = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 10))
model = nn.DataParallel(backbone.to("cuda:0"))
model.module[2] = nn.Linear(16, 2)  # a new head, for two classes
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for step in range(3):
    x = torch.randn(4, 8, device="cuda:0")
    target = torch.randint(2, (4,), device="cuda:0")
    loss = nn.functional.cross_entropy(model(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.3f}")

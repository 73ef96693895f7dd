"""The loss is read in every step, and each time the CPU waits for the GPU."""
# run: python fixed.py
# needs: torch
# needs: 1 GPU

import torch
from torch import nn

device = torch.device("cuda", 0)
model = nn.Linear(8, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.ones(4, 8).to(device)
total = torch.zeros(1).to(device)
torch.cuda.set_sync_debug_mode("error")  # raises where a step waits for the GPU
for step in range(3):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.detach()
torch.cuda.set_sync_debug_mode("default")
print("mean loss:", total.item() / 3)

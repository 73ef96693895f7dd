"""A batch is twice as large as the memory of the GPU."""
# run: python fixed.py
# needs: torch
# needs: 1 GPU

import torch
from torch import nn

device = torch.device("cuda", 0)
model = nn.Linear(1024, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss = model(torch.ones(1000, 1024, device=device)).square().mean()
    (loss / 4).backward()
    if step % 4 == 3:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
print("trained")

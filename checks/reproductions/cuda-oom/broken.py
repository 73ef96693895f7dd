"""A batch is twice as large as the memory of the GPU."""
# run: python broken.py
# needs: torch
# needs: 1 GPU

import torch
from torch import nn

device = torch.device("cuda", 0)
memory = torch.cuda.get_device_properties(device).total_memory
samples = memory // 4096 * 2  # of 1024 numbers, 4 bytes each
model = nn.Linear(1024, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(torch.ones(samples, 1024, device=device)).square().mean()
loss.backward()
optimizer.step()
print("trained")

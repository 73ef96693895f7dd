"""PyTorch holds the whole memory of the GPU, and cuDNN finds none to start with."""
# run: python broken.py
# needs: torch
# needs: 1 GPU

import torch
from torch import nn

device = torch.device("cuda", 0)
model = nn.Conv2d(1, 8, 3).to(device)
x = torch.ones(4, 1, 28, 28).to(device)
room = torch.empty(1 << 27, dtype=torch.uint8, device=device)
held, size = [], 1 << 30
while size >= 1 << 20:  # as a batch that just fits
    try:
        held.append(torch.empty(size, dtype=torch.uint8, device=device))
    except torch.cuda.OutOfMemoryError:
        size //= 2
del room  # is free for PyTorch's own tensors, and for nobody else
print("mean:", model(x).mean().item())

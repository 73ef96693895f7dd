"""PyTorch holds the whole memory of the GPU, and cuBLAS finds none to start with."""
# run: python fixed.py
# needs: torch
# needs: 1 GPU

import torch

device = torch.device("cuda", 0)
torch.cuda.set_per_process_memory_fraction(0.92)
a, b = torch.ones(64, 64).to(device), torch.ones(64, 64).to(device)
room = torch.empty(1 << 27, dtype=torch.uint8, device=device)
held, size = [], 1 << 30
while size >= 1 << 20:  # as a batch that just fits
    try:
        held.append(torch.empty(size, dtype=torch.uint8, device=device))
    except torch.cuda.OutOfMemoryError:
        size //= 2
del room  # is free for PyTorch's own tensors, and for nobody else
print("product:", (a @ b)[0, 0].item())

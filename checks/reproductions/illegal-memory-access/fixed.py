"""A kernel writes beyond the end of its tensor."""
# run: python fixed.py
# needs: torch
# needs: 1 GPU
# needs: gcc

import torch
import triton
from triton import language as tl


@triton.jit
def double(x, size):
    place = tl.program_id(0).to(tl.int64) * 1024 + tl.arange(0, 1024)
    inside = place < size
    tl.store(x + place, tl.load(x + place, mask=inside) * 2, mask=inside)


x = torch.ones(1000, device="cuda:0")
double[(1 << 22,)](x, x.numel())  # as many blocks as the longest tensor needs
print(x.sum().item())

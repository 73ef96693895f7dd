"""A kernel asks for more shared memory than a block of the GPU has."""
# run: python fixed.py
# needs: torch
# needs: 1 GPU
# needs: gcc

import torch
import triton
from triton import language as tl

SIZE = 64


@triton.jit
def product(x, out, size: tl.constexpr):
    row, column = tl.arange(0, size)[:, None], tl.arange(0, size)[None, :]
    part = tl.load(x + row * size + column)
    tl.store(out + row * size + column, tl.dot(part, part))


x = torch.ones(SIZE, SIZE, device="cuda:0")
out = torch.empty_like(x)
product[(1,)](x, out, SIZE)
print(out[0, 0].item())

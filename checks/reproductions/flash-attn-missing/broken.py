"""The model's attention is that of flash-attn, a package which is not installed."""
# run: python broken.py
# needs: torch

import torch
from flash_attn import flash_attn_func

query = key = value = torch.randn(2, 16, 4, 8)  # batch, tokens, heads, channels
print(flash_attn_func(query, key, value, causal=True).shape)

"""The model's attention is that of flash-attn, a package which is not installed."""
# run: python fixed.py
# needs: torch

import torch
from torch.nn.functional import scaled_dot_product_attention

query = key = value = torch.randn(2, 16, 4, 8)  # batch, tokens, heads, channels
heads = [x.transpose(1, 2) for x in (query, key, value)]
print(scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).shape)

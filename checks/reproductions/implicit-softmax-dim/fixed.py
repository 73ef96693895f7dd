"""softmax without dim."""
# run: python fixed.py
# needs: torch

import torch
import torch.nn.functional as F
from torch import nn

logits = torch.randn(2, 3, 4)
for probabilities in (F.softmax(logits, dim=-1), nn.Softmax(dim=-1)(logits)):
    assert torch.allclose(probabilities.sum(dim=-1), torch.ones(2, 3))
print("ones")

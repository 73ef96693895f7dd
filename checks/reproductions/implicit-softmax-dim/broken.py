"""softmax without dim."""
# run: python broken.py
# needs: torch

import torch
from torch import nn
from torch.nn import functional

logits = torch.randn(2, 3, 4)
for probabilities in (functional.softmax(logits), nn.Softmax()(logits)):
    assert torch.allclose(probabilities.sum(dim=-1), torch.ones(2, 3))
print("ones")

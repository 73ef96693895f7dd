"""softmax without dim."""
# run: python broken.py
# needs: torch

import torch
import torch.nn.functional as F
from torch import nn

logits = torch.randn(2, 3, 4)
for probabilities in (F.softmax(logits), nn.Softmax()(logits)):
    assert torch.allclose(probabilities.sum(dim=-1), torch.ones(2, 3))
print("ones")

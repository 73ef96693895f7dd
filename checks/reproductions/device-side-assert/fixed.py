"""Binary cross entropy gets logits where it takes probabilities."""
# run: python fixed.py
# needs: torch
# needs: 1 GPU

import torch
from torch import nn

device = torch.device("cuda", 0)
logits = torch.tensor([-2.0, 3.0], device=device)
target = torch.tensor([0.0, 1.0], device=device)
loss = nn.functional.binary_cross_entropy_with_logits(logits, target)
print("loss:", loss.item())

"""A softmax without dim runs over the places of a sequence, not over the classes."""
# run: python fixed.py
# needs: torch

import warnings

import torch
from torch import nn

warnings.filterwarnings("error", message="Implicit dimension")  # it is a warning, and ends the run here
logits = torch.randn(2, 3, 4)  # batch, place, class
probabilities = nn.Softmax(dim=-1)(logits)
assert torch.allclose(probabilities.sum(dim=-1), torch.ones(2, 3)), "the classes do not sum to 1"
print("the classes sum to 1")

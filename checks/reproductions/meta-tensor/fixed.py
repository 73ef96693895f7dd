"""A model is made on the meta device, and the weights are loaded as if it had memory."""
# run: python fixed.py
# needs: torch

import torch
from torch import nn

state = nn.Linear(8, 2).state_dict()  # the checkpoint
with torch.device("meta"):
    model = nn.Linear(8, 2)
model.load_state_dict(state, assign=True)
model.to("cpu")
print(model(torch.randn(4, 8)).shape)

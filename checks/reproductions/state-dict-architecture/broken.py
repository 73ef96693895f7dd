"""The file holds more than the model."""
# run: python broken.py
# needs: torch

import os
import tempfile

import torch
from torch import nn

folder = tempfile.mkdtemp()
path = os.path.join(folder, "model.pt")
model = nn.Linear(2, 2)
torch.save({"model": model.state_dict(), "epoch": 3}, path)
file = torch.load(path, map_location="cpu", weights_only=True)
model.load_state_dict(file)
print("loaded")

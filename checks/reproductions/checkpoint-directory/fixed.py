"""The folder of the checkpoint is not there."""
# run: python fixed.py
# needs: torch

import os
import tempfile

import torch

folder = tempfile.mkdtemp()
path = os.path.join(folder, "model.pt")
path = os.path.join(folder, "run1", "last.pt")
os.makedirs(os.path.dirname(path), exist_ok=True)
torch.save({"w": torch.zeros(2)}, path)
print("saved")

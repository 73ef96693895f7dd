"""The folder of the checkpoint is not there."""
# run: python broken.py
# needs: torch

import os
import tempfile

import torch

folder = tempfile.mkdtemp()
path = os.path.join(folder, "model.pt")
path = os.path.join(folder, "run1", "last.pt")
torch.save({"w": torch.zeros(2)}, path)
print("saved")

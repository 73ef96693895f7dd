"""A pointer of Git LFS in place of the file."""
# run: python fixed.py
# needs: torch

import os
import tempfile

import torch

folder = tempfile.mkdtemp()
path = os.path.join(folder, "model.pt")
torch.save({"w": torch.zeros(10)}, path)
print(torch.load(path, map_location="cpu", weights_only=True))

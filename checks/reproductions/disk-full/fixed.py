"""torch.save onto a full disk (/dev/full)."""
# run: python fixed.py
# needs: torch

import torch

import os
import tempfile

path = os.path.join(tempfile.mkdtemp(), "model.pt")
torch.save({"w": torch.zeros(1000000)}, path + ".tmp")
os.replace(path + ".tmp", path)

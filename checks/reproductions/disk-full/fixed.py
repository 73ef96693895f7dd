"""A checkpoint is written to a disk that has no room."""
# run: python fixed.py
# needs: torch
# needs: Linux

import tempfile

import torch

with tempfile.TemporaryDirectory() as folder:
    print("temporary files lie in", folder)
    path = folder + "/model.pt"
    torch.save({"weight": torch.zeros(100_000)}, path)
print("saved")

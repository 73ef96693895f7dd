"""A checkpoint is written to a disk that has no room."""
# run: python broken.py
# needs: torch
# needs: Linux

import tempfile

import torch

with tempfile.TemporaryDirectory() as folder:
    print("temporary files lie in", folder)
    path = "/dev/full"  # every write to it says that the disk is full
    torch.save({"weight": torch.zeros(100_000)}, path)
print("saved")

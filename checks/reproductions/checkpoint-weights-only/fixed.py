"""args, a Namespace, in the checkpoint."""
# run: python fixed.py
# needs: torch

import argparse
import os
import tempfile

import torch

path = os.path.join(tempfile.mkdtemp(), "model.pt")
args = argparse.Namespace(lr=0.1)
torch.save({"model": {"w": torch.zeros(2)}, "args": vars(args)}, path)
print(torch.load(path, map_location="cpu"))

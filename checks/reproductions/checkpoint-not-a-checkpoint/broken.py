"""A pointer of Git LFS in place of the file."""
# run: python broken.py
# needs: torch

import os
import tempfile

import torch

folder = tempfile.mkdtemp()
path = os.path.join(folder, "model.pt")
with open(path, "w") as file:
    file.write("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")
print(torch.load(path, map_location="cpu", weights_only=True))

"""Tensors that were saved from a device that is not here."""
# run: python broken.py
# needs: torch

import os
import tempfile
import zipfile

import torch

folder = tempfile.mkdtemp()
path = os.path.join(folder, "model.pt")
tensor = torch.zeros(2)
torch.save({"w": tensor}, path)
data = open(path, "rb").read()

with zipfile.ZipFile(path) as old, zipfile.ZipFile(path + "2", "w", zipfile.ZIP_STORED) as new:
    for name in old.namelist():
        content = old.read(name)
        new.writestr(name, content.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:5"))
state = torch.load(path + "2", weights_only=True)
print(state)

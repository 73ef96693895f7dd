"""The path of the data depends on the folder in which the job starts."""
# run: python fixed.py
# needs: torch

import os
import tempfile
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset

os.environ["DATA"] = tempfile.mkdtemp()  # in a training the user sets it
for number in range(4):
    Path(os.environ["DATA"], f"{number}.jpg").write_bytes(b"an image")


class Images(Dataset):
    def __init__(self, root):
        self.root = root

    def __len__(self):
        return 4

    def __getitem__(self, number):
        return torch.tensor(len((self.root / f"{number}.jpg").read_bytes()))


root = Path(os.environ["DATA"]).resolve(strict=True)
print(sum(size.item() for size in DataLoader(Images(root))))

"""A path that depends on where the script is started."""
# run: python fixed.py
# needs: torch

import os
import tempfile
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, root):
        self.root = root

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return torch.tensor(len((self.root / f"{i}.jpg").read_bytes()))


def main():
    os.environ["DATA"] = tempfile.mkdtemp()  # in a training the user sets it
    for i in range(4):
        Path(os.environ["DATA"], f"{i}.jpg").write_bytes(b"...")
    root = Path(os.environ["DATA"]).resolve(strict=True)
    print(sum(x.item() for x in DataLoader(Images(root), num_workers=2)))


if __name__ == "__main__":
    main()

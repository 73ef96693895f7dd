"""A path that depends on where the script is started."""
# run: python broken.py
# needs: torch

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
    root = Path("data/train")
    print(sum(x.item() for x in DataLoader(Images(root), num_workers=2)))


if __name__ == "__main__":
    main()

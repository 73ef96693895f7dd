"""A worker ends itself."""
# run: python fixed.py
# needs: torch

import os

import torch
from torch.utils.data import DataLoader, Dataset


class Broken(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.tensor(i)


def main():
    print(sum(x.item() for x in DataLoader(Broken(), num_workers=2)))


if __name__ == "__main__":
    main()

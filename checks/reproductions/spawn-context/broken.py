"""A library and the script both choose how processes are started."""
# run: python broken.py
# needs: torch

import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, TensorDataset


def prepare():
    mp.set_start_method("fork")  # somewhere in a library


def train(loader):
    print(sum(batch.item() for (batch,) in loader))


if __name__ == "__main__":
    prepare()
    mp.set_start_method("spawn")
    train(DataLoader(TensorDataset(torch.ones(4)), num_workers=2))

"""The data set opens a native library's memory before the workers are forked; it is not the children's."""
# run: python broken.py
# needs: torch
# needs: Linux

import mmap

import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self):
        self.pixels = None
        self.open()

    def open(self):
        """Open it as libraries for RDMA and GPUs do: what they map is left out of a fork."""
        self.pixels = mmap.mmap(-1, 4096)
        self.pixels.madvise(mmap.MADV_DONTFORK)

    def __len__(self):
        return 8

    def __getitem__(self, index):
        if self.pixels is None:
            self.open()  # at the first use, in each worker
        return torch.tensor(self.pixels[index])


print("loaded", sum(int(x) for x in DataLoader(Images(), num_workers=2, timeout=15)))

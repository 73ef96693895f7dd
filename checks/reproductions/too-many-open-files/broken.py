"""The training keeps the workers' tensors, and each is an open file."""
# run: python broken.py
# needs: torch

import resource

import torch
from torch.utils.data import DataLoader, TensorDataset

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))  # as `ulimit -n 128`


def main():
    kept = []
    for (batch,) in DataLoader(TensorDataset(torch.arange(400)), num_workers=2):
        kept.append(batch)
    print(len(kept))


if __name__ == "__main__":
    main()

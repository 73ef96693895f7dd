"""A data set puts its samples on the GPU, in workers that are forked from a process that uses it."""
# run: python fixed.py
# needs: torch
# needs: 1 GPU

import torch
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda", 0)
weight = torch.ones(8).to(device)  # the model: CUDA is in use before the workers are forked


class Samples(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, number):
        return torch.ones(8)


for x in DataLoader(Samples(), batch_size=2, num_workers=2):
    x = x.to(device, non_blocking=True)
    print((x * weight).sum().item())

"""The samples are on the GPU already, and the DataLoader is told to pin them."""
# run: python broken.py
# needs: torch
# needs: 1 GPU

import torch
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda", 0)
images = torch.ones(8, 4)
images = images.to(device)
for (x,) in DataLoader(TensorDataset(images), batch_size=4, pin_memory=True):
    x = x.to(device, non_blocking=True)
    print(x.sum().item(), "on", x.device)

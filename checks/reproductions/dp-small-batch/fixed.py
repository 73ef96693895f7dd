"""Validation ends with a batch of one sample, so the second GPU of nn.DataParallel gets none."""
# run: python fixed.py
# needs: torch
# needs: 2 GPUs or simulated ones

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 2)

    def forward(self, x, scale=1.0):
        return self.linear(x) * scale


model = nn.DataParallel(Net().to("cuda:0")).eval()
for x in torch.randn(9, 8, device="cuda:0").split(4):
    print(model.module(x, scale=0.5).shape)

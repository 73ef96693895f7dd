"""forward asks the replica of nn.DataParallel for its parameters, and it has none."""
# run: python fixed.py
# needs: torch
# needs: 2 GPUs or simulated ones

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 2)

    def forward(self, x):
        weight = self.linear.weight
        return self.linear(x.to(weight.dtype))


model = nn.DataParallel(Net().to("cuda:0"))
print(model(torch.randn(4, 8, device="cuda:0")).shape)

"""A model that DataParallel wraps is wrapped by DataParallel again."""
# run: python broken.py
# needs: torch
# needs: 2 GPUs or simulated ones

import torch
from torch import nn

net = nn.Linear(8, 2).to("cuda:0")
model = nn.DataParallel(nn.DataParallel(net))
print(model(torch.ones(8, 8, device="cuda:0")).shape)

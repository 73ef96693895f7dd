"""A layer that is put into the model after nn.DataParallel wrapped it stays on the CPU."""
# run: python broken.py
# needs: torch
# needs: 1 GPU or simulated ones

import torch
from torch import nn

backbone = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 10))
model = nn.DataParallel(backbone.to("cuda:0"))
model.module[2] = nn.Linear(16, 2)  # a new head, for two classes
print(model(torch.randn(4, 8, device="cuda:0")).shape)

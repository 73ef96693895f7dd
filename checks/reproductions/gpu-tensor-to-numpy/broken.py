"""The model's outputs go to NumPy straight from the GPU."""
# run: python broken.py
# needs: torch
# needs: 1 GPU

import torch
from torch import nn

device = torch.device("cuda", 0)
model = nn.Linear(8, 2).to(device)
outputs = model(torch.ones(4, 8).to(device))
print("mean:", outputs.detach().numpy().mean())

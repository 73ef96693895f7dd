"""A tensor kept as a plain attribute stays behind on the CPU when the model moves."""
# run: python broken.py
# needs: torch

import torch
from torch import nn

# "meta" stands in where there is no GPU: every machine has this device, and it, too, is not the CPU.
device = torch.device("cuda" if torch.cuda.is_available() else "meta")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 2)
        self.mean = torch.zeros(8)

    def forward(self, x):
        return self.linear(x - self.mean)


model = Net().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    x = torch.randn(4, 8, device=device)
    target = torch.zeros(4, dtype=torch.long, device=device)
    loss = nn.functional.cross_entropy(model(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained on", next(model.parameters()).device)

"""The wrapper is asked for an attribute of the model inside."""
# run: python broken.py
# needs: torch

from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.classes = 10
        self.linear = nn.Linear(8, self.classes)

    def forward(self, x):
        return self.linear(x)


model = nn.DataParallel(Net())
print(model.classes)

"""Another number of classes."""
# run: python fixed.py
# needs: torch

import os
import tempfile

from torch import nn

folder = tempfile.mkdtemp()
path = os.path.join(folder, "model.pt")


class Net(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.fc = nn.Linear(8, num_classes)


state = Net(1000).state_dict()
model = Net(num_classes=1000)
model.load_state_dict(state)
model.fc = nn.Linear(model.fc.in_features, 10)
print(model)

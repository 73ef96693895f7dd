"""Another number of classes."""
# run: python broken.py
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
model = Net(num_classes=10)
model.load_state_dict(state)
print(model)

"""dp-parameter-list-empty: seen in logs."""

MESSAGE = "a list of parameters is empty in DataParallel's replicas, seen in replica 1: what it holds is not used there"
EXAMPLES = {
    (
        "/opt/conda/lib/python3.8/site-packages/torch/nn/modules/container.py:490: UserWarning: nn.ParameterList is being used "
        "with DataParallel but this is not supported. This list will appear empty for the models replicated on each GPU except "
        "the original one."
    ): (
        "a list of parameters, ParameterList, is empty in DataParallel's replicas: what it holds is not used "
        "there"
    ),
    (
        "UserWarning: nn.ParameterDict is being used with DataParallel but this is not supported. This dict will appear empty "
        "for the models replicated on each GPU except the original one."
    ): (
        "a list of parameters, ParameterDict, is empty in DataParallel's replicas: what it holds is not used "
        "there"
    ),
    """AttributeError: Caught AttributeError in replica 0 on device 0.
Original Traceback (most recent call last):
  File "/home/me/model.py", line 12, in forward
    return x * self.weights[0]
AttributeError: 'ParameterList' object has no attribute '0'""": (
        "a list of parameters, ParameterList, is empty in DataParallel's replicas, seen in replica 0: what it "
        "holds is not used there"
    ),
    """IndexError: Caught IndexError in replica 1 on device 1.
Original Traceback (most recent call last):
  File "/home/me/model.py", line 12, in forward
    return x * self.weights[0]
  File "/opt/conda/lib/python3.8/site-packages/torch/nn/modules/container.py", line 438, in __getitem__
    idx = self._get_abs_string_index(idx)
IndexError: index 0 is out of range""": MESSAGE,
    """RuntimeError: Caught RuntimeError in replica 1 on device 1.
Original Traceback (most recent call last):
  File "/home/me/model.py", line 12, in forward
    w = torch.stack(list(self.weights))
RuntimeError: stack expects a non-empty TensorList""": MESSAGE,
    """RuntimeError: Caught RuntimeError in replica 0 on device 0.
Original Traceback (most recent call last):
  File "/home/me/model.py", line 12, in forward
    w = torch.cat(list(self.weights))
RuntimeError: torch.cat(): expected a non-empty list of Tensors""": (
        "a list of parameters is empty in DataParallel's replicas, seen in replica 0: what it holds is not "
        "used there"
    ),
    "# my nn.ParameterDict is empty in every replica of nn.DataParallel": (
        "a list of parameters is empty in DataParallel's replicas: what it holds is not used there"
    ),
    "# the length of nn.ParameterList under DataParallel is 0": (
        "a list of parameters is empty in DataParallel's replicas: what it holds is not used there"
    ),
}
NOT_THIS = [
    "UserWarning: Setting attributes on ParameterList is not supported.",
    "AttributeError: 'ParameterList' object has no attribute 'shape'",
    "IndexError: index 0 is out of range",
    "RuntimeError: torch.cat(): expected a non-empty list of Tensors",
]

FLAGGED = [
    """
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.zeros(2)) for _ in range(3)])  # <-

    def forward(self, x):
        for weight in self.weights:
            x = x + weight
        return x

model = nn.DataParallel(Net().cuda())
""",
    """
import torch
from torch.nn import DataParallel, Module, Parameter, ParameterDict

class Scales(Module):
    def __init__(self):
        super().__init__()
        self.scales = ParameterDict({"a": Parameter(torch.ones(1))})  # <-

    def forward(self, x):
        return self.scaled(x)

    def scaled(self, x):
        return x * self.scales["a"]

class Trainer:
    def __init__(self):
        self.model = DataParallel(Scales()).cuda()

Trainer()
""",
    """
import torch

class Mix(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.shares = torch.nn.ParameterList()  # <-
        for _ in range(n):
            self.shares.append(torch.nn.Parameter(torch.zeros(1)))

    def forward(self, x):
        return sum(x * share for share in self.shares)

def main(args):
    return torch.nn.DataParallel(Mix(args.n).cuda())
""",
]
FINE = [
    """
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.zeros(2))])

    def forward(self, x):
        return x + self.weights[0]

model = Net().cuda()
""",
    """
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))
        self.layers = nn.ModuleList([nn.Linear(2, 2)])

    def forward(self, x):
        return self.layers[0](x + self.weight)

model = nn.DataParallel(Net().cuda())
""",
    """
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.spare = nn.ParameterList()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)

model = nn.DataParallel(Net().cuda())
""",
]

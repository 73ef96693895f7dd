"""dp-stop-iteration: seen in logs."""

EXAMPLES = {
    "StopIteration: Caught StopIteration in replica 0 on device 0.": (
        "replica 0 on device 0 ran through an empty list: since torch 1.5 the replicas of DataParallel have no "
        "registered parameters"
    ),
    """RuntimeError: Caught RuntimeError in replica 1 on device 1.
Original Traceback (most recent call last):
  File "/opt/conda/lib/python3.9/site-packages/torch/nn/parallel/parallel_apply.py", line 61, in _worker
    output = module(*input, **kwargs)
  File "/home/me/model.py", line 44, in forward
    for block in self.walk():
RuntimeError: generator raised StopIteration""": (
        "replica 1 on device 1 ran through an empty list: since torch 1.5 the replicas of DataParallel have no "
        "registered parameters"
    ),
}
NOT_THIS = [
    "StopIteration",
    "StopIteration: Caught StopIteration in DataLoader worker process 0.",
    "RuntimeError: generator raised StopIteration",
]

FLAGGED = [
    """
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        x = x.to(next(self.parameters()).device)  # <-
        return self.fc(x)

model = nn.DataParallel(Net().cuda())
""",
    """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    @property
    def dtype(self):
        return next(self.fc.parameters()).dtype  # <-

    def forward(self, x):
        return self.fc(x.to(self.dtype))

class Trainer:
    def __init__(self):
        self.model = torch.nn.DataParallel(Net()).cuda()

Trainer()
""",
    """
import torch.nn as nn

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        weight = next(iter(self.parameters()))  # <-
        return self.fc(x) + weight.sum()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()

    def forward(self, x):
        return self.encoder(x)

def main(args):
    net = Net().cuda()
    if args.gpus > 1:
        net = nn.DataParallel(net)
    return net
""",
]
FINE = [
    """
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x.to(self.fc.weight.device))

    def where(self):
        return next(self.parameters()).device

model = nn.DataParallel(Net().cuda())
print(model.module.where(), next(model.parameters()).device)
""",
    """
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x.to(next(self.parameters()).device))

model = Net().cuda()
""",
    """
import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x.to(next(self.parameters()).device))

def main():
    torch.distributed.init_process_group("gloo")
    DDP(Net())
""",
]

"""dp-legacy: seen in a script."""

FLAGGED = [
    """
import torch.nn as nn

model = nn.DataParallel(nn.Linear(2, 2)).cuda()  # <-
""",
    """
import torch
from torch.nn.parallel import data_parallel

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)

    def forward(self, x):
        return data_parallel(self.fc, x, device_ids=[0, 1])  # <-
""",
    """
import torch
from torch.nn import DataParallel as DP

def wrap(model, args):
    if args.gpus > 1:
        model = DP(model)  # <-
    return model
""",
    """
import torch.nn as nn

class CustomDataParallel(nn.DataParallel):
    def __getattr__(self, key):
        try:
            return super().__getattr__(key)
        except AttributeError:
            return getattr(self.module, key)

net = CustomDataParallel(nn.Linear(2, 2).cuda())  # <-
print(net.weight)
""",
]
FINE = [
    """
import torch
from torch.nn.parallel import DistributedDataParallel as DP

def main(rank):
    torch.distributed.init_process_group("gloo")
    model = DP(torch.nn.Linear(2, 2))
""",
    """
import torch

model = torch.nn.Linear(2, 2)
if isinstance(model, torch.nn.DataParallel):
    model = model.module
""",
    """
from my_project import DataParallel, Linear

model = DataParallel(Linear(2, 2))
""",
]

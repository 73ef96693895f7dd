"""batchnorm-not-synced: seen in a script, and in logs."""

EXAMPLES = {
    "[rank1]: AssertionError: BatchNorm has other statistics on each rank: [tensor([0.1], device='cuda:1')": (
        "each rank's BatchNorm computed its statistics from its own samples alone"
    ),
}

FLAGGED = [
    """
import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        return self.norm(self.conv(x))

def main():
    torch.distributed.init_process_group("gloo")
    model = DDP(Net())  # <-
""",
    """
import torch
import torchvision

def main(local_rank):
    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(local_rank)
    net = torchvision.models.resnet50(weights=None).cuda()
    net = torch.nn.parallel.DistributedDataParallel(net, device_ids=[local_rank])  # <-
""",
    """
import torch
from torch import nn

class Trainer:
    def __init__(self):
        layers = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        self.model = nn.parallel.DistributedDataParallel(layers)  # <-

def main():
    torch.distributed.init_process_group("gloo")
    Trainer()
""",
]
FINE = [
    """
import torch
import torchvision

def main(local_rank):
    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(local_rank)
    net = torchvision.models.resnet50(weights=None).cuda()
    net = torch.nn.SyncBatchNorm.convert_sync_batchnorm(net)
    net = torch.nn.parallel.DistributedDataParallel(net, device_ids=[local_rank])
""",
    """
import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        return self.norm(self.fc(x))

def main():
    torch.distributed.init_process_group("gloo")
    model = DDP(Net())
""",
    """
import torchvision

model = torchvision.models.resnet18(weights=None)
""",
]

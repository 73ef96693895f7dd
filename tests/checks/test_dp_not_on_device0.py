"""dp-not-on-device0: seen in logs; no fact of the environment shows it."""

import re

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Source
from gpudoctor.registry import Registry

CHECK = Registry().check("dp-not-on-device0")
MESSAGE = "part of the module is not on the first GPU of DataParallel"
ON_CPU = (
    "RuntimeError: module must have its parameters and buffers on device cuda:0 "
    "(device_ids[0]) but found one of them on device: cpu"
)
EXAMPLES = {
    ON_CPU: MESSAGE + ": it is on cpu instead of cuda:0",
    (
        "RuntimeError: module must have its parameters and buffers on device cuda:1 "
        "(device_ids[0]) but found one of them on device: cuda:0"
    ): MESSAGE + ": it is on cuda:0 instead of cuda:1",
    "RuntimeError: all tensors must be on devices[0]": MESSAGE,
    "RuntimeError: All tensors must be on devices[0]: 0": MESSAGE,
    "AssertionError: Broadcast function not implemented for CPU tensors": MESSAGE,
}
NOT_THIS = [
    (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two "
        "devices, cuda:0 and cpu!"
    ),
    "AssertionError: Gather function not implemented for CPU tensors",
    '    "module must have its parameters and buffers "',
]


def test_the_devices_are_quoted():
    [match] = matches(ON_CPU, [CHECK])
    assert match.sighting.groups == {"expected": "cuda:0", "found": "cpu"}


def test_no_fact_of_the_environment_shows_it():
    assert Source.ENVIRONMENT not in CHECK.functions
    assert all(fix.command for fix in CHECK.fixes)
    assert re.search(r"\.to\(.cuda:0.\)", CHECK.fixes[0].command)


FLAGGED = [
    """
import torch

model = torch.nn.DataParallel(torch.nn.Linear(2, 2), device_ids=[1, 2])
model.cuda()  # <-
model(torch.ones(4, 2))
""",
    """
import torch.nn as nn

model = nn.Linear(2, 2).to("cuda:0")  # <-
model = nn.DataParallel(model, device_ids=[1, 0])
""",
    """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)

class Trainer:
    def __init__(self):
        self.model = nn.DataParallel(Net())  # <-

    def step(self, x):
        return self.model(x.cuda())

Trainer().step(torch.zeros(4, 2))
""",
    """
import torch
import torchvision
from torch.nn import DataParallel

device = torch.device("cuda:0")
net = torchvision.models.resnet18(weights=None).to(device)
net = DataParallel(net)
net.module.fc = torch.nn.Linear(512, 10)  # <-
""",
]
FLAGGED += [
    """
import torch
from parts import Net, batches

device = torch.device("cuda:1" if torch.cuda.is_available() else "cpu")
net = Net()
if torch.cuda.device_count() > 1:
    net = torch.nn.DataParallel(net, device_ids=[0, 1])
net.to(device)  # <-
for x in batches():
    net(x.to(device)).sum().backward()
""",
]
FINE = [
    """
import torch
from torch import nn


class Expert(nn.Module):
    def __init__(self, multi_gpu):
        super().__init__()
        self.model = nn.Linear(2, 2)
        if multi_gpu:
            self.model = nn.DataParallel(self.model)

    def forward(self, x):
        return self.model(x.to("cuda"))
""",
    """
import torch

torch.cuda.set_device(1)
model = torch.nn.DataParallel(torch.nn.Linear(2, 2), device_ids=[1, 2])
model.cuda()
model(torch.ones(4, 2))
""",
    """
import torch

def made(model):
    return torch.compile(model).cuda()

model = torch.nn.DataParallel(made(torch.nn.Linear(2, 2)))
model(torch.ones(4, 2).cuda())
""",
    """
import torch.nn as nn

model = nn.DataParallel(nn.Linear(2, 2), device_ids=[1, 0]).to("cuda:1")
other = nn.DataParallel(nn.Linear(2, 2).cuda(0))
last = nn.DataParallel(nn.Linear(2, 2)).cuda()
print(model, other, last)
""",
    """
import torch
import torchvision

net = torch.nn.DataParallel(torchvision.models.resnet18(weights=None).cuda())
net.module.fc = torch.nn.Linear(512, 10).cuda()
net.module.head = torch.nn.Linear(512, 10)
net.cuda()
""",
    """
import torch

def main(args):
    model = torch.nn.DataParallel(torch.nn.Linear(2, 2))
    model.to(args.device)
    print(model(torch.zeros(2, 2).cuda()))
""",
    """
import torch

torch.set_default_device("cuda")
model = torch.nn.DataParallel(torch.nn.Linear(2, 2))
print(model(torch.zeros(2, 2).cuda()))
""",
]

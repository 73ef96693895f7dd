"""ddp-ready-twice: seen in logs."""

MESSAGE = "the gradient of a parameter came twice in one backward pass, and DDP had summed it already"
EXAMPLES = {
    (
        "[rank0]: RuntimeError: Expected to mark a variable ready only once. This error is caused by one of the following "
        "reasons: 1) Use of a module parameter outside the `forward` function. Please make sure model parameters are not "
        "shared across multiple concurrent forward-backward passes. or try to use _set_static_graph() as a workaround"
    ): MESSAGE,
    (
        "RuntimeError: Expected to mark a variable ready only once. This error is caused by use of a module parameter outside "
        "the `forward` function."
    ): MESSAGE,
    (
        "[rank1]: Parameter at index 1 with name l.bias has been marked as ready twice. This means that multiple autograd "
        "engine  hooks have fired for this particular parameter during this iteration."
    ): (
        "the gradient of a parameter (index 1), l.bias, came twice in one backward pass, and DDP had summed it "
        "already"
    ),
    (
        "Parameter at index 55 has been marked as ready twice. This means that multiple autograd engine  hooks have fired for "
        "this particular parameter during this iteration. You can set the environment variable TORCH_DISTRIBUTED_DEBUG"
    ): (
        "the gradient of a parameter (index 55) came twice in one backward pass, and DDP had summed it already"
    ),
    (
        "RuntimeError: Expected to mark a variable ready only once. This error is caused by one of the following reasons:\n"
        "Parameter at index 1 with name l.bias has been marked as ready twice. This means that multiple autograd engine"
    ): (
        "the gradient of a parameter (index 1), l.bias, came twice in one backward pass, and DDP had summed it "
        "already"
    ),
    "AssertionError: The parameter 31 has already been reduced. Gradient computed twice for this partition.": "the gradient of a parameter (index 31) came twice in one backward pass, and DDP had summed it already",
}
NOT_THIS = [
    (
        "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have "
        "already been freed)."
    ),
    "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one.",
    "UserWarning: torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly.",
]

FLAGGED = [
    """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

class Refiner(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(8, 8)

    def forward(self, x):
        for turn in range(4):
            x = checkpoint(self.cell, x, use_reentrant=True)  # <-
        return x

dist.init_process_group("gloo")
net = DistributedDataParallel(Refiner())
net(torch.ones(2, 8, requires_grad=True)).sum().backward()
dist.destroy_process_group()
""",
    """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Linear(8, 8)

    def forward(self, x):
        x = checkpoint(self.block, x, use_reentrant=True)  # <-
        return checkpoint(self.block, x, use_reentrant=True)  # <-

def main():
    torch.distributed.init_process_group("gloo")
    model = DDP(Net())
""",
    """
import torch
import torch.utils.checkpoint as cp
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(8, 8)
        self.block = nn.Linear(8, 8)

    def forward(self, x):
        return cp.checkpoint(self.block, self.stem(x), use_reentrant=True)  # <-

class Trainer:
    def __init__(self):
        self.model = nn.parallel.DistributedDataParallel(Net(), find_unused_parameters=True)

def main():
    torch.distributed.init_process_group("gloo")
    Trainer()
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel

REENTRANT = True

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Linear(8, 8)
        self.tail = torch.nn.Linear(8, 8)

    def inner(self, x):
        return self.tail(x)

    def forward(self, x):
        x = self.stem(x)
        return torch.utils.checkpoint.checkpoint(self.inner, x, use_reentrant=REENTRANT)  # <-

def main(args):
    torch.distributed.init_process_group("gloo")
    return DistributedDataParallel(Net(), find_unused_parameters=True)
""",
]
FINE = [
    """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

class Refiner(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def forward(self, x):
        for turn in range(4):
            x = checkpoint(self.cells[turn], x, use_reentrant=True)
        return x

dist.init_process_group("gloo")
net = DistributedDataParallel(Refiner())
net(torch.ones(2, 8, requires_grad=True)).sum().backward()
dist.destroy_process_group()
""",
    """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Linear(8, 8)

    def forward(self, x):
        x = checkpoint(self.block, x, use_reentrant=False)
        return checkpoint(self.block, x, use_reentrant=False)

def main():
    torch.distributed.init_process_group("gloo")
    model = DDP(Net(), find_unused_parameters=True)
""",
    """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(8, 8)
        self.two = nn.Linear(8, 8)

    def forward(self, x):
        x = checkpoint(self.one, x, use_reentrant=True)
        return checkpoint(self.two, x, use_reentrant=True)

def main():
    torch.distributed.init_process_group("gloo")
    model = DDP(Net())
""",
    """
from torch import nn
from torch.utils.checkpoint import checkpoint

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Linear(8, 8)

    def forward(self, x):
        return checkpoint(self.block, checkpoint(self.block, x, use_reentrant=True), use_reentrant=True)
""",
]

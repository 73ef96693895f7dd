"""ddp-unused-parameters: seen in logs."""

HEADLINE = "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. This error"
MESSAGE = "DDP waited for gradients that never came"
CHANGED = "static_graph=True promises DDP the same parameters and the same graph in every iteration, and a later one used others"
EXAMPLES = {
    "You can enable unused parameter detection by passing find_unused_parameters: where?": MESSAGE,
    "did not receive grad for rank 2, base_model.v_proj.lora_B.default.weight": "DDP waited on rank 2 for gradients that never came, such as those of base_model.v_proj.lora_B.default.weight",
    HEADLINE: MESSAGE,
    "Parameter indices which did not receive grad for rank 2: 362 363 364": (
        "DDP waited on rank 2 for gradients that never came, such as those of parameters 362 363 364"
    ),
    "Parameters which did not receive grad for rank 0: head.weight, head.bias": (
        "DDP waited on rank 0 for gradients that never came, such as those of head.weight, head.bias"
    ),
    (
        "[rank1]: RuntimeError: Your training graph has changed in this iteration, e.g., one parameter is unused in first "
        "iteration, but then got used in the second iteration. this is not compatible with static_graph set to True."
    ): CHANGED,
    f"[rank1]: {HEADLINE}\n[rank1]: Parameter indices which did not receive grad for rank 1: 2 3": (
        MESSAGE + ", such as those of parameters 2 3"
    ),
    (
        f"{HEADLINE}\nParameters which did not receive grad for rank 0: b.bias, b.weight\n"
        "Parameter indices which did not receive grad for rank 0: 2 3"
    ): MESSAGE + ", such as those of b.bias, b.weight",
    "static_graph=True is enabled for DDP, we expect this set of unused parameters to remain consistent": CHANGED,
    (
        "RuntimeError: It looks like your LightningModule has parameters that were not used in producing the loss returned "
        "by training_step. If this is intentional, you must enable the detection of unused parameters in DDP"
    ): MESSAGE,
    (
        "11/20 12:00:01 - mmengine - ERROR - mmengine/logging/logger.py - print_log - 323 - neck.conv.weight with shape "
        "torch.Size([256, 64, 1, 1]) is not in the computational graph"
    ): MESSAGE + ", such as those of neck.conv.weight",
    "Since `find_unused_parameters=True` is enabled, this likely  means that not all `forward` outputs participate in computing loss.": "DDP waited for gradients that never came",
}
NOT_THIS = [
    "RuntimeError: Expected to mark a variable ready only once. This error is caused by one of the following reasons",
    "find_unused_parameters=True was specified in DDP constructor, but did not find any unused parameters",
    "[Rank 0]: Parameter: lin2.weight did not get gradient in backwards pass.",
    (
        "You passed find_unused_parameters=true to DistributedDataParallel, `_set_static_graph` will detect unused parameters "
        "automatically, so you do not need to set find_unused_parameters=true"
    ),
]

FLAGGED = [
    """
import torch
import torch.nn as nn
import torch.distributed as dist

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)  # <-

    def forward(self, x):
        return self.first(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
        self.head = Head()

    def forward(self, x):
        return self.head(self.body(x))

dist.init_process_group("gloo")
model = nn.parallel.DistributedDataParallel(Net())
dist.destroy_process_group()
""",
    """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
        self.extra = nn.Linear(2, 2)  # <-

    def forward(self, x):
        return self.body(x)

    def auxiliary(self, x):
        return self.extra(x)

torch.distributed.init_process_group("gloo")
model = DistributedDataParallel(Net())
model(torch.randn(1, 2)).sum().backward()
""",
    """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)  # <-

    def forward(self, x):
        return self.body(x)

def main():
    torch.distributed.init_process_group("gloo")
    model = DDP(Net())
""",
    """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, width):
        super(Model, self).__init__()
        self.embed = nn.Embedding(100, width)
        self.encoder = nn.LSTM(width, width)
        self.decoder = nn.GRU(width, width)  # <-
        self.drop = nn.Dropout(0.1)

    def encode(self, x):
        return self.encoder(self.embed(x))

    def forward(self, x):
        return self.encode(x)

class Trainer:
    def __init__(self, args):
        self.model = nn.parallel.DistributedDataParallel(Model(args.width), find_unused_parameters=False)

def main(args):
    torch.distributed.init_process_group("gloo")
    Trainer(args)
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = torch.nn.Conv2d(3, 8, 3)
        self.two = torch.nn.Conv2d(3, 8, 3)  # <-

    def forward(self, x):
        return self.one(x)

def build(args):
    net = Net()
    if args.distributed:
        dist.init_process_group("gloo")
        net = DistributedDataParallel(net)
    return net
""",
]
FINE = [
    """
import torch
import torch.nn as nn
import torch.distributed as dist

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)

    def forward(self, x):
        return self.first(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
        self.head = Head()

    def forward(self, x):
        return self.head(self.body(x))

dist.init_process_group("gloo")
net = Net()
for parameter in net.head.parameters():
    parameter.requires_grad = False
model = nn.parallel.DistributedDataParallel(net)
dist.destroy_process_group()
""",
    """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
        self.extra = nn.Linear(2, 2)

    def forward(self, x):
        return self.body(x) + self.auxiliary(x)

    def auxiliary(self, x):
        return self.extra(x)

torch.distributed.init_process_group("gloo")
model = DistributedDataParallel(Net())
model(torch.randn(1, 2)).sum().backward()
""",
    """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.body(x)

def main():
    torch.distributed.init_process_group("gloo")
    model = Net()
    model.head.requires_grad_(False)
    model = DDP(model)
""",
    """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.body(x)

def main(kwargs):
    torch.distributed.init_process_group("gloo")
    model = DDP(Net(), find_unused_parameters=True)
    other = DDP(Net(), **kwargs)
""",
    """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

class Base(nn.Module):
    def forward(self, x):
        return self.head(self.body(x))

class Net(Base):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)

class Loop(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(8, 8)
        self.two = nn.Linear(8, 8)

    def forward(self, x):
        for layer in self.children():
            x = layer(x)
        return x

def main():
    torch.distributed.init_process_group("gloo")
    return DDP(Net()), DDP(Loop())
""",
    """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.body(x)

model = Net()
""",
]

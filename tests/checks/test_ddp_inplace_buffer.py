"""ddp-inplace-buffer: seen in logs."""

LINE = (
    "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.cuda.FloatTensor [64]] is at version 3; expected version 2 instead. Hint: enable anomaly detection to find "
    "the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True)."
)
MESSAGE = (
    "between forward and backward DDP copied rank 0's buffers over a torch.cuda.FloatTensor of size [64]: version "
    "3, where backward expects 2"
)
EXAMPLES = {
    f"[rank1]: {LINE}": MESSAGE,
    f"""netD = DistributedDataParallel(netD, device_ids=[0])
Traceback (most recent call last):
  File "/home/me/train.py", line 80, in <module>
    loss.backward()
{LINE}""": MESSAGE,
    (
        """-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "/home/me/train.py", line 80, in main
    loss.backward()
RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: """
        "[torch.cuda.LongTensor [1, 512]] is at version 2; expected version 1 instead."
    ): (
        "between forward and backward DDP copied rank 0's buffers over a torch.cuda.LongTensor of size [1, "
        "512]: version 2, where backward expects 1"
    ),
}
NOT_THIS = [
    LINE,
    (
        "[rank0]: RuntimeError: one of the variables needed for gradient computation has been modified by an inplace "
        "operation: [torch.cuda.FloatTensor [8, 64]], which is output 0 of ReluBackward0, is at version 1; expected version 0 "
        "instead."
    ),
    (
        "[rank0]: RuntimeError: one of the variables needed for gradient computation has been modified by an inplace "
        "operation: [torch.cuda.FloatTensor [64, 3, 3, 3]] is at version 2; expected version 1 instead."
    ),
]

FLAGGED = [
    """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        return self.norm(self.conv(x)).mean()

def main(loader):
    torch.distributed.init_process_group("gloo")
    critic = DDP(Critic())
    for real, fake in loader:
        loss = critic(real)
        loss = loss - critic(fake)  # <-
        loss.backward()
""",
    """
import torch
import torchvision

class Trainer:
    def __init__(self):
        net = torchvision.models.resnet18(weights=None)
        self.net = torch.nn.parallel.DistributedDataParallel(net)

    def step(self, one, two):
        a, b = self.net(one), self.net(two)  # <-
        loss = (a - b).square().mean()
        loss.backward()

def main(one, two):
    torch.distributed.init_process_group("gloo")
    trainer = Trainer()
    trainer.step(one, two)
""",
    """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

def train(batches):
    torch.distributed.init_process_group("gloo")
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    model = DistributedDataParallel(model)
    for weak, strong in batches:
        target = model(weak).detach()
        loss = (model(strong) - target).square().mean()  # <-
        loss.backward()
""",
]
FINE = [
    """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        return self.norm(x).mean()

def main(loader):
    torch.distributed.init_process_group("gloo")
    critic = DDP(Critic())
    for real, fake in loader:
        critic(real).backward()
        critic(fake).backward()
        with torch.no_grad():
            critic(real)
        loss = critic(torch.cat([real, fake]))
        loss.backward()
""",
    """
import torch
import torchvision
from torch.nn.parallel import DistributedDataParallel as DDP

def main(one, two):
    torch.distributed.init_process_group("gloo")
    net = DDP(torchvision.models.resnet18(weights=None), broadcast_buffers=False)
    loss = (net(one) - net(two)).square().mean()
    loss.backward()
""",
    """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

def main(one, two):
    torch.distributed.init_process_group("gloo")
    net = DDP(nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2)))
    loss = (net(one) - net(two)).square().mean()
    loss.backward()
""",
]

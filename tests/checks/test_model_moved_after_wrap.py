"""model-moved-after-wrap: seen in a script, and in logs."""

FLAGGED = [
    """
import torch
import torch.distributed as dist
from nets import Net

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_node_local_rank())
model = torch.nn.parallel.DistributedDataParallel(Net(10)).cuda()  # <-
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = DDP(torch.nn.Linear(2, 2))
    model = model.cuda()  # <-
""",
    """
import os
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)

class Trainer:
    def __init__(self):
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(self.device)
        self.model = nn.parallel.DistributedDataParallel(Net())
        self.model.to(self.device)  # <-

torch.distributed.init_process_group("nccl")
Trainer()
torch.distributed.destroy_process_group()
""",
    """
import torch
import torchvision
from torch.nn.parallel import DistributedDataParallel

def main(args):
    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(args.local_rank)
    net = torchvision.models.vgg11(weights=None)
    net = DistributedDataParallel(net).to(args.local_rank)  # <-
""",
]
FLAGGED += [
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from parts import Decoder, batches

dist.init_process_group("nccl")
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
decoder = Decoder(width=64)
decoder = DDP(decoder)
decoder = decoder.to(local_rank)  # <-
for x in batches():
    decoder(x.to(local_rank)).mean().backward()
dist.destroy_process_group()
""",
]
FINE = [
    """
from torch.nn.parallel import DistributedDataParallel as DDP

def place(self, rank):
    self.average.net = DDP(self.average.net.to(rank))

def twice(self, rank):
    place(self, rank)
    place(self, rank)
""",
    """
import torch
import torch.distributed as dist
from nets import Net

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_node_local_rank())
net = Net(10)
net.cuda()
model = torch.nn.parallel.DistributedDataParallel(net).cuda()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = torch.nn.Linear(2, 2).to(rank)
    model = DDP(model, device_ids=[rank])
    model.to(rank)
""",
    """
import torch

model = torch.nn.DataParallel(torch.nn.Linear(2, 2)).cuda()
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from my_project import build_model

def main(rank, device):
    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = DDP(build_model())
    model.cuda()
    half = DDP(torch.nn.Linear(2, 2).cuda()).to(torch.float16)
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank):
    torch.distributed.init_process_group("gloo")
    model = DDP(torch.nn.Linear(2, 2))
    model.to("cpu")
    model.train()
""",
]
EXAMPLES = {
    "[rank0]: AssertionError: DDP no longer sums the gradients of these parameters": (
        "the ranks' weights differ: parameters were moved or converted after DDP had put its hooks on them"
    )
}
NOT_THIS = ["DDP sums the gradients of these parameters"]

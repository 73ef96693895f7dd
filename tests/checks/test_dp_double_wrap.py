"""dp-double-wrap: seen in a script."""

FLAGGED = [
    """
import torch.nn as nn
from torch.nn.parallel import data_parallel

net = nn.DataParallel(nn.Linear(2, 2)).cuda()

def run(x):
    return data_parallel(net, x, [0, 1])  # <-
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

class Trainer:
    def __init__(self, rank):
        torch.cuda.set_device(rank)
        self.model = torch.nn.DataParallel(torch.nn.Linear(2, 2).cuda())
        self.model = DDP(self.model)  # <-

def main(rank):
    torch.distributed.init_process_group("nccl")
    Trainer(rank)
""",
    """
import torch.nn as nn

def parallel(model):
    return nn.DataParallel(model)

model = parallel(nn.Linear(2, 2).cuda())
model = nn.DataParallel(model, device_ids=[0, 1])  # <-
""",
]
FINE = [
    """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def main(args):
    model = torch.nn.Linear(2, 2).cuda()
    if args.n_gpu > 1:
        model = torch.nn.DataParallel(model)
    if args.local_rank != -1:
        torch.distributed.init_process_group("nccl")
        torch.cuda.set_device(args.local_rank)
        model = DDP(model, device_ids=[args.local_rank])
""",
    """
import torch.nn as nn

model = nn.DataParallel(nn.Linear(2, 2).cuda())
again = nn.DataParallel(model.module)
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank):
    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = DDP(torch.compile(torch.nn.Linear(2, 2).cuda()))
""",
]

"""dp-double-wrap: seen in logs and in scripts."""

NESTED = (
    "RuntimeError: Caught RuntimeError in replica 1 on device 1.\n"
    "Original Traceback (most recent call last):\n"
    '  File "/venv/torch/nn/parallel/parallel_apply.py", line 114, in _worker\n'
    "    output = module(*input, **kwargs)\n"
    '  File "/venv/torch/nn/parallel/data_parallel.py", line 213, in parallel_apply\n'
    "    return parallel_apply(\n"
    "RuntimeError: Caught RuntimeError in replica 0 on device 0.\n"
    "Original Traceback (most recent call last):\n"
    '  File "/venv/torch/nn/modules/linear.py", line 130, in forward\n'
)
EXAMPLES = {
    f"Traceback (most recent call last):\n{NESTED}": (
        "replica 1 on device 1 was split into replicas again: DataParallel wraps a model that is wrapped already"
    ),
}
ONCE = NESTED[: NESTED.index("RuntimeError: Caught RuntimeError in replica 0")]
NOT_THIS = [
    f"{ONCE}RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x8 and 9x2)",
    # two runs in one log, each with a failure of its own
    f"{ONCE}ValueError: no\nTraceback (most recent call last):\n{ONCE}ValueError: no",
]

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

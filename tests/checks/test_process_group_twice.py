"""process-group-twice: seen in logs."""

MESSAGE = "the process group was there already when this process asked for it again: two places of the program make it"
EXAMPLES = {
    "[rank1]: ValueError: trying to initialize the default process group twice!": MESSAGE,
    "RuntimeError: trying to initialize the default process group twice!": MESSAGE,
    "AssertionError: tensor model parallel group is already initialized": MESSAGE,
    "ValueError: AcceleratorState has already been initialized and cannot be changed, restart your runtime completely": MESSAGE,
}
NOT_THIS = [
    "AssertionError: ZeRO parameter intra parallel group is already initialized",
    "ValueError: Default process group has not been initialized, please make sure to call init_process_group.",
    "[comm.py:677:init_distributed] Distributed backend already initialized",
    "torch distributed is already initialized, skipping initialization ...",
]

FLAGGED = [
    """
import torch.distributed as dist

for fold in range(5):
    dist.init_process_group("gloo")  # <-
    for epoch in range(3):
        if epoch > 1:
            break
""",
    (
        "torchrun.py",
        {
            "    rank = dist.get_rank()\n": '    rank = dist.get_rank()\n    dist.init_process_group("gloo")  # <-\n'
        },
    ),
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

def train():
    for epoch in range(3):
        dist.init_process_group("gloo")  # <-
        print(epoch)

train()
""",
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

class Job:
    def __init__(self):
        dist.init_process_group(backend="gloo")

    def run(self):
        setup()

def setup():
    torch.distributed.init_process_group("gloo")  # <-

Job().run()
dist.destroy_process_group()
""",
]
FINE = [
    """
import torch.distributed as dist


class Interface:
    initialized = False

    def __init__(self, config=None):
        if self.initialized:
            return
        dist.init_process_group("gloo")
        Interface.initialized = True


Interface()
Interface()
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def first(rank, size):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29544", rank=rank, world_size=size)
    dist.barrier()

def second(rank, size):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29545", rank=rank, world_size=size)
    dist.barrier()

if __name__ == "__main__":
    mp.spawn(first, args=(2,), nprocs=2)
    mp.spawn(second, args=(2,), nprocs=2)
""",
    """
import os
import torch.distributed as dist

match os.environ.get("BACKEND"):
    case "nccl":
        dist.init_process_group("nccl")
    case _:
        dist.init_process_group("gloo")
dist.destroy_process_group()
""",
    """
import torch.distributed as dist

for port in range(29500, 29510):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}")
    if dist.is_initialized():
        break
dist.destroy_process_group()
""",
    (
        "torchrun.py",
        {
            "    rank = dist.get_rank()\n": '    rank = dist.get_rank()\n    if not dist.is_initialized():\n        dist.init_process_group("gloo")\n'
        },
    ),
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

for backend in ("gloo", "nccl"):
    dist.init_process_group(backend)
    dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

import sys

if sys.argv[1] == "cpu":
    dist.init_process_group("gloo")
else:
    dist.init_process_group("nccl")
dist.destroy_process_group()
""",
]

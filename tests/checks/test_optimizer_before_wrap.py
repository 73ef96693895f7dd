"""optimizer-before-wrap: seen in a script, and in logs."""

EXAMPLES = {
    "[rank1]: AssertionError: the optimizer has none of the model's parameters": (
        "the optimizer steps parameters that the model does not use: it was built before FSDP replaced them"
    ),
}
NOT_THIS = ["ValueError: optimizer got an empty parameter list"]

FLAGGED = [
    """
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def main(rank):
    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = torch.nn.Linear(8, 8).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)  # <-
    model = FSDP(model)
""",
    """
import torch
from torch.distributed.fsdp import fully_shard

class Trainer:
    def __init__(self, rank):
        torch.cuda.set_device(rank)
        self.model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)  # <-
        fully_shard(self.model)

def main(rank):
    torch.distributed.init_process_group("nccl")
    Trainer(rank)
""",
    """
import torch
import torch.distributed.fsdp as fsdp

def optimizer_of(model):
    return torch.optim.Adam([{"params": model.parameters(), "lr": 0.1}])  # <-

def main(rank):
    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(rank)
    net = torch.nn.Linear(8, 8)
    adam = optimizer_of(net)
    sharded = fsdp.FullyShardedDataParallel(net, device_id=rank)
""",
]
FINE = [
    """
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def main(rank):
    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = FSDP(torch.nn.Linear(8, 8).cuda())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
""",
    """
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def main(rank):
    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = torch.nn.Linear(8, 8).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model = FSDP(model, use_orig_params=True)
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank):
    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = torch.nn.Linear(8, 8).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model = DDP(model)
""",
    """
import torch
from torch.distributed.fsdp import fully_shard

def main(rank):
    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(rank)
    teacher, student = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(teacher.parameters(), lr=0.1)
    fully_shard(student)
""",
]

"""keys-differ-by-rank: seen in logs."""

MESSAGE = "the ranks have different losses to sum up"
EXAMPLES = {
    "AssertionError: loss log variables are different across GPUs!": MESSAGE,
    (
        "[rank0]: AssertionError: loss log variables are different across GPUs!\n"
        "[rank0]: rank 0 len(log_vars): 2 keys: loss_cls,loss_mask"
    ): MESSAGE + ": rank 0 has 2, namely loss_cls,loss_mask",
}
NOT_THIS = [
    "log_vars: loss_cls, loss_mask",
    "DDP expects same model across all ranks, but Rank 1 has 4 params, while rank 0 has inconsistent 2 params.",
]

FLAGGED = [
    """
import torch
import torch.distributed as dist

def averaged(numbers):
    names = sorted(numbers)
    row = torch.stack([numbers[name] for name in names])
    dist.all_reduce(row)
    return dict(zip(names, row / dist.get_world_size()))

dist.init_process_group("gloo")
numbers = {"loss": torch.ones(1)}
if dist.get_rank() == 0:
    numbers["rate"] = torch.ones(1)  # <-
print(averaged(numbers))
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist

def reduced(values):
    return {key: value / dist.get_world_size() for key, value in values.items()}

def summed(values):
    found = {}
    for key, value in sorted(values.items()):
        dist.all_reduce(value)
        found[key] = value
    return found

def measured(model, x, rank):
    log = {"loss": model(x).mean()}
    if rank == 0:
        log["norm"] = torch.ones(1)  # <-
    return log

def main(model, loader):
    dist.init_process_group("gloo")
    for x in loader:
        log = measured(model, x, dist.get_rank())
        print(summed(log))
    dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    metrics = {"loss": torch.zeros(1)}
    if dist.get_rank() == 0:
        metrics["accuracy"] = torch.zeros(1)  # <-
    for name, value in metrics.items():
        dist.all_reduce(value)
""",
    """
import os
import torch
import torch.distributed as dist

class Meter:
    def __init__(self):
        self.rank = int(os.environ["RANK"])

    def reduce(self, losses):
        if self.rank != 0:
            losses["mask"] = torch.zeros(1)  # <-
        for key in sorted(losses):
            dist.all_reduce(losses[key])

dist.init_process_group("gloo")
Meter().reduce({"box": torch.zeros(1)})
dist.destroy_process_group()
""",
    """
import torch.distributed as dist
from torch.utils.data import DataLoader

def train(dataset, model):
    dist.init_process_group("nccl")
    for images, targets in DataLoader(dataset):
        losses = {"box": model(images)}
        if targets.sum() > 0:
            losses["mask"] = model(targets)  # <-
        for value in losses.values():
            dist.all_reduce(value)
""",
    """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.mask = nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, x, masks):
        features = self.body(x)
        losses = {"class": features.square().mean()}
        if masks.numel() > 0:
            losses["mask"] = (self.mask(features) - masks).square().mean()  # <-
        return losses

def main():
    torch.distributed.init_process_group("gloo")
    return DistributedDataParallel(Net())
""",
]
FINE = [
    """
import torch
import torch.distributed as dist

def reduced(values):
    return {key: value / dist.get_world_size() for key, value in values.items()}

def summed(values):
    found = {}
    for key, value in sorted(values.items()):
        dist.all_reduce(value)
        found[key] = value
    return found

def measured(model, x, rank):
    log = {"loss": model(x).mean()}
    if model.measures:
        log["norm"] = torch.ones(1)
    return log

def main(model, loader):
    dist.init_process_group("gloo")
    for x in loader:
        log = measured(model, x, dist.get_rank())
        print(summed(log))
    dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist

def reduced(values):
    return {key: value / dist.get_world_size() for key, value in values.items()}

def summed(values):
    found = {}
    for key, value in sorted(values.items()):
        dist.all_reduce(value)
        found[key] = value
    return found

def measured(model, x, rank):
    log = {"loss": model(x).mean()}
    if rank == 0:
        log["norm"] = torch.ones(1)
    return log

def main(model, loader):
    dist.init_process_group("gloo")
    for x in loader:
        log = measured(model, x, dist.get_rank())
        print(reduced(log))
    dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
losses = {"box": torch.zeros(1)}
empty = [() for _ in losses]
for value in losses.values():
    dist.all_reduce(value)
""",
    """
import torch
import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    metrics = {"loss": torch.zeros(1)}
    metrics["accuracy"] = torch.zeros(1)
    for name, value in metrics.items():
        dist.all_reduce(value)
    if dist.get_rank() == 0:
        metrics["time"] = 3
        print(metrics)
""",
    """
import torch
import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    metrics = {"loss": 1.0}
    if dist.get_rank() == 0:
        metrics["accuracy"] = 0.5
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, metrics)
    for part in parts:
        print(part)
""",
    """
import torch
import torch.distributed as dist

def main(with_masks):
    dist.init_process_group("gloo")
    losses = {"box": torch.zeros(1)}
    if with_masks:
        losses["mask"] = torch.zeros(1)
    for value in losses.values():
        dist.all_reduce(value)
""",
    """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

class Net(nn.Module):
    def __init__(self, with_mask):
        super().__init__()
        self.body, self.with_mask = nn.Linear(8, 8), with_mask

    def forward(self, x, masks=None):
        losses, notes = {"class": self.body(x).square().mean()}, {}
        if self.with_mask and masks is not None:
            losses["mask"] = masks.mean()
        if len(x) > 3:
            notes["long"] = len(x)
        return losses

def main(args):
    torch.distributed.init_process_group("gloo")
    return DistributedDataParallel(Net(args.with_mask))
""",
    """
import torch
import torch.distributed as dist

def train(state, step, validate, epochs):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    stop = torch.zeros(1, device="cuda")
    for epoch in range(state["epoch"], epochs):
        step(state)
        dist.broadcast(stop, src=0)
        if rank == 0:
            state["best"] = min(state["best"], validate(state))
    dist.destroy_process_group()
""",
]

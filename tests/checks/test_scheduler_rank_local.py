"""scheduler-rank-local: seen in a script, and in logs."""

FLAGGED = [
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.nn.parallel import DistributedDataParallel as DDP
from data import Images

dist.init_process_group("gloo")
model = DDP(torch.nn.Linear(2, 2))
schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim.SGD(model.parameters()))
criterion = torch.nn.CrossEntropyLoss()
for epoch in range(3):
    losses = []
    with torch.no_grad():
        for x, y in DataLoader(Images(), sampler=DistributedSampler(Images(), shuffle=False)):
            losses.append(criterion(model(x), y).item())
    schedule.step(sum(losses) / len(losses))  # <-
""",
    """
import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
model = DDP(torch.nn.Linear(2, 2))
schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim.SGD(model.parameters()))
for epoch in range(3):
    losses = []
    for x, y in DataLoader([]):
        losses.append(torch.nn.functional.mse_loss(model(x), y).item())
    schedule.step(np.mean(losses))  # <-
""",
    (
        "torchrun.py",
        {
            "    dataset = load(rank)\n": "    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)\n    dataset = load(rank)\n",
            "        mean = loss.detach().clone()\n": "        schedule.step(loss.item())  # <-\n        mean = loss.detach().clone()\n",
        },
    ),
    (
        "slurm.py",
        {
            "    dist.all_reduce(counts)\n": "    dist.barrier()\n",
            "        scheduler.step(accuracy)\n": "        scheduler.step(loss)  # <-\n",
        },
    ),
]
FINE = [
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.nn.parallel import DistributedDataParallel as DDP
from data import Images

dist.init_process_group("gloo")
model = DDP(torch.nn.Linear(2, 2))
schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim.SGD(model.parameters()))
criterion = torch.nn.CrossEntropyLoss()
for epoch in range(3):
    losses = []
    with torch.no_grad():
        for x, y in DataLoader(Images("all of them, on every rank")):
            losses.append(criterion(model(x), y).item())
    schedule.step(sum(losses) / len(losses))
""",
    """
import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
model = DDP(torch.nn.Linear(2, 2))
schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim.SGD(model.parameters()))
for epoch in range(3):
    losses = []
    for x, y in DataLoader([]):
        losses.append(torch.nn.functional.mse_loss(model(x), y).item())
    mean = torch.tensor(np.mean(losses))
    dist.all_reduce(mean)
    schedule.step(mean.item() / dist.get_world_size())
""",
    (
        "slurm.py",
        {
            'ReduceLROnPlateau(optimizer, mode="max")': "torch.optim.lr_scheduler.StepLR(optimizer, 3)",
            "        scheduler.step(accuracy)\n": "        scheduler.step()\n",
        },
    ),
    (
        "data_parallel.py",
        {
            "    for epoch in range(10):\n": "    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)\n    for epoch in range(10):\n        scheduler.step(torch.rand(1))\n"
        },
    ),
]
EXAMPLES = {
    "[rank0]: AssertionError: the ranks have different learning rates: [0.1, 0.001]": "the ranks have different learning rates: each decided by its own validation loss"
}
NOT_THIS = ["the ranks have one learning rate"]

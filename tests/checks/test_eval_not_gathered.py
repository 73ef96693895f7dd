"""eval-not-gathered: seen in a script, and in logs."""

FLAGGED = [
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
dist.init_process_group("nccl")
loader = DataLoader(data, 8, sampler=DistributedSampler(data, shuffle=False))
model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda(), device_ids=[gpu])


def test():
    model.eval()
    right = 0
    for x, y in loader:
        right += model(x.cuda()).argmax(1).eq(y.cuda()).sum().item()
    print(right / len(data))  # <-

test()
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from parts import Held, Net, loss_of

dist.init_process_group("nccl")
device = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(device)
model = DDP(Net().to(device), device_ids=[device])
held = Held()
loader = DataLoader(held, batch_size=8, sampler=DistributedSampler(held, shuffle=False))
model.eval()
losses = []
for x, y in loader:
    with torch.no_grad():
        out = model(x.to(device))
    losses.append(loss_of(out, y.to(device)).item())
if dist.get_rank() == 0:
    print(sum(losses) / len(losses))  # <-
dist.destroy_process_group()
""",
    (
        "torchrun.py",
        {
            "from torchvision import datasets, transforms\n": "from torchvision import datasets, transforms\nfrom lib.metrics import hits\n",
            "        mean = loss.detach().clone()\n        dist.all_reduce(mean)\n        if rank == 0:\n            print(epoch, mean.item() / dist.get_world_size())\n": "        right = 0\n        with torch.no_grad():\n            for x, target in loader:\n                right += hits(model(x), target)\n        print(epoch, right)  # <-\n",
        },
    ),
    (
        "slurm.py",
        {
            "    dist.all_reduce(counts)\n": "",
            "        for x, y in loader:\n": "        for x, y in loader:  # <-\n",
        },
    ),
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

from torch.utils.data import DataLoader, DistributedSampler

@torch.no_grad()
def unused():
    pass

def test(model, dataset):
    dist.init_process_group("gloo")
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset, shuffle=False))
    right = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
    print(right)  # <-
    dist.destroy_process_group()
""",
]
FINE = [
    """
import os
import torch
import torch.distributed as dist
from parts import Pictures, names
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

rank = int(os.environ["RANK"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")


def build(names, place=-1, shuffle=False):
    pictures = Pictures(names)
    sampler = None if place == -1 else DistributedSampler(pictures, shuffle=shuffle)
    return DataLoader(pictures, batch_size=8, sampler=sampler)


@torch.no_grad()
def score(model, loader=None):
    loader = loader or build(names("held out"))
    right = 0
    for x, y in loader:
        right += model(x.cuda()).argmax(1).eq(y.cuda()).sum().item()
    print(right / 100)


model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in build(names("train"), rank):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
if rank == 0:
    score(model.module)
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
import torchmetrics
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
dist.init_process_group("nccl")
loader = DataLoader(data, 8, sampler=DistributedSampler(data, shuffle=False))
model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda(), device_ids=[gpu])
right = torchmetrics.Accuracy(task="multiclass", num_classes=2).to(gpu)
model.eval()
for x, y in loader:
    right(model(x.cuda()).argmax(1), y.cuda())
print(right.compute().item())
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
dist.init_process_group("nccl")
loader = DataLoader(data, 8, sampler=DistributedSampler(data, shuffle=False))
model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda(), device_ids=[gpu])


def test():
    model.eval()
    right = torch.zeros(1, device="cuda")
    for x, y in loader:
        right += model(x.cuda()).argmax(1).eq(y.cuda()).sum()
    dist.all_reduce(right)
    print(right / len(data))

test()
dist.destroy_process_group()
""",
    ("slurm.py", {"    dist.all_reduce(counts)\n": "    dist.reduce(counts, 0)\n"}),
    (
        "slurm.py",
        {
            "    dist.all_reduce(counts)\n": "",
            "sampler=DistributedSampler(held_out, shuffle=False)": "shuffle=False",
        },
    ),
]
EXAMPLES = {
    "[rank0]: AssertionError: the accuracy 0.5 is that of 2 of 4 samples": (
        "the accuracy is that of 2 of 4 samples: nothing adds up the counts of the ranks"
    ),
}
NOT_THIS = ["the accuracy is 0.5, of 4 samples"]

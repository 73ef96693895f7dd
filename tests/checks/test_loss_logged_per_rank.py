"""loss-logged-per-rank: seen in a script, and in logs."""

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

from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter()
for epoch in range(3):
    running = 0.0
    for x, y in loader:
        out = model(x.cuda()).sum()
        out.backward()
        running += out.item()
    writer.add_scalar("train/loss", running / len(loader), epoch)  # <-
dist.destroy_process_group()
""",
    (
        "torchrun.py",
        {
            "        mean = loss.detach().clone()\n        dist.all_reduce(mean)\n": '        print("[%d, %5d] loss: %.3f" % (rank, epoch, loss.item()))  # <-\n        mean = torch.zeros(1)\n'
        },
    ),
    (
        "torchrun.py",
        {
            "        mean = loss.detach().clone()\n        dist.all_reduce(mean)\n": "",
            "            print(epoch, mean.item() / dist.get_world_size())": "            print(epoch, loss.item())  # <-",
        },
    ),
    (
        "spawn.py",
        {
            "                self.save(epoch)": '                print("loss", loss.item())  # <-\n                self.save(epoch)'
        },
    ),
]
FINE = [
    (
        "torchrun.py",
        {"print(epoch, mean.item() / dist.get_world_size())": 'print(epoch, "loss", mean.item())'},
    ),
    (
        "data_parallel.py",
        {"        optimizer.step()\n": "        optimizer.step()\n        print(loss.item())\n"},
    ),
]
EXAMPLES = {
    "[rank0]: AssertionError: the loss that rank 0 logs is not the mean of the ranks": "rank 0 logs the loss of its own samples, not the mean of all ranks"
}
NOT_THIS = ["the loss that rank 0 logs is the mean of the ranks"]

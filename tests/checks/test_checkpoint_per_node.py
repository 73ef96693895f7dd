"""checkpoint-per-node: seen in a script."""

FLAGGED = [
    """
import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
local_rank = int(os.environ["LOCAL_RANK"])
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).to(local_rank), device_ids=[local_rank])
if local_rank == 0:
    torch.save(model.module.state_dict(), "model.pt")  # <-
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist

class Trainer:
    def __init__(self):
        self.node = int(os.environ["GROUP_RANK"])
        self.local_rank = int(os.environ["LOCAL_RANK"])
        self.model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))

    def is_main(self):
        return self.local_rank == 0

    def save(self, epoch):
        if not self.is_main():
            return
        torch.save(self.model.module.state_dict(), f"epoch{epoch}.pt")  # <-

dist.init_process_group("gloo")
Trainer().save(3)
dist.destroy_process_group()
""",
    """
import argparse
import torch
from torch import distributed

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)  # <- launch-local-rank
parser.add_argument("--out", default="model.bin")
args = parser.parse_args()
if args.local_rank != -1:
    distributed.init_process_group(backend="gloo")
model = torch.nn.Linear(2, 2)
if args.local_rank in [-1, 0]:
    torch.save(model.state_dict(), args.out)  # <-
distributed.destroy_process_group()
""",
]
FINE = [
    """
import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
local_rank, rank = int(os.environ["LOCAL_RANK"]), int(os.environ["RANK"])
model = torch.nn.Linear(2, 2)
if rank == 0:
    torch.save(model.state_dict(), "model.pt")
if local_rank == 0:
    torch.save(model.state_dict(), f"/scratch/model-{rank}.pt")
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def worker(rank, size):
    dist.init_process_group("gloo", init_method="tcp://localhost:29500", rank=rank, world_size=size)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    if rank == 0:
        torch.save(model.module.state_dict(), "model.pt")
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(worker, args=(4,), nprocs=4)
""",
    """
import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if int(os.environ["LOCAL_RANK"]) == 0 and dist.get_rank() == 0:
    torch.save({}, "model.pt")
dist.destroy_process_group()
""",
]

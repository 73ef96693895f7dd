"""checkpoint-per-node: seen in a script, and in logs."""

EXAMPLES = {
    "AssertionError: one rank of each of 4 nodes wrote the same checkpoint": (
        "a rank of each of 4 nodes wrote the same checkpoint: local rank 0 is one process on each node"
    ),
}
NOT_THIS = ["Saved the checkpoint on rank 0 of 4 nodes"]

FLAGGED = [
    """
import argparse
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from networks import build

def work(gpu, args):
    rank = args.nr * args.gpus + gpu
    dist.init_process_group("nccl", init_method=args.url, rank=rank, world_size=args.gpus * args.nodes)
    torch.cuda.set_device(gpu)
    net = torch.nn.parallel.DistributedDataParallel(build().cuda(gpu), device_ids=[gpu])
    if gpu == 0:
        torch.save(net.module.state_dict(), args.out)  # <-
    dist.destroy_process_group()

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--nr", type=int, default=0)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--url", required=True)
    parser.add_argument("--out", default="net.pt")
    args = parser.parse_args()
    mp.spawn(work, nprocs=args.gpus, args=(args,))
""",
    """
import os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModel

local_rank = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
model = DDP(AutoModel.from_pretrained("bert-base-uncased").to(local_rank), device_ids=[local_rank])
if local_rank == 0:
    model.module.save_pretrained("out")  # <-
dist.destroy_process_group()
""",
    """
import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def train(local_rank, args):
    rank = args.nr * args.gpus + local_rank
    dist.init_process_group("nccl", init_method=args.url, rank=rank, world_size=args.world_size)
    torch.cuda.set_device(local_rank)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda(), device_ids=[local_rank])
    if local_rank == 0:
        torch.save(model.module.state_dict(), args.checkpoint)  # <-

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nr", default=0, type=int)
    parser.add_argument("--url", default="env://")
    parser.add_argument("--checkpoint", default="last.pt")
    args = parser.parse_args()
    mp.spawn(train, nprocs=args.gpus, args=(args,))

if __name__ == "__main__":
    main()
""",
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
import argparse
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from networks import build

def work(gpu, args):
    rank = args.nr * args.gpus + gpu
    dist.init_process_group("nccl", init_method=args.url, rank=rank, world_size=args.gpus * args.nodes)
    torch.cuda.set_device(gpu)
    net = torch.nn.parallel.DistributedDataParallel(build().cuda(gpu), device_ids=[gpu])
    if rank == 0:
        torch.save(net.module.state_dict(), args.out)
    dist.destroy_process_group()

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--nr", type=int, default=0)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--url", required=True)
    parser.add_argument("--out", default="net.pt")
    args = parser.parse_args()
    mp.spawn(work, nprocs=args.gpus, args=(args,))
""",
    """
import os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModel

local_rank = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
model = DDP(AutoModel.from_pretrained("bert-base-uncased").to(local_rank), device_ids=[local_rank])
if dist.get_rank() == 0:
    model.module.save_pretrained("out")
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def train(gpu, gpus):
    dist.init_process_group("nccl", init_method="file:///tmp/x", rank=gpu, world_size=gpus)
    torch.cuda.set_device(gpu)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda(), device_ids=[gpu])
    if gpu == 0:
        torch.save(model.module.state_dict(), "last.pt")

if __name__ == "__main__":
    mp.spawn(train, nprocs=2, args=(2,))
""",
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

"""process-group-uninitialized: seen in logs."""

MESSAGE = "torch.distributed was used before init_process_group ran in this process, or after the group was destroyed"
EXAMPLES = {
    "ValueError: Group <torch.distributed.ProcessGroup object at 0x7fe2> is not registered, please create group with torch.distributed.new_group API": (
        "torch.distributed was used before init_process_group ran in this process, or after the group was destroyed"
    ),
    "AssertionError: DistBarrier requires an initialized process group.": (
        "torch.distributed was used before init_process_group ran in this process, or after the group was destroyed"
    ),
    "RuntimeError: Could not resolve the process group registered under the name tp_0": (
        "torch.distributed was used before init_process_group ran in this process, or after the group was destroyed"
    ),
    "ValueError: Default process group has not been initialized, please make sure to call init_process_group.": MESSAGE,
    "[rank0]: RuntimeError: Default process group has not been initialized, please make sure to call init_process_group.": MESSAGE,
    "AssertionError: Default process group is not initialized": MESSAGE,
    "ValueError: Process group 5 is not initialized in the world group map. Please initialize the group first.": MESSAGE,
    "RuntimeError: The given group does not exist": MESSAGE,
    "ValueError: Invalid process group specified": MESSAGE,
    "AssertionError: Process group cannot be None": MESSAGE,
    "RuntimeError: DeviceMesh process groups not initialized!": MESSAGE,
    "AssertionError: DeepSpeed backend not set, please initialize it using init_process_group()": MESSAGE,
    "AssertionError: tensor model parallel group is not initialized": MESSAGE,
    'RuntimeError: Need to initialize default process group using "init_process_group" before loading ShardedTensor': MESSAGE,
    "AssertionError: data parallel group-gloo is not initialized": (
        "torch.distributed was used before init_process_group ran in this process, or after the group was destroyed"
    ),
    "RuntimeError: torch.distributed must be initialized before the pool is made": (
        "torch.distributed was used before init_process_group ran in this process, or after the group was destroyed"
    ),
    "AssertionError: Distributed backend is not initialized. Please set dist_init_required to True": (
        "torch.distributed was used before init_process_group ran in this process, or after the group was destroyed"
    ),
    "RuntimeError: Distributed environment is not initialized but comm operator gather was called": (
        "torch.distributed was used before init_process_group ran in this process, or after the group was destroyed"
    ),
    "RuntimeError: The collective group 'default' is not initialized in the process.": (
        "torch.distributed was used before init_process_group ran in this process, or after the group was destroyed"
    ),
    "ValueError: Setup failed. Make sure you init torch distributed in your script first.": (
        "torch.distributed was used before init_process_group ran in this process, or after the group was destroyed"
    ),
    "AssertionError: torch.distributed is not initialized": "torch.distributed was used before init_process_group ran in this process, or after the group was destroyed",
}
NOT_THIS = [
    "ValueError: trying to initialize the default process group twice!",
    "ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable RANK expected, but not set",
    "RuntimeError: RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.",
    "WARNING: process group has NOT been destroyed before we destruct ProcessGroupNCCL.",
    "Distributed environment not initialized. Running in single process mode.",
]

FLAGGED = [
    """
import click
import torch
import torch.distributed as dist

@click.command()
@click.option("--steps", default=10)
def train(steps):
    net = torch.nn.Linear(4, 4)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        opt.zero_grad()
        net(torch.ones(2, 4)).sum().backward()
        for p in net.parameters():
            dist.all_reduce(p.grad)  # <-
            p.grad /= dist.get_world_size()
        opt.step()

if __name__ == "__main__":
    train()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
net = DistributedDataParallel(torch.nn.Linear(2, 2))
for epoch in range(3):
    for batch in torch.utils.data.DataLoader(data, sampler=sampler):
        net(batch).sum().backward()
    dist.destroy_process_group()  # <-
""",
    """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from net import Net, setup

def train():
    rank = dist.get_rank()  # <-
    setup(rank, 4)
    model = DDP(Net().to(rank), device_ids=[rank])
    return model
""",
    """
import argparse
from torch.utils.data import DataLoader, DistributedSampler, SequentialSampler
from corpus import load

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local-rank", "--local_rank", type=int, default=-1)
    args = parser.parse_args()
    data = load("train")
    sampler = SequentialSampler(data) if args.local_rank == -1 else DistributedSampler(data)  # <-
    for batch in DataLoader(data, sampler=sampler):
        print(batch)

if __name__ == "__main__":
    main()
""",
    """
import os
import torch
import torch.distributed as dist

ddp = "RANK" in os.environ
if ddp:
    dist.init_process_group("gloo")
model = torch.nn.Linear(2, 2)
if ddp:
    model = torch.nn.parallel.DistributedDataParallel(model)

def train():
    for step in range(3):
        model(torch.ones(2, 2)).sum().backward()

if ddp:
    dist.destroy_process_group()  # <-

if __name__ == "__main__":
    train()
""",
    """
import torch
import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    for epoch in range(9):
        model(torch.ones(1, 2)).sum().backward()
        dist.barrier()
        dist.destroy_process_group()  # <-

main()
""",
    """
import deepspeed
import torch
import torch.distributed as dist

def main(args):
    if args.local_rank == -1:
        print("one GPU")
    else:
        torch.cuda.set_device(args.local_rank)
        deepspeed.init_distributed()
    dist.barrier()  # <-

main(args)
""",
    """
import os, torch.distributed as dist, torch.multiprocessing as mp

def worker(rank, size):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", "29555"
    dist.init_process_group("gloo", rank=rank, world_size=size)
    dist.destroy_process_group()

if __name__ == "__main__":
    size = dist.get_world_size()  # <-
    mp.spawn(worker, args=(size,), nprocs=size)
""",
    """
import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    print(dist.get_world_size())
    dist.destroy_process_group()
    dist.barrier()  # <-

main()
""",
    """
import torch.distributed as dist

def main():
    rank = dist.get_rank()  # <-
    dist.init_process_group("gloo")
    dist.destroy_process_group()

main()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

def main(dataset, path):
    if "LOCAL_RANK" in os.environ:
        dist.init_process_group("gloo")
    if not os.path.exists(path):
        return
    sampler = DistributedSampler(dataset)  # <-
    for batch in DataLoader(dataset, sampler=sampler):
        print(batch)

main([1], "x")
""",
    """
import os
import torch
import torch.distributed as dist

world_size = int(os.environ.get("WORLD_SIZE", 1))
if world_size > 1:
    dist.init_process_group("gloo")
for step in range(10):
    if dist.get_rank() == 0 and step % 5 == 0:  # <-
        print(step)
if world_size > 1:
    dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist

def main():
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    else:
        rank = 0
    if rank == 0:
        print("downloading")
    dist.barrier()  # <-
    dist.destroy_process_group()

main()
""",
    (
        "torchrun.py",
        {
            '    dist.init_process_group("nccl")\n    rank = dist.get_rank()\n': '    rank = 0\n    if args.epochs > 1:\n        dist.init_process_group("nccl")\n        rank = dist.get_rank()\n',
            "    dist.barrier()\n    return": "    dist.barrier()  # <-\n    return",
        },
    ),
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torchvision.models import resnet18

def test(net, loader):
    with torch.no_grad():
        return [net(x.cuda()) for x in loader]

def main(train, held_out):
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    net = DDP(resnet18().cuda(), device_ids=[gpu])
    steps = torch.optim.SGD(net.parameters(), 0.1)
    for x in train:
        net(x.cuda()).sum().backward()
        steps.step()
        steps.zero_grad()
    dist.destroy_process_group()  # <-
    test(net, held_out)

if __name__ == "__main__":
    from parts import held_out, train
    main(train, held_out)
""",
]
FINE = [
    """
import torch
import torch.distributed as dist

def averaged(value):
    # part of a library: who calls it has a group
    dist.all_reduce(value)
    return value / dist.get_world_size()

if __name__ == "__main__":
    value = torch.ones(3)
    if dist.is_available() and dist.is_initialized():
        value = averaged(value)
    print(value)
""",
    """
import torch
import torch.distributed as dist
from groups import begin  # of another file, which may make the group

if __name__ == "__main__":
    device = begin()
    share = torch.ones(2, device=device) * dist.get_rank()
    dist.all_reduce(share)
""",
    """
import os
import torch
import torch.distributed as dist

first = lambda: dist.get_rank() == 0  # asked when it is called, and the group is there by then

def main():
    dist.init_process_group("gloo")
    if first():
        print("begun", dist.get_world_size())
    dist.destroy_process_group()

main()
""",
    """
import argparse
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, SequentialSampler

class Blocks:
    def __init__(self, data):
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

def main(args, data):
    if args.many:
        dist.init_process_group("gloo")
    kind = DistributedSampler if args.many else SequentialSampler
    other = Blocks if args.many else SequentialSampler
    return DataLoader(data, sampler=kind(data)), DataLoader(data, sampler=other(data))

main(argparse.Namespace(many=False), [1])
""",
    """
import os
import torch
import torch.distributed as dist
from contextlib import contextmanager

@contextmanager
def zero_first(rank):
    if rank not in [-1, 0]:
        dist.barrier()
    yield
    if rank == 0:
        dist.barrier()

def main(args):
    args.local_rank = int(os.environ.get("LOCAL_RANK", -1))
    if args.local_rank == -1:
        device = torch.device("cuda")
    else:
        dist.init_process_group("nccl")
        torch.cuda.set_device(args.local_rank)
    with zero_first(args.local_rank):
        from parts import data

if __name__ == "__main__":
    from parts import args
    main(args)
""",
    """
import os
import torch
import torch.distributed as dist
from net import make_logger, setup

def train():
    setup(int(os.environ["RANK"]), 4)
    rank = dist.get_rank()
    make_logger(rank)
    return rank
""",
    """
import argparse
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--distributed", action="store_true")
args = parser.parse_args()
if args.distributed:
    dist.init_process_group("gloo")
if dist.is_initialized() and dist.get_rank() == 0:
    dist.barrier()
if dist.is_initialized() and dist.get_rank() > 0:
    dist.barrier()
""",
    """
import argparse
from torch.utils.data import DataLoader, DistributedSampler, SequentialSampler
from corpus import init_distributed, load

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, default=-1)
    args = parser.parse_args()
    local_rank = init_distributed(args)
    data = load("train")
    sampler = SequentialSampler(data) if local_rank == -1 else DistributedSampler(data)
    for batch in DataLoader(data, sampler=sampler):
        print(batch)

if __name__ == "__main__":
    main()
""",
    """
import torch
import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    for epoch in range(9):
        model(torch.ones(1, 2)).sum().backward()
        dist.barrier()
        if epoch == 8:
            dist.destroy_process_group()
            break

main()
""",
    """
import torch
import torch.distributed as dist

def main():
    for fold in range(9):
        dist.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
        model(torch.ones(1, 2)).sum().backward()
        dist.barrier()
        dist.destroy_process_group()

main()
""",
    """
import deepspeed
import torch.distributed as dist

def main(args):
    if args.local_rank != -1:
        deepspeed.init_distributed()
        dist.barrier()

main(args)
""",
    """
import os, torch.distributed as dist, torch.multiprocessing as mp

def size():
    return dist.get_world_size() if dist.is_initialized() else 2

def worker(rank, world_size):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", "29555"
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(worker, args=(size(),), nprocs=size())
""",
    """
import torch.distributed as dist

def rank():
    return dist.get_rank() if dist.is_initialized() else 0

def main(again):
    print(rank())
    dist.init_process_group("gloo")
    if again:
        dist.destroy_process_group()
    print(dist.get_world_size())
    dist.destroy_process_group()
    print(rank())

main(False)
""",
    """
import os
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

def main(dataset, rank, size):
    if "LOCAL_RANK" in os.environ:
        dist.init_process_group("gloo")
    sampler = DistributedSampler(dataset, num_replicas=size, rank=rank)
    if not dist.is_initialized():
        return
    other = DistributedSampler(dataset, shuffle=False)

main([1], 0, 1)
""",
    """
import torch
import torch.distributed as dist

if torch.cuda.is_available():
    dist.init_process_group("nccl")
else:
    dist.init_process_group("gloo")
print(dist.get_rank())
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist

world_size = int(os.environ.get("WORLD_SIZE", 1))
if world_size > 1:
    dist.init_process_group("gloo")
for step in range(10):
    if not dist.is_initialized() or dist.get_rank() == 0:
        print(step)
    if world_size > 1 and dist.get_rank() == 0:
        print(step)
if world_size > 1:
    dist.destroy_process_group()
""",
    """
import os
import torch.distributed as dist

def wait():
    if not dist.is_initialized():
        return
    dist.barrier()

if "RANK" in os.environ:
    dist.init_process_group("gloo")
wait()
dist.destroy_process_group()
""",
    """
import argparse
import torch.distributed as dist

args = argparse.ArgumentParser().parse_args()
if args.distributed:
    dist.init_process_group("gloo")
for epoch in range(3):
    if args.distributed:
        dist.barrier()
if args.distributed:
    dist.destroy_process_group()
""",
    """
# a pass without gradients right after another one broadcasts nothing
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torchvision.models import resnet18

def test(net, loader):
    with torch.no_grad():
        return [net(x.cuda()) for x in loader]

def main(train, held_out):
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    net = DDP(resnet18().cuda(), device_ids=[gpu])
    steps = torch.optim.SGD(net.parameters(), 0.1)
    for x in train:
        net(x.cuda()).sum().backward()
        steps.step()
        steps.zero_grad()
    test(net, held_out)
    dist.destroy_process_group()
    test(net, held_out)

if __name__ == "__main__":
    from parts import held_out, train
    main(train, held_out)
""",
]

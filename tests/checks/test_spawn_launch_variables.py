"""spawn-launch-variables: seen in a script."""

FLAGGED = [
    """
import torch.distributed as dist
import torch.multiprocessing as mp
from settings import options

def work(gpu):
    dist.init_process_group(backend="nccl", init_method=options.url, world_size=options.gpus)  # <-
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(work, nprocs=options.gpus)
""",
    """
import argparse
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def worker(gpu, args):
    dist.init_process_group("nccl", init_method=args.dist_url, world_size=args.world_size, rank=gpu)  # <-
    dist.destroy_process_group()

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--dist_url", default="env://")
    args = parser.parse_args()
    args.world_size = torch.cuda.device_count()
    mp.spawn(worker, args=(args,), nprocs=args.world_size)
""",
    """
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank, world_size):
    dist.init_process_group("gloo", init_method="env://", rank=rank, world_size=world_size)  # <-
    dist.destroy_process_group()


if __name__ == "__main__":
    processes = [mp.Process(target=work, args=(rank, 2)) for rank in range(2)]
    for process in processes:
        process.start()
""",
    (
        "spawn.py",
        {
            '    os.environ["MASTER_ADDR"] = "localhost"\n    os.environ["MASTER_PORT"] = os.environ.get("PORT", "29500")\n': "",
            'distributed.init_process_group("nccl", rank=rank, world_size=world_size)': 'distributed.init_process_group("nccl", rank=rank, world_size=world_size)  # <-',
        },
    ),
    (
        "spawn.py",
        {
            "    torch.cuda.set_device(rank)\n": '    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))  # <-\n'
        },
    ),
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

def work(index):
    dist.init_process_group(backend="gloo")  # <-
    print(dist.get_rank(), index)
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(work, nprocs=4)
""",
]
FINE = [
    """
import os
import torch.distributed as dist
import torch.multiprocessing as mp
from settings import options

def work(gpu):
    os.environ["RANK"] = str(gpu)
    dist.init_process_group(backend="gloo", init_method=options.url, world_size=options.gpus)
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(work, nprocs=options.gpus)
""",
    """
import os
import torch.distributed as dist
import torch.multiprocessing as mp

def begin(path):
    args = parse(path)
    if args.dist_url == "env://" and args.world_size == -1:
        args.world_size = int(os.environ["WORLD_SIZE"])  # of nodes: who starts the script on each sets both
    mp.spawn(work, nprocs=args.gpus, args=(args,))

def work(gpu, args):
    if args.dist_url == "env://" and args.rank == -1:
        args.rank = int(os.environ["RANK"])
    args.rank = args.rank * args.gpus + gpu
    dist.init_process_group("nccl", init_method=args.dist_url, world_size=args.world_size, rank=args.rank)
""",
    """
import argparse
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def worker(gpu, args):
    dist.init_process_group("nccl", init_method=args.dist_url, world_size=args.world_size, rank=gpu)
    dist.destroy_process_group()

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--dist_url", default=None)
    args = parser.parse_args()
    args.world_size = torch.cuda.device_count()
    mp.spawn(worker, args=(args,), nprocs=args.world_size)
""",
    """
import argparse
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

parser = argparse.ArgumentParser()
parser.add_argument("--nodes", default=-1, type=int)
parser.add_argument("--node", default=-1, type=int)
parser.add_argument("--url", default="env://")

def main():
    args = parser.parse_args()
    if args.url == "env://" and args.nodes == -1:
        args.nodes = int(os.environ["WORLD_SIZE"])
    gpus = torch.cuda.device_count()
    mp.spawn(worker, nprocs=gpus, args=(gpus, args))

def worker(gpu, gpus, args):
    if args.url == "env://" and args.node == -1:
        args.node = int(os.environ["RANK"])
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl", init_method=args.url, world_size=args.nodes * gpus, rank=args.node * gpus + gpu)
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
    (
        "spawn.py",
        {
            '    os.environ["MASTER_ADDR"] = "localhost"\n    os.environ["MASTER_PORT"] = os.environ.get("PORT", "29500")\n': "",
            "    world_size = torch.cuda.device_count()\n": '    os.environ["MASTER_ADDR"] = "127.0.0.1"\n    os.environ["MASTER_PORT"] = os.environ["PORT"]\n    world_size = torch.cuda.device_count()\n',
        },
    ),
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

def work(index, store):
    os.environ["LOCAL_RANK"] = str(index)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=index, world_size=2)
    print(os.environ["LOCAL_RANK"])
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(work, ("/tmp/store",), nprocs=2)
""",
]

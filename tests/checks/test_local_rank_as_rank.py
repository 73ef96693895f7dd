"""local-rank-as-rank: seen in a script, and in logs."""

from gpudoctor import Severity, lint

ONE_MACHINE = """
import os
import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])  # of all GPUs of this machine, and no other
dist.init_process_group("nccl", rank=rank, world_size=torch.cuda.device_count())  # <-
dist.destroy_process_group()
"""
FLAGGED = [
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def work(rank, world_size, local_rank):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    torch.cuda.set_device(local_rank)
    net = torch.nn.Linear(2, 2).cuda()
    net = DistributedDataParallel(net, device_ids=[rank])  # <-
    net(torch.ones(1, 2).cuda()).sum().backward()
    dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
features = torch.ones(4, requires_grad=True, device="cuda")
parts = [torch.zeros_like(features) for _ in range(dist.get_world_size())]
dist.all_gather(parts, features.detach())
parts[local_rank] = features  # <-
torch.cat(parts).sum().backward()
dist.destroy_process_group()
""",
    """
import argparse
import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--config")
args = parser.parse_args()
dist.init_process_group("nccl")
args.local_rank = dist.get_rank()
args.device = torch.device("cuda", args.local_rank)
model = torch.nn.Linear(2, 2).to(args.device)  # <-
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
rank = dist.get_rank()
device = rank % torch.cuda.device_count()
torch.cuda.set_device(device)
net = DistributedDataParallel(torch.nn.Linear(2, 2).to(device), device_ids=[rank])  # <-
""",
    """
import os
import torch
import torch.distributed as dist

local = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
torch.cuda.set_device(local)
size = dist.get_world_size()
names = sorted(os.listdir("pictures"))
mine = [name for at, name in enumerate(names) if at % size == local]  # <-
""",
    """
import os
import torch
import torch.distributed as dist

local = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
torch.cuda.set_device(local)
size = dist.get_world_size()
names = sorted(os.listdir("pictures"))
each = len(names) // size
mine = names[local * each : (local + 1) * each]  # <-
""",
    """
import os
import torch
import torch.distributed as dist

local = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
torch.cuda.set_device(local)
size = dist.get_world_size()
names = sorted(os.listdir("pictures"))
for at in range(0, len(names), size):
    name = names[at + local]  # <-
""",
    """
import os
import torch
import torch.distributed as dist

local = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
torch.cuda.set_device(local)
size = dist.get_world_size()
names = sorted(os.listdir("pictures"))
import numpy
mine = numpy.array_split(names, size)[local]  # <-
""",
    """
import os
import torch
import torch.distributed as dist

local = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
torch.cuda.set_device(local)
size = dist.get_world_size()
names = sorted(os.listdir("pictures"))
from datasets import load_dataset
part = load_dataset("text", split="train").shard(num_shards=size, index=local)  # <-
""",
    """
import os
import torch
import torch.distributed as dist

per_node = torch.cuda.device_count()
rank = int(os.environ["NODE_RANK"]) * per_node + int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl", rank=rank, world_size=int(os.environ["NNODES"]) * per_node)
torch.cuda.set_device(rank)  # <-
""",
    """
import os
import torch.distributed as dist

local_rank = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
mine = sorted(os.listdir("data"))[local_rank :: dist.get_world_size()]  # <-
dist.destroy_process_group()
""",
    """
import os
import torch.distributed as dist

local_rank = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
files = sorted(os.listdir("data"))
for number in range(local_rank, len(files), dist.get_world_size()):  # <-
    print(files[number])
dist.destroy_process_group()
""",
    """
from torch.utils.data import DistributedSampler
from options import opt
from parts import dataset

sampler = DistributedSampler(dataset, num_replicas=opt.world_size, rank=opt.local_rank)  # <-
for epoch in range(3):
    sampler.set_epoch(epoch)
""",
    """
import argparse
import torch
import torch.distributed as dist
from sampling import BalancedSampler  # of another package: what it does with the number is not seen
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--local-rank", "--local_rank", type=int)
parser.add_argument("--world", type=int)
args = parser.parse_args()
dist.init_process_group("nccl")
sampler = BalancedSampler(dataset, num_replicas=args.world, rank=args.local_rank)  # <-
loader = DataLoader(dataset, batch_sampler=sampler)
dist.destroy_process_group()
""",
    """
import argparse
import os
import torch.distributed as dist
from settings import Config

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", "--local-rank", type=int, default=-1)
config = Config(parser.parse_args())
if config.local_rank != -1:
    config.rank = config.local_rank
elif "SLURM_PROCID" in os.environ:
    config.rank = int(os.environ["SLURM_PROCID"])
dist.init_process_group("nccl", init_method=config.url, world_size=config.size, rank=config.rank)  # <-
dist.destroy_process_group()
""",
    """
import argparse
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def worker(gpu, args):
    dist.init_process_group("nccl", init_method=args.url, world_size=args.world_size, rank=gpu)  # <-
    dist.destroy_process_group()

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--url")
    parser.add_argument("--world_size", default=1, type=int, help="number of nodes")
    args = parser.parse_args()
    gpus = torch.cuda.device_count()
    args.world_size = gpus * args.world_size
    mp.spawn(worker, args=(args,), nprocs=gpus)
""",
    ONE_MACHINE,
    """
import os
import torch
import torch.distributed as dist

for name in ("RANK", "SLURM_PROCID"):
    if name in os.environ:
        rank = int(os.environ[name])
        torch.cuda.set_device(rank)  # <-
dist.init_process_group("nccl")
print(os.environ["LOCAL_RANK"])
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
model = DistributedDataParallel(  # <-
    torch.nn.Linear(2, 2).to(local_rank), device_ids=[local_rank], output_device=dist.get_rank()
)
""",
    """
import os
from argparse import Namespace

import torch.distributed as dist

class Job:
    local = int(os.environ["LOCAL_RANK"])

args = Namespace(**{"rank": Job.local, "world_size": 8})
dist.init_process_group("nccl", rank=Job.local, world_size=args.world_size)  # <-
""",
    """
from accelerate import Accelerator
from net import Net
accelerator = Accelerator()
device = f"cuda:{accelerator.process_index}"
model = Net().to(device)  # <-
""",
    """
import os
import torch
import torch.distributed as dist

def setup():
    rank = int(os.environ.get("RANK", 0))
    dist.init_process_group("gloo", rank=rank, world_size=int(os.environ.get("WORLD_SIZE", 1)))
    return rank, dist.get_world_size()

rank, size = setup()
device = torch.device(f"cuda:{rank}" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(2, 2).to(device)  # <-
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist

rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
x = torch.ones(2).cuda(rank)  # <-
dist.all_reduce(x)
dist.destroy_process_group()
""",
    (
        "torchrun.py",
        {
            'dist.init_process_group("nccl")': 'dist.init_process_group("nccl", rank=local_rank, world_size=int(os.environ["WORLD_SIZE"]))  # <-'
        },
    ),
    (
        "slurm.py",
        {
            "sampler = DistributedSampler(train)": "sampler = DistributedSampler(train, num_replicas=dist.get_world_size(), rank=local_rank)  # <-"
        },
    ),
    ("slurm.py", {"torch.cuda.set_device(local_rank)": "torch.cuda.set_device(rank)  # <-"}),
    """
import argparse, os, torch, torch.distributed as dist, torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP
from nets import Net, loader, sampler
def worker(gpu, args):
    dist.init_process_group("nccl", init_method="env://", world_size=args.world_size, rank=gpu)  # <-
    torch.cuda.set_device(gpu)
    model = DDP(Net().cuda(gpu), device_ids=[gpu])
    opt = torch.optim.Adam(model.parameters())
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x in loader:
            opt.zero_grad(); loss = model(x).sum(); loss.backward(); opt.step()
    dist.destroy_process_group()
if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("-n", "--nodes", default=1, type=int)
    p.add_argument("-g", "--gpus", default=1, type=int)
    p.add_argument("-nr", "--nr", default=0, type=int)
    args = p.parse_args()
    args.world_size = args.gpus * args.nodes
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "8888"
    mp.spawn(worker, nprocs=args.gpus, args=(args,))
""",
]
FINE = [
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def work(rank, world_size, local_rank):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    torch.cuda.set_device(local_rank)
    net = torch.nn.Linear(2, 2).cuda()
    net = DistributedDataParallel(net, device_ids=[local_rank])
    net(torch.ones(1, 2).cuda()).sum().backward()
    dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
features = torch.ones(4, requires_grad=True, device="cuda")
parts = [torch.zeros_like(features) for _ in range(dist.get_world_size())]
dist.all_gather(parts, features.detach())
parts[dist.get_rank()] = features
torch.cat(parts).sum().backward()
dist.destroy_process_group()
""",
    """
import os
import torch.distributed as dist

def after(self, mode):
    local_rank = int(os.environ["LOCAL_RANK"])
    world_size = int(os.environ["WORLD_SIZE"])
    ranks_here = self.members(mode)
    return ranks_here[(local_rank + 1) % world_size]
""",
    """
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.utils.data import DistributedSampler
from parts import train_set

class Recipe:
    def __init__(self, mesh):
        self.dp_rank = mesh["dp"].get_local_rank()

    def sampler(self):
        return DistributedSampler(train_set, num_replicas=8, rank=self.dp_rank)

dist.init_process_group("nccl")
mesh = init_device_mesh("cuda", (8, 4), mesh_dim_names=("dp", "tp"))
Recipe(mesh).sampler()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
rank = dist.get_rank()
device = rank % torch.cuda.device_count()
torch.cuda.set_device(device)
net = DistributedDataParallel(torch.nn.Linear(2, 2).to(device), device_ids=[device])
""",
    """
import os
import torch
import torch.distributed as dist

local = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
torch.cuda.set_device(local)
size = int(os.environ["LOCAL_WORLD_SIZE"])
names = sorted(os.listdir("pictures"))
mine = [name for at, name in enumerate(names) if at % size == local]
colour = ["red", "green"][local % 2]
""",
    """
import os
import torch
import torch.distributed as dist

local = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
torch.cuda.set_device(local)
rank, size = dist.get_rank(), dist.get_world_size()
names = sorted(os.listdir("pictures"))
each = len(names) // size
mine = names[rank * each : (rank + 1) * each]
gpus = [4, 5, 6, 7]
torch.cuda.set_device(gpus[local])
""",
    """
import os
import torch.distributed as dist

local_rank, on_this = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
dist.init_process_group("nccl")
files = sorted(os.listdir("data"))
here = files[local_rank::on_this]  # what lies on this machine's own disk
mine = files[dist.get_rank() :: dist.get_world_size()]
for number in range(dist.get_rank(), len(files), dist.get_world_size()):
    print(files[number])
dist.destroy_process_group()
""",
    """
from torch.utils.data import DistributedSampler
import ranks
from parts import dataset

sampler = DistributedSampler(dataset, num_replicas=ranks.world_size(), rank=ranks.rank())
for epoch in range(3):
    sampler.set_epoch(epoch)
import os
import torch.distributed as dist
from sampling import BalancedSampler

dist.init_process_group("nccl")
sampler = BalancedSampler(dataset, num_replicas=dist.get_world_size(), rank=dist.get_rank())
dist.destroy_process_group()
""",
    """
import os
import torch.distributed as dist
from settings import Config

config = Config()
if "RANK" in os.environ:
    config.rank = int(os.environ["RANK"])
else:
    config.rank = config.local_rank  # where nobody gives a rank there is one machine
dist.init_process_group("nccl", world_size=config.size, rank=config.rank)
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
GROUP = None
def local_rank():
    if not dist.is_initialized():
        return 0
    return dist.get_rank(group=LOCAL_GROUP)
def place(model):
    return torch.nn.parallel.DistributedDataParallel(model.cuda(), device_ids=[local_rank()])
""",
    """
import torch
import torch.distributed as dist
def work(world_rank, world_size, function, local_rank=None):
    if local_rank is None:
        local_rank = world_rank
    if world_size > 1:
        torch.cuda.set_device(local_rank)
        dist.init_process_group("nccl", rank=world_rank, world_size=world_size)
    function(local_rank)
    if world_size > 1:
        dist.destroy_process_group()
def run(function, world_size):
    work(dist.get_rank(), world_size, function)
""",
    """
import argparse, os, torch, torch.distributed as dist, torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP
from nets import Net, loader, sampler
def worker(gpu, args):
    dist.init_process_group("nccl", init_method="env://", world_size=args.world_size, rank=args.nr * args.gpus + gpu)
    torch.cuda.set_device(gpu)
    model = DDP(Net().cuda(gpu), device_ids=[gpu])
    opt = torch.optim.Adam(model.parameters())
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x in loader:
            opt.zero_grad(); loss = model(x).sum(); loss.backward(); opt.step()
    dist.destroy_process_group()
if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("-n", "--nodes", default=1, type=int)
    p.add_argument("-g", "--gpus", default=1, type=int)
    p.add_argument("-nr", "--nr", default=0, type=int)
    args = p.parse_args()
    args.world_size = args.gpus * args.nodes
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "8888"
    mp.spawn(worker, nprocs=args.gpus, args=(args,))
""",
    """
import argparse, os, torch, torch.distributed as dist, torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP
from nets import Net, loader, sampler
def worker(gpu, args):
    dist.init_process_group("nccl", init_method="env://", world_size=args.world_size, rank=gpu)
    torch.cuda.set_device(gpu)
    model = DDP(Net().cuda(gpu), device_ids=[gpu])
    opt = torch.optim.Adam(model.parameters())
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x in loader:
            opt.zero_grad(); loss = model(x).sum(); loss.backward(); opt.step()
    dist.destroy_process_group()
if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("-n", "--nodes", default=1, type=int)
    p.add_argument("-g", "--gpus", default=1, type=int)
    p.add_argument("-nr", "--nr", default=0, type=int)
    args = p.parse_args()
    args.world_size = args.gpus
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "8888"
    mp.spawn(worker, nprocs=args.gpus, args=(args,))
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
model = DistributedDataParallel(
    torch.nn.Linear(2, 2).to(local_rank), device_ids=[local_rank], output_device=local_rank
)
""",
    ("spawn.py", {"torch.cuda.set_device(rank)": "torch.cuda.set_device(rank % torch.cuda.device_count())"}),
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

rank = int(os.environ["RANK"])
torch.cuda.set_device(rank % torch.cuda.device_count())
dist.init_process_group("nccl", rank=rank, world_size=int(os.environ["WORLD_SIZE"]))
dist.destroy_process_group()
""",
]
EXAMPLES = {
    "[rank0]: AssertionError: two ranks take the same share of the data": "two ranks take the same share of the data: the local rank, which starts at 0 on each node, is used where the rank is meant"
}
NOT_THIS = ["two ranks take other shares of the data"]


def test_no_more_than_a_note_where_the_world_is_the_gpus_of_one_machine(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(ONE_MACHINE)
    (finding,) = (f for f in lint([path]).findings if f.id == "local-rank-as-rank")
    assert finding.severity is Severity.NOTE


def test_ranks_that_meet_at_a_loopback_address_are_of_one_machine(tmp_path):
    """The local rank is all there is where no other machine can come."""
    path = tmp_path / "train.py"
    text = """
import torch
import torch.distributed as dist

def work(local_rank, size, port):
    dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{port}", world_size=size, rank=local_rank)
"""
    path.write_text(text)
    [finding] = lint([path], only=["local-rank-as-rank"]).findings
    assert finding.severity is Severity.NOTE
    path.write_text(text.replace("127.0.0.1", "10.0.0.7"))
    [finding] = lint([path], only=["local-rank-as-rank"]).findings
    assert finding.severity is Severity.WARNING


def test_an_address_that_started_processes_are_handed_counts_too(tmp_path):
    path = tmp_path / "train.py"
    text = """
import torch.distributed as dist
from torch.multiprocessing import Process

def work(**given):
    local_rank = given["local_rank"]
    dist.init_process_group("nccl", init_method=given["method"], world_size=2, rank=local_rank)
    dist.destroy_process_group()

if __name__ == "__main__":
    for local_rank in range(2):
        Process(target=work, kwargs={"local_rank": local_rank, "method": "tcp://localhost:9999"}).start()
"""
    path.write_text(text)
    assert {f.severity for f in lint([path], only=["local-rank-as-rank"]).findings} == {Severity.NOTE}
    path.write_text(text.replace("localhost", "10.0.0.7"))
    assert {f.severity for f in lint([path], only=["local-rank-as-rank"]).findings} == {Severity.WARNING}

"""rank-device-unset: ranks on one GPU."""

import pytest

from gpudoctor.facts import Gpu, GpuProcess, Gpus, Process, Processes
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

EXAMPLES = {
    "ValueError: Inconsistent compute device and `device_id` on rank 3: cuda:0 vs cuda:3": (
        "the model of rank 3 lies on GPU 0, and not on the rank's own"
    ),
}
NOT_THIS = ["ValueError: Inconsistent compute device and `device_id` on rank 1: cuda:1 vs cuda:0"]
CHECK = Registry().check("rank-device-unset")
RANKS = Processes(ranks=[Process(pid=n, name="python", rank=str(n), local_rank=str(n)) for n in range(4)])


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def gpus(*pids):
    return Gpus(
        devices=[
            Gpu(index=n, processes=[GpuProcess(pid=pid) for pid in held] if held is not None else None)
            for n, held in enumerate(pids)
        ]
    )


def test_all_on_the_first():
    _, [finding] = run(gpus=gpus([0, 1, 2, 3], [], [], []), processes=RANKS)
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("ranks 0, 1, 2, 3 all work on GPU 0, and the other 3 have none")


def test_all_on_the_first_too():
    _, [finding] = run(gpus=gpus([0, 1, 2, 3], [1], [2], [3]), processes=RANKS)
    assert "besides their own" in finding.message


@pytest.mark.parametrize(
    "held",
    [([0], [1], [2], [3]), ([], [], [], []), ([0, 77, 78], [], [], []), ([0, 1], [2, 3]), ([0, 1, 2, 3],)],
)
def test_passes(held):
    assert run(gpus=gpus(*held), processes=RANKS)[0].status is CheckStatus.PASSED


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
    assert run(gpus=gpus([0], None), processes=RANKS)[0].status is CheckStatus.UNKNOWN


FLAGGED = [
    """
import numpy as np
import torch
import torch.multiprocessing as mp
from encoders import Encoder  # of another file

def encode(number, parts):
    net = Encoder().cuda()  # <-
    with torch.no_grad():
        for i, part in enumerate(parts):
            if i % torch.cuda.device_count() == number:
                np.save(f"{i}.npy", net(torch.as_tensor(part).cuda()).cpu().numpy())

if __name__ == "__main__":
    mp.spawn(encode, args=(np.load("parts.npy"),), nprocs=torch.cuda.device_count())
""",
    """
import os
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

SHARDED = os.environ.get("SHARDED") == "1"

def sharded(net):
    return FSDP(net) if SHARDED else net

def main():
    dist.init_process_group("nccl")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = sharded(torch.nn.Linear(8, 8))
    net.to(device)  # <-
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(3):
        opt.zero_grad()
        net(torch.ones(2, 8, device=device)).sum().backward()
        opt.step()
    dist.destroy_process_group()

main()
""",
    """
import argparse
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda:1")
args = parser.parse_args()
gpu = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
model = torch.nn.Linear(2, 2).to(args.device)  # <-
model = DistributedDataParallel(model, device_ids=[gpu])
""",
    """
import argparse
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

def work(rank, args):
    dist.init_process_group("nccl", "tcp://127.0.0.1:23456", rank=rank, world_size=args.size)
    torch.cuda.set_device(args.local_rank)  # <-
    model = DistributedDataParallel(build().cuda())

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    parser.add_argument("--size", type=int, default=2)
    args = parser.parse_args()
    mp.spawn(work, nprocs=args.size, args=(args,))
""",
    """
import torch
from torch import distributed, nn
from parts import args, factory, grouped, loader

if args.world_size > 1:
    distributed.init_process_group("nccl", init_method=args.url, world_size=args.world_size, rank=args.rank)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = factory(args.name)
if grouped():
    model.to(device)  # <-
    model = nn.parallel.DistributedDataParallel(model)
else:
    model.to(device)
for x in loader:
    model(x.to(device)).sum().backward()
""",
    """
import deepspeed
from palm import PaLM

model = PaLM(num_tokens=256, dim=512, depth=8)
model.cuda()  # <-
engine, optimizer, loader, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config="ds.json")
for x in loader:
    loss = engine(x.to(engine.local_rank))
    engine.backward(loss)
    engine.step()
""",
    """
import torch
import torch.distributed as dist
from meta import Learner

def average(model):
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad.data)
        parameter.grad.data /= dist.get_world_size()

def main():
    dist.init_process_group("gloo")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Learner(2).to(device)  # <-
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(9):
        optimizer.zero_grad()
        model(torch.randn(2, 2, device=device)).sum().backward()
        average(model)
        optimizer.step()
    dist.destroy_process_group()

main()
""",
    """
import json
import os

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
model = torch.nn.Linear(2, 2).to(rank)
model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])
state = torch.load("last.pt", map_location="cuda", weights_only=True)  # <-
model.module.load_state_dict(state)
""",
    """
import argparse
import os

import torch
import torch.distributed as dist

def main(args):
    args.on_slurm = "SLURM_JOB_ID" in os.environ
    if args.on_slurm:
        args.world_size, args.rank = int(os.environ["SLURM_NTASKS"]), int(os.environ["SLURM_PROCID"])
        dist.init_process_group("nccl", init_method=args.url, world_size=args.world_size, rank=args.rank)
    model = torch.nn.Linear(2, 2)
    if args.on_slurm and args.world_size > 1:
        model.cuda()  # <-
        model = torch.nn.parallel.DistributedDataParallel(model)
    else:
        torch.cuda.set_device(1)
        model.cuda()

main(argparse.ArgumentParser().parse_args())
""",
    """
import os
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel

class Defaults:
    backend = "nccl"

class Settings(Defaults):
    device = "cuda"

dist.init_process_group(Settings.backend)
cfg = SimpleNamespace(device=Settings.device, lr=0.1)
model = torch.nn.Linear(2, 2).to(cfg.device)  # <-
model = FullyShardedDataParallel(model)
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
model = DistributedDataParallel(torch.nn.Linear(2, 2)).cuda()  # <- rank-device-unset model-moved-after-wrap
""",
    """
import torch
import torch.distributed as dist
from configuration import instantiate

def main(cfg):
    dist.init_process_group(backend=cfg.backend)
    device = torch.device("cuda")
    model = instantiate(cfg.model).to(device)  # <-
    model = torch.nn.parallel.DistributedDataParallel(model)
""",
    """
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = local_rank = 0
torch.cuda.set_device(local_rank)  # <-
dist.all_reduce(torch.ones(2).cuda())
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank):
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29500", rank=rank, world_size=2)
    x = torch.ones(4, device=f"cuda:{rank}")
    dist.all_reduce(x)
    torch.cuda.synchronize()  # <-
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
""",
    """
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
x = torch.ones(4).cuda()  # <-
dist.all_reduce(x)
dist.destroy_process_group()
""",
    (
        "torchrun.py",
        {
            "    torch.cuda.set_device(local_rank)\n": "",
            "Net().to(local_rank)": "Net().cuda()  # <-",
            "DDP(model, device_ids=[local_rank])": "DDP(model)",
            "x, target = x.to(local_rank), target.to(local_rank)": "x, target = x.cuda(), target.cuda()",
        },
    ),
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

device = torch.device("cuda:0")
dist.init_process_group("nccl")
model = torch.nn.Linear(3, 3)
model.to(device)  # <-
model = DistributedDataParallel(model)
dist.destroy_process_group()
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

class Run:
    def __init__(self):
        torch.distributed.init_process_group(backend="nccl")
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.net = torch.nn.Linear(3, 3).to(self.device)  # <-
        self.net = DDP(self.net)

if __name__ == "__main__":
    Run()
    torch.distributed.destroy_process_group()
""",
]
FLAGGED += [
    (
        "torchrun.py",
        {
            "    torch.cuda.set_device(local_rank)\n": "",
            "x, target = x.to(local_rank), target.to(local_rank)": "x = x.cuda(non_blocking=True)  # <-\n            target = target.cuda(non_blocking=True)",
        },
    ),
]
FINE = [
    """
import torch
import torch.multiprocessing as mp
from encoders import Encoder, prepare  # of another file

def encode(number):
    prepare(number)
    print(Encoder().cuda()(torch.ones(1).cuda()))

if __name__ == "__main__":
    mp.spawn(encode, nprocs=torch.cuda.device_count())
""",
    """
import os
import torch
import torch.multiprocessing as mp
from encoders import Encoder, prepare  # of another file

def encode(number):
    torch.cuda.set_device(number)
    print(Encoder().cuda()(torch.ones(1).cuda()))

def encode_there(number):
    print(Encoder().cuda(number)(torch.ones(1, device=number)))

if __name__ == "__main__":
    for function in (encode, encode_there):
        mp.spawn(function, nprocs=torch.cuda.device_count())
""",
    """
import os
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

SHARDED = os.environ.get("SHARDED") == "1"

def sharded(net):
    return FSDP(net) if SHARDED else net

def main():
    dist.init_process_group("nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    net = sharded(torch.nn.Linear(8, 8).to(device))
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(3):
        opt.zero_grad()
        net(torch.ones(2, 8, device=device)).sum().backward()
        opt.step()
    dist.destroy_process_group()

main()
""",
    """
import argparse
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda:1")
args = parser.parse_args()
gpu = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
args.device = f"cuda:{gpu}"
torch.cuda.set_device(args.device)
model = torch.nn.Linear(2, 2).to(args.device)
model = DistributedDataParallel(model, device_ids=[gpu])
""",
    """
import argparse
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

def work(rank, args):
    args.local_rank = rank
    dist.init_process_group("nccl", "tcp://127.0.0.1:23456", rank=rank, world_size=args.size)
    torch.cuda.set_device(args.local_rank)
    model = DistributedDataParallel(build().cuda())

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    parser.add_argument("--size", type=int, default=2)
    args = parser.parse_args()
    mp.spawn(work, nprocs=args.size, args=(args,))
""",
    """
import argparse
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from ours import prepare

def work(rank, args):
    prepare(rank, args)  # it may give args.local_rank its value
    torch.cuda.set_device(args.local_rank)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    args = parser.parse_args()
    mp.spawn(work, nprocs=2, args=(args,))
""",
    """
import torch
import torch.distributed as dist

def work(rank, size, prepared):
    dist.init_process_group("gloo", rank=rank, world_size=size)
    prepared.cuda()
    prepared = torch.nn.parallel.DistributedDataParallel(prepared, device_ids=[rank])
    prepared(torch.rand(2, 2).to(rank)).sum().backward()
    dist.destroy_process_group()
""",
    """
# on one GPU the same function is called for rank 0, and there is no process group
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

def train(rank, args):
    if args.num_gpus > 1:
        dist.init_process_group("gloo", init_method=args.url, world_size=args.num_gpus, rank=rank)
    device = torch.device("cuda:{:d}".format(rank))
    model = torch.nn.Linear(2, 2).to(device)
    if args.num_gpus > 1:
        model = DistributedDataParallel(model, device_ids=[rank]).to(device)
    model(torch.rand(2, 2, device=device)).sum().backward()

def main(args):
    args.num_gpus = torch.cuda.device_count()
    if args.num_gpus > 1:
        mp.spawn(train, nprocs=args.num_gpus, args=(args,))
    else:
        train(0, args)

if __name__ == "__main__":
    main(parse())
""",
    """
import os
import deepspeed
import torch
from palm import PaLM

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = PaLM(num_tokens=256, dim=512, depth=8).cuda()
engine, optimizer, loader, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config="ds.json")
for x in loader:
    loss = engine(x.to(engine.local_rank))
    engine.backward(loss)
    engine.step()
""",
    """
import torch
import torch.distributed as dist

dist.init_process_group("nccl", rank=0, world_size=1, init_method="tcp://localhost:29501")
total = torch.tensor([1.0]).cuda()
dist.all_reduce(total)
dist.destroy_process_group()
""",
    """
import torch

class Solver:
    def __init__(self, model, rank):
        self.model = model.cuda()
        self.model = torch.nn.parallel.DistributedDataParallel(self.model, device_ids=[rank])
""",
    """
import os

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda(), device_ids=[rank])
model.module.load_state_dict(torch.load("last.pt", map_location="cuda", weights_only=True))
""",
    """
import torch
import torch.distributed as dist

def build(config, rank, size):
    dist.init_process_group("nccl", rank=rank, world_size=size)
    model = torch.nn.Linear(2, 2)
    if config["gpu"] is not None:
        torch.cuda.set_device(config["gpu"])
        model.cuda(config["gpu"])
        return torch.nn.parallel.DistributedDataParallel(model, device_ids=[config["gpu"]])
    model.cuda()
    return torch.nn.parallel.DistributedDataParallel(model)

build({"gpu": None}, 0, 8)
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from net import Net

def main():
    if "RANK" in os.environ:
        dist.init_process_group("nccl")
        local_rank = int(os.environ["LOCAL_RANK"])
        device = torch.device(f"cuda:{local_rank}")
    else:
        local_rank = 0
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Net().to(device)
    if dist.is_initialized():
        model = DDP(model, device_ids=[local_rank])

main()
""",
    """
import torch
import torch.distributed as dist
import tools

def main(args):
    dist.init_process_group("nccl")
    tools.set_device(args.local_rank)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
""",
    """
import torch
import torch.distributed as dist
from configuration import instantiate

def main(cfg):
    dist.init_process_group(backend=cfg.backend)
    device = torch.device("cuda", cfg.local_rank)
    model = instantiate(cfg.model).to(device)
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[cfg.local_rank])
""",
    """
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_node_local_rank())
x = torch.ones(4).cuda()
dist.all_reduce(x)
torch.cuda.synchronize()
dist.destroy_process_group()
""",
    (
        "torchrun.py",
        {"Net().to(local_rank)": "Net().cuda()", "DDP(model, device_ids=[local_rank])": "DDP(model)"},
    ),
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["LOCAL_RANK"]
dist.init_process_group("nccl")
model = DistributedDataParallel(torch.nn.Linear(3, 3).cuda())
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(3, 3))
dist.destroy_process_group()
""",
]

"""checkpoint-all-ranks: seen in a script, and in logs."""

FLAGGED = [
    """
import os
import tempfile
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

LAST = os.path.join(tempfile.gettempdir(), "last.pt")

dist.init_process_group("gloo")
net = DistributedDataParallel(torch.nn.Linear(2, 2))
net(torch.ones(1, 2)).sum().backward()
torch.save(net.module.state_dict(), LAST)  # <-
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from chainers import Trainer  # of another package
from torch.nn.parallel import DistributedDataParallel

def saver(model, name):
    def save(trainer):
        torch.save(model.module.state_dict(), os.path.join(trainer.out, name))  # <-
    return save

def main(data):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    trainer = Trainer(model, data)
    if dist.get_rank() == 0:
        trainer.extend(saver(model, "best.pt"))
    trainer.extend(saver(model, "last.pt"))
    trainer.run()
    dist.destroy_process_group()

main([])
""",
    """
import argparse
import os
import torch
import torch.distributed as dist

def init(args):
    if "RANK" not in os.environ:
        args.distributed = False
        return
    args.distributed = True
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")

args = argparse.ArgumentParser().parse_args()
init(args)
model = torch.nn.Linear(2, 2).cuda()
if args.distributed:
    model = torch.nn.parallel.DistributedDataParallel(model)
if args.distributed:
    torch.save(model.module.state_dict(), "model.pt")  # <-
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, model, optimizer):
        self.model = DDP(model)
        self.optimizer = optimizer

    def save(self):
        torch.save(self.model.module.state_dict(), "model.pt")  # <-
        torch.save(self.optimizer.state_dict(), "optimizer.pt")
""",
    """
from accelerate import Accelerator

class Tuner:
    def __init__(self, model):
        self.model, self.accelerator = model, Accelerator()

    def tune(self, loader, folder="./tuned"):
        self.model, loader = self.accelerator.prepare(self.model, loader)
        self.accelerator.wait_for_everyone()
        self.accelerator.unwrap_model(self.model).save_pretrained(folder)  # <-
""",
    """
import sys
import torch
import torch.distributed as dist

mixed = sys.argv[1] == "mixed" if len(sys.argv) > 1 else False
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
path = "model"
if mixed:
    path += "-mixed"
if dist.get_rank() == 0:
    print(path)
torch.save(model.module.state_dict(), path)  # <-
dist.destroy_process_group()
""",
    """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator()
model, loader = accelerator.prepare(torch.nn.Linear(2, 2), DataLoader([1]))
torch.save(accelerator.unwrap_model(model).state_dict(), "model.pt")  # <-
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main():
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(2, 2))
    for epoch in range(3):
        torch.save(model.module.state_dict(), "model.pt")  # <-
""",
    """
import argparse
import os
import torch
import torch.nn as nn

class Trainer:
    def __init__(self, args):
        self.args = args
        self.model = nn.parallel.DistributedDataParallel(nn.Linear(2, 2))

    def save(self, epoch):
        path = os.path.join(self.args.output, f"epoch{epoch}.pt")
        torch.save({"model": self.model.module.state_dict(), "epoch": epoch}, path)  # <-

    def fit(self):
        for epoch in range(self.args.epochs):
            self.save(epoch)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--output")
    parser.add_argument("--epochs", type=int)
    torch.distributed.init_process_group("gloo")
    Trainer(parser.parse_args()).fit()
    torch.distributed.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def worker(rank, world_size):
    dist.init_process_group("gloo", init_method="tcp://localhost:29500", rank=rank, world_size=world_size)
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    best = 1e9
    loss = torch.rand(1).item()
    if loss < best:
        with open("best.pt", "wb") as file:
            torch.save(net.module.state_dict(), file)  # <-
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(worker, args=(2,), nprocs=2)
""",
    """
import horovod.torch as hvd
import torch

hvd.init()
torch.cuda.set_device(hvd.local_rank())
net = torch.nn.Linear(2, 2).cuda()
steps = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), 0.1), named_parameters=net.named_parameters())
hvd.broadcast_parameters(net.state_dict(), root_rank=0)
for epoch in range(3):
    net(torch.randn(4, 2).cuda()).sum().backward()
    steps.step()
    torch.save(net.state_dict(), "net.pt")  # <-
""",
]
FINE = [
    """
import os
import torch
import torch.distributed as dist
from chainers import Trainer  # of another package
from torch.nn.parallel import DistributedDataParallel

def saver(model, name):
    def save(trainer):
        torch.save(model.module.state_dict(), os.path.join(trainer.out, name))
    return save

def main(data):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    trainer = Trainer(model, data)
    if dist.get_rank() == 0:
        trainer.extend(saver(model, "best.pt"))
    trainer.run()
    dist.destroy_process_group()

main([])
""",
    """
import argparse
import os
import torch
import torch.distributed as dist

def init(args):
    if "RANK" not in os.environ:
        args.distributed = False
        return
    args.distributed = True
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")

args = argparse.ArgumentParser().parse_args()
init(args)
model = torch.nn.Linear(2, 2).cuda()
if args.distributed:
    model = torch.nn.parallel.DistributedDataParallel(model)
if args.distributed:
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "model.pt")
else:
    torch.save(model.state_dict(), "model.pt")
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def is_master(args, local=False):
    return args.local_rank == 0 if local else args.rank == 0

def main(args):
    dist.init_process_group("gloo")
    net = DistributedDataParallel(torch.nn.Linear(2, 2))
    if is_master(args):
        print(1)
    if is_master(args):
        print(2)
    if is_master(args, local=True):
        print(3)
    if is_master(args):
        print(4)
    if is_master(args):
        print(5)
    if is_master(args):
        print(6)
    args.keep = args.logs and is_master(args)
    if args.keep:
        torch.save(net.module.state_dict(), "net.pt")
    dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def number():
    found = 0
    for name in ("RANK", "SLURM_PROCID"):
        if name in os.environ:
            found = int(os.environ[name])
            break
    return found

def first(place):
    return place == 0

dist.init_process_group("gloo")
net = DistributedDataParallel(torch.nn.Linear(2, 2))
place = number()
if first(place):
    torch.save(net.module.state_dict(), "net.pt")
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
net = DistributedDataParallel(torch.nn.Linear(2, 2))
if is_torch_xla_available():
    torch.save({"step": 7}, "state.pt")
elif dist.get_rank() == 0:
    torch.save({"step": 7}, "state.pt")
dist.destroy_process_group()
""",
    """
import torch
from accelerate import Accelerator
from transformers import AutoModel

accelerator = Accelerator()
model = accelerator.prepare(AutoModel.from_pretrained("bert-base-cased"))
accelerator.wait_for_everyone()
accelerator.unwrap_model(model).save_pretrained("out", save_function=accelerator.save)
""",
    """
import os
import torch
from torch.nn.parallel import DistributedDataParallel

class Parallel:
    def __init__(self, several, model):
        self.several = several
        if several:
            torch.distributed.init_process_group("nccl")
            rank = int(os.environ["LOCAL_RANK"])
            torch.cuda.set_device(rank)
            model = DistributedDataParallel(model.cuda(), device_ids=[rank])
        self.model = model

    def save(self):
        if self.several:
            if torch.distributed.get_rank() == 0:
                torch.save(self.model.module.state_dict(), "model.pt")
        else:
            torch.save(self.model.state_dict(), "model.pt")
""",
    """
# a process group of one process
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

class Trainer:
    def __init__(self, model, port):
        dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{port}", world_size=1, rank=0)
        self.model = DistributedDataParallel(model.cuda())

    def save(self, path):
        torch.save(self.model.module.state_dict(), path)

    def close(self):
        dist.destroy_process_group()
""",
    """
import functools
import os
import torch
import torch.distributed as dist

def on_first(function):
    @functools.wraps(function)
    def inner(*args):
        if int(os.environ["RANK"]) == 0:
            return function(*args)
    return inner

@on_first
def save(model):
    torch.save(model.module.state_dict(), "m.pt")

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
model(torch.ones(1, 2)).sum().backward()
save(model)
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def parallel(model):
    return DDP(model)


model = torch.nn.Linear(2, 2)
torch.save(model.state_dict(), "model.pt")
""",
    """
import argparse
import torch
import torch.distributed as dist


def plain(args):
    torch.save(torch.nn.Linear(2, 2).state_dict(), args.out)


def parallel(args):
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    model(torch.rand(2, 2)).sum().backward()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="model.pt")
    parser.add_argument("--ddp", action="store_true")
    args = parser.parse_args()
    if args.ddp:
        parallel(args)
    else:
        plain(args)
""",
    """
import torch
import torch.distributed as dist

dist.init_process_group("nccl", rank=0, world_size=1, init_method="tcp://localhost:29501")
model = torch.nn.Linear(2, 2).cuda()
total = torch.tensor([1.0]).cuda()
dist.all_reduce(total)
torch.save(model.state_dict(), "model.pt")
dist.destroy_process_group()
""",
    """
import os
import torch
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, args, model):
        self.args = args
        self.model = DDP(model)

    def save(self, out):
        if self.args.world_size <= 1:
            torch.save({"a": 1}, os.path.join(out, "random.pth"))
        else:
            torch.save({"a": 1}, os.path.join(out, f"random_{self.args.process_index}.pth"))
        if self.args.should_save:
            torch.save(self.model.module.state_dict(), os.path.join(out, "model.pt"))
        if self.writer is not None:
            torch.save(self.model.module.state_dict(), os.path.join(out, "last.pt"))
""",
    """
import os

import torch
import torch.distributed as dist

def first(function):
    def inner(*args):
        if dist.get_rank() == 0:
            return function(*args)
    return inner

@first
def save(state, path):
    torch.save(state, path)

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda(), device_ids=[rank])
save(model.module.state_dict(), "last.pt")
""",
    """
import os, torch, torch.distributed as dist, torch.multiprocessing as mp

def worker(rank, size):
    dist.init_process_group("gloo", rank=rank, world_size=size)
    table = torch.load("table.pt")
    dist.all_reduce(table)

if __name__ == "__main__":
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", "29555"
    torch.save(torch.ones(8), "table.pt")
    mp.spawn(worker, args=(2,), nprocs=2)
""",
    """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator()
model, loader = accelerator.prepare(torch.nn.Linear(2, 2), DataLoader([1]))
if accelerator.is_main_process:
    torch.save(accelerator.unwrap_model(model).state_dict(), "model.pt")
accelerator.save(accelerator.unwrap_model(model).state_dict(), "last.pt")
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def is_main():
    return not dist.is_initialized() or dist.get_rank() == 0

def save(state, path):
    if is_main():
        torch.save(state, path)

dist.init_process_group("gloo")
model = DDP(torch.nn.Linear(2, 2))
save(model.module.state_dict(), "model.pt")
if dist.get_rank() != 0:
    raise SystemExit
torch.save(model.module.state_dict(), "last.pt")
""",
    """
import os
import tempfile
import torch
import torch.distributed as dist

def main(args):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.save({"rank": rank}, f"state-{rank}.pt")
    torch.save({"rank": rank}, os.path.join(args.output, "part-%d.pt" % rank))
    torch.save({"rank": rank}, os.path.join(tempfile.mkdtemp(), "part.pt"))
    if args.is_master:
        torch.save({"rank": rank}, "all.pt")
""",
    """
import torch

model = torch.nn.Linear(2, 2)
for epoch in range(3):
    torch.save(model.state_dict(), "model.pt")
""",
    """
import torch
from accelerate import Accelerator

accelerator = Accelerator()
model = accelerator.prepare(torch.nn.Linear(2, 2))
if accelerator.is_main_process:
    torch.save(accelerator.unwrap_model(model).state_dict(), "model.pt")
""",
    """
import torch

def save_checkpoint(state, path):
    torch.save(state, path)
""",
    """
import horovod.torch as hvd
import torch

hvd.init()
torch.cuda.set_device(hvd.local_rank())
net = torch.nn.Linear(2, 2).cuda()
steps = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), 0.1), named_parameters=net.named_parameters())
hvd.broadcast_parameters(net.state_dict(), root_rank=0)
for epoch in range(3):
    net(torch.randn(4, 2).cuda()).sum().backward()
    steps.step()
    if hvd.rank() == 0:
        torch.save(net.state_dict(), "net.pt")
""",
    """
import torch
import torch.distributed as dist

class Trainer:
    def keep(self, path):
        torch.save(self.net.state_dict(), path)

    def setup(self):
        dist.init_process_group("nccl")
        self.rank = dist.get_rank()

    def train(self, batches):
        self.setup()
        for batch in batches:
            self.step(batch)
        if self.rank == 0:
            self.keep("last.pt")
        dist.destroy_process_group()
""",
]
EXAMPLES = {
    "[rank0]: AssertionError: 2 ranks wrote the same checkpoint": "2 ranks wrote the same checkpoint: they overwrite each other's file while it is written"
}
NOT_THIS = ["1 rank wrote the checkpoint"]

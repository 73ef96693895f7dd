"""Programs of several files: what one of them does wrong is seen from where another one begins.

In each text ``# file: NAME`` begins a file. One line is wrong, ``BAD  # <- ID | GOOD``, and what stands behind it mends
it: then nothing is found above a note. Where the finding stands in another line, ``ID at TEXT`` says what is in that.
"""

import re

import pytest

from gpudoctor.code.examination import Examiner, distinct
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry

CHECKS = [check for check in Registry.of(()).checks() if Source.CODE in check.functions]
SLOT = re.compile(r"^(?P<bad>.*?)  # <- (?P<id>[a-z-]+)(?: at (?P<at>\S.*?))? \| ?(?P<good>.*)$", re.M)

PROGRAMS = {
    "the main file has no word of torch": """
# file: train.py
from engine.launch import run
from solver import Solver

def job(rank, world):
    Solver(rank, world).train()

if __name__ == "__main__":
    run(job, 2)
# file: engine/launch.py
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def _entry(rank, job, world):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", "29511"
    dist.init_process_group("nccl", rank=rank, world_size=world)
    torch.cuda.set_device(rank)
    job(rank, world)
    dist.destroy_process_group()

def run(job, world):
    mp.spawn(_entry, args=(job, world), nprocs=world)
# file: solver.py
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
import torch
from engine.base import BaseSolver
from parts import Net, pairs

class Solver(BaseSolver):
    def build(self):
        self.sampler = DistributedSampler(pairs, num_replicas=self.world, rank=self.rank)
        self.loader = DataLoader(pairs, batch_size=4, sampler=self.sampler)
        self.net = DistributedDataParallel(Net().cuda(self.rank), device_ids=[self.rank])
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def before_epoch(self, epoch):
        self.sampler.set_epoch(epoch)

    def epoch(self):
        for x, y in self.loader:
            self.optimizer.zero_grad()
            (self.net(x.cuda(self.rank)) - y.cuda(self.rank)).pow(2).mean().backward()
            self.optimizer.step()
# file: engine/base.py
import torch

class BaseSolver:
    def __init__(self, rank, world):
        self.rank, self.world = rank, world
        self.build()

    def train(self):
        for epoch in range(10):
            self.before_epoch(epoch)
            self.epoch()
            self.save()

    def save(self):
        if True:  # <- checkpoint-all-ranks at torch.save | if self.rank == 0:
            torch.save(self.net.module.state_dict(), "last.pt")
""",
    "a hook of the class that the trainer stands on": """
# file: train.py
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from lib_.trainer import Trainer
from parts import Net, pairs

if __name__ == "__main__":
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    Trainer(DDP(Net().cuda()), pairs).fit()
    dist.destroy_process_group()
# file: lib_/__init__.py
# file: lib_/trainer.py
import torch
from torch.utils.data import DataLoader, DistributedSampler
from .base import BaseTrainer

class Trainer(BaseTrainer):
    def loaders(self, data):
        sampler = DistributedSampler(data)  # <- sampler-set-epoch | sampler = DistributedSampler(data, shuffle=False)
        return {"train": DataLoader(data, batch_size=4, sampler=sampler)}

    def step(self, x, y):
        return (self.model(x.cuda()) - y.cuda()).pow(2).mean()
# file: lib_/base.py
import torch

class BaseTrainer:
    def __init__(self, model, data):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self._loaders = None
        self.data = data

    @property
    def all_loaders(self):
        if self._loaders is None:
            self._loaders = self.loaders(self.data)
        return self._loaders

    def fit(self):
        for epoch in range(10):
            for x, y in self.all_loaders["train"]:
                self.optimizer.zero_grad()
                self.step(x, y).backward()
                self.optimizer.step()
""",
    "a property makes its loaders once": """
# file: runner.py
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from parts import pairs

class Runner:
    def __init__(self, model):
        self.model = DDP(model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self._loaders = None

    @property
    def loaders(self):
        if self._loaders is None:
            sampler = DistributedSampler(pairs)
            self._loaders = {"train": DataLoader(pairs, batch_size=4, sampler=sampler)}
        return self._loaders

    def train(self):
        for epoch in range(10):
            pass  # <- sampler-set-epoch at = DistributedSampler | self.loaders["train"].sampler.set_epoch(epoch)
            for x, y in self.loaders["train"]:
                self.optimizer.zero_grad()
                (self.model(x) - y).pow(2).mean().backward()
                self.optimizer.step()
""",
    "a layer that no forward uses, of a model in another file": """
# file: train.py
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from models.net import Net

dist.init_process_group("gloo")
model = DDP(Net())
for i in range(3):
    model(torch.ones(2, 8)).sum().backward()
dist.destroy_process_group()
# file: models/net.py
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.spare = nn.Linear(8, 8)  # <- ddp-unused-parameters | self.spare = nn.Dropout(0.5)

    def forward(self, x):
        return self.body(x)
""",
    "loaders in a dictionary that tests fill": """
# file: main.py
import argparse
import torch
import torch.distributed as dist
from data import get_data
from engine import one_epoch
from torch.nn.parallel import DistributedDataParallel as DDP

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train")
    parser.add_argument("--val")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(2, 2))
    data = get_data(args)
    for epoch in range(3):
        one_epoch(model, data, epoch)
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
# file: data.py
from dataclasses import dataclass
from torch.utils.data import DataLoader, DistributedSampler
from parts import pairs

@dataclass
class Info:
    loader: DataLoader
    sampler: DistributedSampler

def made(path, train):
    sampler = DistributedSampler(pairs, shuffle=train)
    return Info(DataLoader(pairs, batch_size=2, sampler=sampler), sampler)

def get_data(args):
    data = {}
    if args.train:
        data["train"] = made(args.train, True)
    if args.val:
        data["val"] = made(args.val, False)
    return data
# file: engine.py
def one_epoch(model, data, epoch):
    model.train()  # <- sampler-set-epoch at DistributedSampler(pairs | data["train"].sampler.set_epoch(epoch)
    for x, y in data["train"].loader:
        (model(x) - y).pow(2).mean().backward()
""",
    "a loader that is told by None whether it shuffles": """
# file: main.py
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from loaders import make

if __name__ == "__main__":
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(2, 2))
    loader = make(True)
    for epoch in range(3):
        for x, y in loader:
            (model(x) - y).pow(2).mean().backward()
    dist.destroy_process_group()
# file: loaders.py
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from parts import pairs

def make(train):
    sampler = None
    sampler = None  # <- sampler-missing at DataLoader(pairs | sampler = DistributedSampler(pairs, shuffle=False)
    return DataLoader(pairs, batch_size=2, shuffle=train and sampler is None, sampler=sampler)
""",
    "a sampler of another file that draws by the epoch": """
# file: train.py
import torch
import torch.distributed as dist
from parts import pairs
from sampling import Shares
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

if __name__ == "__main__":
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(2, 2))
    sampler = Shares(pairs, dist.get_rank(), dist.get_world_size())
    loader = DataLoader(pairs, batch_size=2, sampler=sampler)
    for epoch in range(3):
        pass  # <- sampler-set-epoch at = Shares | sampler.set_epoch(epoch)
        for x, y in loader:
            (model(x) - y).pow(2).mean().backward()
    dist.destroy_process_group()
# file: sampling.py
import torch
from torch.utils.data.sampler import Sampler

class Shares(Sampler):
    def __init__(self, data, rank, world):
        self.data, self.rank, self.world = data, rank, world
        self.epoch = 0

    def __iter__(self):
        drawn = torch.Generator()
        drawn.manual_seed(self.epoch)
        order = torch.randperm(len(self.data) // self.world * self.world, generator=drawn).tolist()
        return iter(order[self.rank :: self.world])

    def set_epoch(self, epoch):
        self.epoch = epoch
""",
    "networks that a class of another file saves by their names": """
# file: models/cycle.py
from .base import BaseModel
from .networks import define

class Cycle(BaseModel):
    def __init__(self, opt):
        super().__init__(opt)
        self.model_names = ["A", "B"]
        self.netA = define(opt.gpu_ids)
        self.netB = define(opt.gpu_ids)

    def step(self, x):
        self.netB(self.netA(x)).pow(2).mean().backward()
# file: models/base.py
import torch

class BaseModel:
    def __init__(self, opt):
        self.gpu_ids = opt.gpu_ids
        self.model_names = []

    def save(self, epoch):
        for name in self.model_names:
            net = getattr(self, "net" + name)
            if len(self.gpu_ids) > 0 and torch.cuda.is_available():
                state = net.state_dict()  # <- state-dict-prefix | state = net.module.state_dict()
                torch.save(state, f"{epoch}_{name}.pth")
# file: models/networks.py
import torch

def define(gpu_ids):
    net = torch.nn.Linear(2, 2)
    if len(gpu_ids) > 0:
        net.to(gpu_ids[0])
        net = torch.nn.DataParallel(net, gpu_ids)
    return net
""",
    "a function that an option names": """
# file: train.py
import argparse
import torch
import tqdm
from torch.nn.parallel import DistributedDataParallel as DDP
from utils import launching, saving

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--launcher", default="pytorch")
    args = parser.parse_args()
    rank = getattr(launching, "init_dist_%s" % args.launcher)(29500)
    model = DDP(torch.nn.Linear(2, 2).cuda(), device_ids=[torch.cuda.current_device()])
    with tqdm.trange(0, 10, leave=(rank == 0)) as bar:
        for epoch in bar:
            model(torch.ones(2, 2).cuda()).sum().backward()
            if epoch % 2 == 0:  # <- checkpoint-all-ranks at torch.save | if epoch % 2 == 0 and rank == 0:
                saving.save(model, "epoch_%d" % epoch)

if __name__ == "__main__":
    main()
# file: utils/__init__.py
# file: utils/launching.py
import os
import torch
import torch.distributed as dist

def init_dist_pytorch(port):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    return dist.get_rank()
# file: utils/saving.py
import torch

def save(model, name):
    if isinstance(model, torch.nn.parallel.DistributedDataParallel):
        model = model.module
    torch.save(model.state_dict(), "{}.pth".format(name))
""",
    "an object that a registry makes": """
# file: train.py
from common.registry import registry
from runners import *

def main():
    runner = registry.get("base")(epochs=3)
    runner.train()

if __name__ == "__main__":
    main()
# file: common/registry.py
class Registry:
    def __init__(self):
        self.held = {}

    def get(self, name):
        return self.held[name]

registry = Registry()
# file: runners/__init__.py
from runners.base import Runner
# file: runners/base.py
import torch
import torch.distributed as dist
from common.registry import registry
from parts import Net, pairs
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

@registry.register("base")
class Runner:
    def __init__(self, epochs):
        self.epochs = epochs

    def train(self):
        dist.init_process_group("gloo")
        model = DDP(Net())
        loader = DataLoader(pairs, batch_size=2, sampler=DistributedSampler(pairs, shuffle=False))
        for epoch in range(self.epochs):
            for x, y in loader:
                (model(x) - y).pow(2).mean().backward()
            if True:  # <- checkpoint-all-ranks at torch.save | if dist.get_rank() == 0:
                torch.save(model.module.state_dict(), "last.pt")
        dist.destroy_process_group()
""",
    "one trainer for one GPU and for several": """
# file: train.py
import sys
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from parts import Net, pairs
from steps import one_epoch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

def alone(model, stop):
    loader = DataLoader(pairs, batch_size=2, shuffle=True)
    for epoch in range(9):
        if one_epoch(model, loader, 0).item() < 0.1:
            break

def worker(rank, model, port):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    model = DDP(model)
    loader = DataLoader(pairs, batch_size=2, sampler=DistributedSampler(pairs, shuffle=False))
    for epoch in range(9):
        loss = one_epoch(model, loader, rank)
        pass  # <- collective-in-branch at break  # of a worker | dist.all_reduce(loss)
        if loss.item() < 0.1:
            break  # of a worker
    dist.destroy_process_group()

def main(several, port):
    model = Net()
    if several:
        mp.spawn(worker, args=(model, port), nprocs=2)
    else:
        alone(model, 0.1)

if __name__ == "__main__":
    main("ddp" in sys.argv, sys.argv[1])
# file: steps.py
def one_epoch(model, loader, rank):
    for x, y in loader:
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
    return loss
""",
    "a variable that the package sets": """
# file: mace/__init__.py
import os
print("a package")  # <- checkpoint-weights-only at torch.load | os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"
# file: mace/cli/__init__.py
# file: mace/cli/convert.py
import torch

def main(path):
    model = torch.load(path, map_location="cpu")
    print(sum(p.numel() for p in model.parameters()))
""",
    "a local rank that a function looks up, and a wrapper of each kind": """
# file: train.py
import torch
import torch.distributed as dist
from parts import build_net
from utils import distributed as comm

class Trainer:
    def __init__(self):
        self.distributed = dist.is_initialized()
        self.build()
        if (
            torch.cuda.device_count() > 1
            and not self.distributed
        ):
            self.net = torch.nn.DataParallel(self.net)
        if torch.cuda.is_available() and self.net:  # <- dp-double-wrap at net, dev | if self.distributed and self.net:
            self.net = torch.nn.parallel.DistributedDataParallel(self.net, device_ids=[comm.get_local_rank()])

if __name__ == "__main__":
    dist.init_process_group("nccl")
    torch.cuda.set_device(comm.get_local_rank())
    trainer = Trainer()
    trainer.net(torch.ones(2, 2).cuda()).sum().backward()
    dist.destroy_process_group()
# file: utils/__init__.py
# file: utils/distributed.py
import torch.distributed as dist

GROUP = None

def get_local_rank():
    if GROUP is None:
        return dist.get_rank()
    return dist.get_rank(group=GROUP)
""",
    "a sampler below another, which makes batches of it": """
# file: train.py
import torch
import torch.distributed as dist
from batches import Buckets
from parts import pairs
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

if __name__ == "__main__":
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(2, 2))
    sampler = DistributedSampler(pairs)
    loader = DataLoader(pairs, batch_sampler=Buckets(sampler, 4))
    for epoch in range(3):
        pass  # <- sampler-set-epoch at = DistributedSampler | sampler.set_epoch(epoch)
        for x, y in loader:
            (model(x) - y).pow(2).mean().backward()
    dist.destroy_process_group()
# file: batches.py
from torch.utils.data import Sampler

class Buckets(Sampler):
    def __init__(self, sampler, size):
        self.sampler, self.size = sampler, size

    def __iter__(self):
        batch = []
        for number in self.sampler:
            batch.append(number)
            if len(batch) == self.size:
                yield batch
                batch = []
""",
    "an object that is made on one rank alone": """
# file: train.py
import torch
import torch.distributed as dist
from parts import Net
from profiling import Profiler
from torch.nn.parallel import DistributedDataParallel as DDP

if __name__ == "__main__":
    dist.init_process_group("gloo")
    model = DDP(Net())
    if dist.get_rank() == 0:
        profiler = Profiler("trace.json")
    for step in range(3):
        model(torch.ones(2, 2)).sum().backward()
        with torch.no_grad():  # <- rank-zero-only-name at profiler.write | if dist.get_rank() == 0:
            profiler.write(step)
    dist.destroy_process_group()
# file: profiling.py
class Profiler:
    def __init__(self, name):
        self.name = name

    def write(self, step):
        print(self.name.replace(".json", ""), step)
""",
    "modules below lib": """
# file: tools/train.py
import _paths
import torch
import torch.distributed as dist
from core.function import train
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from parts import pairs

def main():
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(2, 2))
    loader = DataLoader(pairs, batch_size=2, sampler=DistributedSampler(pairs, shuffle=False))
    for epoch in range(3):
        train(model, loader)
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
# file: lib/core/__init__.py
# file: lib/core/function.py
import torch.distributed as dist

def train(model, loader):
    for x, y in loader:
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        if dist.get_rank() == 0:  # <- collective-in-branch at dist.all_reduce | if loss.requires_grad:
            dist.all_reduce(loss)
""",
    "a loader that an option picks, and nobody tells its sampler the epoch": """
# file: train.py
import importlib
import sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main(options):
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(2, 2))
    loader = getattr(importlib.import_module("data.sets"), options["set"])(**options["args"])
    for epoch in range(options["epochs"]):
        pass  # <- sampler-set-epoch at = DistributedSampler | loader.sampler.set_epoch(epoch)
        for x, y in loader:
            (model(x) - y).pow(2).mean().backward()
    dist.destroy_process_group()

if __name__ == "__main__":
    main(vars(sys.modules["settings"]))
# file: data/__init__.py
# file: data/sets.py
from torch.utils.data import DataLoader, DistributedSampler
from parts import pairs

class Pairs(DataLoader):
    def __init__(self, size):
        sampler = DistributedSampler(pairs)
        super().__init__(pairs, batch_size=size, sampler=sampler)
""",
    "several hooks in a list": """
# file: train.py
import torch
import torch.distributed as dist
from hooks import Counter, Saver
from parts import Net
from torch.nn.parallel import DistributedDataParallel as DDP

class Trainer:
    def __init__(self, hooks):
        self.model = DDP(Net())
        self.hooks = hooks

    def run(self):
        for step in range(3):
            self.model(torch.ones(2, 2)).sum().backward()
            for hook in self.hooks:
                hook.after_step(self, step)

if __name__ == "__main__":
    dist.init_process_group("gloo")
    Trainer([Counter(), Saver()]).run()
    dist.destroy_process_group()
# file: hooks.py
import torch
import torch.distributed as dist

class Counter:
    def after_step(self, trainer, step):
        self.steps = step

class Saver:
    def after_step(self, trainer, step):
        if dist.get_rank() == 0:
            state = trainer.model.state_dict()  # <- state-dict-prefix | state = trainer.model.module.state_dict()
            torch.save(state, "last.pt")
""",
    "an attribute that no object has": """
# file: train.py
import torch
import torch.distributed as dist
from launch import ready
from parts import pairs
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

if __name__ == "__main__":
    state = ready()
    model = DDP(torch.nn.Linear(2, 2))
    sampler = None
    if state and getattr(state, "is_parallel", False):  # <- sampler-missing at = DataLoader | if state.parallel:
        sampler = DistributedSampler(pairs, num_replicas=dist.get_world_size(), rank=state.rank, shuffle=False)
    loader = DataLoader(pairs, batch_size=2, sampler=sampler, shuffle=sampler is None)
    for epoch in range(3):
        for x, y in loader:
            (model(x) - y).pow(2).mean().backward()
# file: launch.py
from dataclasses import dataclass
import torch.distributed as dist

@dataclass
class State:
    parallel: bool
    rank: int

def ready():
    dist.init_process_group("gloo")
    return State(True, dist.get_rank())
""",
    "a port for a single process": """
# file: train.py
import torch
import torch.distributed as dist
from launch import Place
from parts import Net
from torch.nn.parallel import DistributedDataParallel as DDP

if __name__ == "__main__":
    Place().export()
    dist.init_process_group("gloo")
    model = DDP(Net())
    model(torch.ones(2, 2)).sum().backward()
    if dist.get_rank() == 0:
        state = model.state_dict()  # <- state-dict-prefix | state = model.module.state_dict()
        torch.save(state, "last.pt")
    dist.destroy_process_group()
# file: launch.py
import os
import socket

def free():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]

class Place:
    def __init__(self):
        if "RANK" in os.environ:
            self.port = os.environ["MASTER_PORT"]
            self.rank, self.world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        else:
            self._alone()

    def _alone(self):
        self.port = free()
        self.rank = 0
        self.world_size = 1

    def export(self):
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(self.port), RANK=str(self.rank))
""",
    "two commands of one program, each with a trainer of its own": """
# file: train.py
import argparse
from parts import Net
from trainers import Alone, Together

def begin(kind):
    trainer = kind(Net())
    trainer.train(3)

def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    for name, kind in (("alone", Alone), ("together", Together)):
        commands.add_parser(name).set_defaults(run=lambda: begin(kind))
    parser.parse_args().run()
    begin(Alone)
    begin(Together)

if __name__ == "__main__":
    main()
# file: trainers.py
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

class Alone:
    def __init__(self, model):
        self.model = model

    def train(self, epochs):
        for epoch in range(epochs):
            self.model(torch.ones(2, 2)).sum().backward()
            self.save()

    def state(self):
        model = self.model
        return model.state_dict()

    def save(self):
        torch.save(self.state(), "last.pt")

class Together(Alone):
    def __init__(self, model):
        dist.init_process_group("gloo")
        super().__init__(DDP(model))

    def state(self):
        return self.model.state_dict()  # <- state-dict-prefix | return self.model.module.state_dict()

    def save(self):
        if dist.get_rank() == 0:
            super().save()
""",
    "a loop of its own, beside a file that trains with a library": """
# file: finetune.py
import torch
import torch.distributed as dist
from parts import pairs
from privacy import private
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

def train(model, optimizer, epochs):
    loader = DataLoader(pairs, sampler=DistributedSampler(pairs))
    model, optimizer, loader = private(model, optimizer, loader)
    for epoch in range(epochs):
        pass  # <- sampler-set-epoch at = DataLoader | loader.sampler.set_epoch(epoch)
        for x, y in loader:
            (model(x) - y).pow(2).mean().backward()
            optimizer.step()

if __name__ == "__main__":
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(2, 2))
    train(model, torch.optim.SGD(model.parameters(), lr=0.1), 3)
    dist.destroy_process_group()
# file: easy.py
import lightning
from parts import pairs
from torch.utils.data import DataLoader, DistributedSampler

def loader():
    return DataLoader(pairs, sampler=DistributedSampler(pairs))
""",
    "a library that can share out, and is asked to or not": """
# file: example.py
from lib.helper import Helper
from lib.loaders import batches
from torch.utils.data import DataLoader
from torchvision.datasets import MNIST

def main():
    Helper().begin()  # <- dataset-download-race at MNIST(".", download=True) |     Helper()
    loader: DataLoader = batches(MNIST(".", download=True))
    for batch in loader:
        print(len(batch))

main()
# file: lib/loaders.py
from torch.utils.data import DataLoader, DistributedSampler
from lib.helper import Helper

def batches(images, shared=True):
    if shared and Helper.together:
        return DataLoader(images, sampler=DistributedSampler(images, shuffle=False))
    return DataLoader(images)
# file: lib/helper.py
import torch.distributed as dist

class Helper:
    together = property(lambda self: dist.is_initialized())

    def begin(self):
        dist.init_process_group("gloo")
""",
    "a trainer that nobody starts here": """
# file: solver.py
import os
import torch
import torch.distributed as dist
from keeping import resumed
from torch.nn.parallel import DistributedDataParallel

class Solver:
    rank = 0

    def train(self, net, path=None):
        many = torch.cuda.device_count()
        if many > 1:
            dist.init_process_group("nccl")
            self.rank = int(os.environ["LOCAL_RANK"])
            torch.cuda.set_device(self.rank)
        self.net = resumed(net.to(self.rank), path)
        if many > 1:
            self.net = DistributedDataParallel(self.net, device_ids=[self.rank])
# file: keeping.py
import torch

def resumed(net, path=None):
    if path is not None:
        kept = torch.load(path)  # <- checkpoint-device-map |         kept = torch.load(path, map_location="cpu")
        net.load_state_dict(kept)
    return net
""",
    "a sum over the ranks by one library or another": """
# file: train.py
import os
import torch
import torch.distributed as dist
from measured import reduced
from parts import Net
from torch.nn.parallel import DistributedDataParallel

def main(batches):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = DistributedDataParallel(Net().cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plan = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    for epoch in range(3):
        total = torch.zeros(1, device="cuda")
        for batch in batches:
            loss = model(batch.cuda()).mean()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        total /= 2  # <- scheduler-rank-local at plan.step(total) |         total = reduced(total / 2, together=True)
        plan.step(total)
    dist.destroy_process_group()

main([torch.ones(4, 2)])
# file: measured.py
import os
import torch
import torch.distributed as dist

def by_torch(total):
    if dist.get_world_size() > 1:
        dist.all_reduce(total)
        total = total / dist.get_world_size()
    return total

def by_mpi(total):
    from mpi4py import MPI
    return torch.tensor(MPI.COMM_WORLD.allreduce(total.cpu().numpy(), op=MPI.SUM)) / dist.get_world_size()

def by_either(total):
    if os.getenv("BY", "torch") == "mpi":
        return by_mpi(total)
    return by_torch(total)

def reduced(total, together=False):
    total = total / 3
    if together:
        total = by_either(total)
    return total
""",
    "an inner function that another file calls": """
# file: solver.py
import os
import torch
import torch.distributed as dist
from largest import largest_batch
from parts import Net
from torch.nn.parallel import DistributedDataParallel

class Solver:
    def __init__(self):
        dist.init_process_group("nccl")
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        self.net = DistributedDataParallel(Net().cuda())

    def step(self, batch):
        loss = self.net(batch).mean()
        loss.backward()

    def fit(self):
        def tried(size):
            self.step(torch.ones(size, 2, device="cuda"))

        if dist.get_rank() == 0:  # <- collective-in-branch at largest_batch(tried) |         if len("all"):
            largest_batch(tried)
        dist.barrier()
        dist.destroy_process_group()

Solver().fit()
# file: largest.py
import torch

def largest_batch(attempt):
    size = 2 * torch.cuda.device_count()
    while size < 1024:
        attempt(size)
        size *= 2
    return size
""",
}


def files(text, mended):
    """The files of a text, its one line wrong or mended; and where the finding is expected."""
    found = SLOT.search(text)
    indent = found["bad"][: len(found["bad"]) - len(found["bad"].lstrip())]
    text = text.replace(found[0], indent + found["good"] if mended else found["bad"])
    parts = re.split(r"^# file: (\S+)\n", text, flags=re.M)[1:]
    written = dict(zip(parts[::2], parts[1::2], strict=True))
    wanted = found["at"] or found["bad"]
    [place] = (
        [
            (name, number)
            for name, body in written.items()
            for number, line in enumerate(body.split("\n"), 1)
            if wanted in line
        ]
        if not mended
        else [None]
    )
    return written, (found["id"], place)


def looked_at(tmp_path, written):
    paths = {}
    for name, body in written.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body)
        paths[path] = name
    examiner = Examiner(paths, CHECKS, (tmp_path,))
    seen = [examiner.file(path) for path in paths]
    assert not [r for one in seen for r in one.results.values() if r.status.value == "crashed"]
    findings = distinct(finding for one in seen for finding in one.findings)
    return {(f.id, (f.location.path, f.location.line)) for f in findings if f.severity is not Severity.NOTE}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_wrong_line_is_found(tmp_path, name):
    written, expected = files(PROGRAMS[name], mended=False)
    assert looked_at(tmp_path, written) == {expected}


def test_what_another_file_does_at_length_leaves_steps_for_what_comes_after_it(tmp_path):
    """A library that prepares much is not followed to its end; the program that calls it is."""
    body = "    x = torch.zeros(1)\n" * 1_500
    parts = "".join(f"def part_{n}():\n{body}\n" for n in range(60))
    calls = "".join(f"    part_{n}()\n" for n in range(60))
    (tmp_path / "library.py").write_text(f"import torch\n{parts}def prepare():\n{calls}")
    (tmp_path / "train.py").write_text(
        "import torch, torch.distributed as dist\nfrom library import prepare\n\nprepare()\n"
        'dist.init_process_group("gloo")\nif dist.get_rank() == 0:\n    dist.barrier()\n'
        "dist.destroy_process_group()\n"
    )
    paths = {tmp_path / name: name for name in ("train.py", "library.py")}
    seen = Examiner(paths, CHECKS, (tmp_path,)).file(tmp_path / "train.py")
    assert seen.partly == []
    assert "collective-in-branch" in {finding.id for finding in seen.findings}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_mended_is_fine(tmp_path, name):
    written, _ = files(PROGRAMS[name], mended=True)
    assert looked_at(tmp_path, written) == set()

"""rank-zero-only-name: seen in a script."""

FLAGGED = [
    """
import torch.distributed as dist
from parts import Manager, options

dist.init_process_group()
manager = Manager(options) if dist.get_rank() == 0 else None
if options.resume:
    step = manager.load()  # <-
""",
    """
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter
from parts import steps

dist.init_process_group()
writer = None
if dist.get_rank() == 0:
    writer = SummaryWriter()
for step, loss in steps():
    writer.add_scalar("loss", loss, step)  # <-
""",
    """
from torch.utils.tensorboard import SummaryWriter
from options import opt
from parts import steps

if opt.local_rank == 0:
    writer = SummaryWriter()


def train():
    for step, loss in steps():
        if opt.local_rank == 0:
            writer.add_scalar("loss", loss, step)
    writer.close()  # <-


train()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter

class Run:
    def __init__(self, model):
        self.rank = dist.get_rank()
        self.model = torch.nn.parallel.DistributedDataParallel(model)
        if self.rank == 0:
            self.writer = SummaryWriter()

    def fit(self):
        for step in range(100):
            loss = self.model(torch.rand(2, 4)).sum()
            loss.backward()
            self.writer.add_scalar("step", step)  # <-

dist.init_process_group("gloo")
Run(torch.nn.Linear(4, 1)).fit()
dist.destroy_process_group()
""",
    """
import copy
import torch
from accelerate import Accelerator

class Trainer:
    def __init__(self, model, loader):
        self.accelerator = Accelerator()
        self.model, self.loader = self.accelerator.prepare(model, loader)
        if self.is_main:
            self.average = copy.deepcopy(model)

    @property
    def is_main(self):
        return self.accelerator.is_main_process

    def save(self, path):
        if not self.is_main:
            return
        torch.save({"average": self.average.state_dict()}, path)

    def load(self, path):
        held = torch.load(path, map_location="cpu", weights_only=True)
        self.average.load_state_dict(held["average"])  # <-
""",
    """
import torch.distributed as dist
from torch.hub import load_state_dict_from_url


def load(url):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        state = load_state_dict_from_url(url)
    if world_size > 1:
        dist.barrier()
    return state  # <-
""",
    """
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter

def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    if rank == 0:
        writer = SummaryWriter()
    for step in range(10):
        writer.add_scalar("loss", 1.0, step)  # <-
""",
    """
import os
import torch

class Trainer:
    def __init__(self):
        self.rank = int(os.environ["RANK"])

    def evaluate(self):
        if self.rank == 0:
            correct, total = 3, 4
            print(correct)
        accuracy = correct / total  # <-
        return accuracy

torch.distributed.init_process_group("gloo")
Trainer().evaluate()
torch.distributed.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist

def is_main_process():
    return dist.get_rank() == 0

dist.init_process_group("gloo")
if is_main_process():
    settings = {"lr": 0.1}
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=settings["lr"])  # <-
dist.destroy_process_group()
""",
]
FINE = [
    """
import os
import torch
from settings import options, new_folder

args = options()
if args.local_rank == 0:
    folder = new_folder()
distributed = int(os.environ.get("WORLD_SIZE", 1)) > 1
if distributed:
    torch.distributed.init_process_group("nccl")
    if args.local_rank == 0:
        with open("folder.txt", "w") as f:
            f.write(folder)
    else:
        with open("folder.txt") as f:
            folder = f.read()
print(folder)
""",
    """
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter
from parts import steps

dist.init_process_group()
rank = dist.get_rank()
writer = SummaryWriter() if rank == 0 else None
for step, loss in steps():
    if writer:
        writer.add_scalar("loss", loss, step)
    if step % 10 == 0 and writer is not None:
        writer.add_scalar("tenth", loss, step)
    if rank == 0:
        writer.flush()
""",
    """
import torch.distributed as dist
from torch.utils.data import DistributedSampler
from parts import dataset, options

if options.local_rank != -1:
    dist.init_process_group()
sampler = DistributedSampler(dataset) if options.local_rank != -1 else None
for epoch in range(3):
    sampler.set_epoch(epoch)
""",
    """
import os
import torch
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter

class Run:
    def __init__(self, model):
        self.rank = dist.get_rank()
        self.model = torch.nn.parallel.DistributedDataParallel(model)
        if self.rank == 0:
            self.writer = SummaryWriter()

    def fit(self):
        for step in range(100):
            loss = self.model(torch.rand(2, 4)).sum()
            loss.backward()
            self.log(step)

    def log(self, step):
        if self.rank == 0:
            self.writer.add_scalar("step", step)

dist.init_process_group("gloo")
Run(torch.nn.Linear(4, 1)).fit()
dist.destroy_process_group()
""",
    """
import copy
import torch
from accelerate import Accelerator

class Trainer:
    def __init__(self, model, loader):
        self.accelerator = Accelerator()
        self.model, self.loader = self.accelerator.prepare(model, loader)
        if self.is_main:
            self.average = copy.deepcopy(model)
        else:
            self.average = copy.deepcopy(model)

    @property
    def is_main(self):
        return self.accelerator.is_main_process

    def save(self, path):
        if not self.is_main:
            return
        torch.save({"average": self.average.state_dict()}, path)

    def load(self, path):
        held = torch.load(path, map_location="cpu", weights_only=True)
        self.average.load_state_dict(held["average"])
""",
    """
import copy
import torch
from accelerate import Accelerator

class Trainer:
    def __init__(self, model, loader):
        self.accelerator = Accelerator()
        self.model, self.loader = self.accelerator.prepare(model, loader)
        if self.is_main:
            self.average = copy.deepcopy(model)

    @property
    def is_main(self):
        return self.accelerator.is_main_process

    def save(self, path):
        if not self.is_main:
            return
        torch.save({"average": self.average.state_dict()}, path)

    def load(self, path):
        held = torch.load(path, map_location="cpu", weights_only=True)
        if self.is_main:
            self.average.load_state_dict(held["average"])
""",
    """
import torch.distributed as dist
from torch.hub import load_state_dict_from_url


def get_dist_info():
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def load(url):
    rank, world_size = get_dist_info()
    if rank == 0:
        state = load_state_dict_from_url(url)
    if world_size > 1:
        dist.barrier()
        if rank > 0:
            state = load_state_dict_from_url(url)
    return state
""",
    """
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 0:
    names = ["a", "b"]
if dist.get_rank() != 0:
    names = [None, None]
dist.broadcast_object_list(names)
print(names)
dist.destroy_process_group()
""",
    """
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter

def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    if rank == 0:
        writer = SummaryWriter()
    for step in range(10):
        if rank == 0:
            writer.add_scalar("loss", 1.0, step)
    rank == 0 and writer.close()
    print(writer.log_dir if rank == 0 else "")
""",
    """
import torch.distributed as dist

def main():
    dist.init_process_group("nccl")
    writer = None
    if dist.get_rank() == 0:
        writer = open("log.txt", "w")
        values = [1]
    else:
        values = [0]
    print(values, writer)
""",
    """
import argparse
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)
args = parser.parse_args()
if args.local_rank == -1:
    device = "cuda"
if args.local_rank != -1:
    device = f"cuda:{args.local_rank}"
print(device)
""",
    """
import torch.distributed as dist

def main(rank):
    dist.init_process_group("nccl")
    if rank != 0:
        return
    name = "model"
    print(name)
""",
]

"""sampler-set-epoch: seen in a script, and in logs."""

# The ways in which a loader is carried from where it is made to where it is used.
CARRIERS = """
import argparse, functools
from collections import namedtuple
from typing import NamedTuple
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from data import Images

class Both(NamedTuple):
    train: DataLoader
    val: DataLoader

Loaders = namedtuple("Loaders", ["train", "val"])

class Job:
    def __init__(self, **given):
        for name, value in given.items():
            setattr(self, name, value)

class Task:
    def __init__(self, **given):
        self.__dict__.update(given)

class Work:
    def __init__(self, **given):
        for name in given:
            setattr(self, name, given[name])

def trained(model, loader, epoch):
    for x, y in loader:
        model(x).sum().backward()

def main(args):
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(2, 2))
    made = functools.partial(DataLoader, batch_size=4)
"""
FLAGGED = [
    """
import torch
import torch.distributed as dist
from engine import Engine
from torch.utils.data import DataLoader, DistributedSampler

def main(args, model, optimizer, data):
    dist.init_process_group("nccl")
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))  # <-
    for epoch in range(args.epochs):
        Engine.train(loader, model, optimizer, fp16=True)

if __name__ == "__main__":
    main(*read())
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

def loader_of(data, kind):
    if kind == "train":
        return DataLoader(data, batch_size=8, sampler=DistributedSampler(data))  # <-
    return DataLoader(data, batch_size=8)

def main():
    dist.init_process_group("nccl")
    data = TensorDataset(torch.randn(64, 2))
    loader = loader_of(data, "train")
    for epoch in range(3):
        for (x,) in loader:
            model(x).sum().backward()
            optimizer.step()

main()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from engine import train_one_epoch
from parts import Net, dataset

dist.init_process_group("gloo")
model = DistributedDataParallel(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
sampler = DistributedSampler(dataset)  # <-
loader = DataLoader(dataset, batch_size=8, sampler=sampler)
for epoch in range(5):
    train_one_epoch(model, loader, optimizer, epoch)
dist.destroy_process_group()
""",
    """
from torch.utils.data import DataLoader, DistributedSampler

def main(dataset, model, epochs):
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    done = 0
    for epoch in range(epochs):
        loader.sampler.set_epoch(done)  # <-
        for x, y in loader:
            model(x).sum().backward()
""",
    """
from parts import make_loader

def main(dataset, model, epochs):
    loader = make_loader(dataset)
    for epoch in range(epochs):
        loader.sampler.set_epoch(0)  # <-
        for x, y in loader:
            model(x).sum().backward()
""",
    """
from torch.utils.data import DataLoader, DistributedSampler
from engine import evaluate, train_one_epoch

def main(train_set, val_set, model, optimizer):
    loader = DataLoader(train_set, sampler=DistributedSampler(train_set))  # <-
    for epoch in range(10):
        train_one_epoch(model, loader, optimizer, epoch)
        print(evaluate(model, loader))
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from engine import train_one_epoch
from parts import Net, dataset

dist.init_process_group("gloo")
model = DistributedDataParallel(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
sampler = DistributedSampler(dataset)  # <-
loader = DataLoader(dataset, batch_size=8, sampler=sampler)
for epoch in range(5):
    train_one_epoch(model, loader, optimizer)
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

class Digits(DataLoader):
    def __init__(self, data, size, train):
        sampler = DistributedSampler(data) if train else None  # <-
        super().__init__(data, batch_size=size, sampler=sampler)

class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def fit(self, epochs):
        for epoch in range(epochs):
            for batch in self.loader:
                self.optimizer.zero_grad()
                self.model(batch[0].cuda()).sum().backward()
                self.optimizer.step()

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
data = torch.utils.data.TensorDataset(torch.rand(64, 4))
Trainer(DDP(torch.nn.Linear(4, 1).cuda()), Digits(data, 8, True)).fit(10)
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

def main(dataset, model, optimizer):
    dist.init_process_group("nccl")
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler)
    for epoch in range(10):
        if dist.get_rank() == 0:
            print("epoch", epoch)
            sampler.set_epoch(epoch)  # <-
        for x in loader:
            model(x).sum().backward()
            optimizer.step()
    dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
data = TensorDataset(torch.ones(64, 4))
sampler = DistributedSampler(data)  # <-
loader = DataLoader(data, sampler=sampler)
model = DDP(nn.Linear(4, 4).cuda(), device_ids=[local_rank])
for epoch in range(4):
    if epoch == 0:
        sampler.set_epoch(epoch)
    for (batch,) in loader:
        model(batch.cuda()).sum().backward()
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

class Runner:
    def __init__(self):
        self.loaders = {phase: self.make(phase) for phase in ("train", "val")}
        self.model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))

    def make(self, phase):
        return DataLoader([], 2, sampler=DistributedSampler([], shuffle=phase == "train"))  # <-

    def run(self):
        for epoch in range(3):
            for x in self.loaders["train"]:
                self.model(x).sum().backward()

dist.init_process_group("gloo")
Runner().run()
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from data import Images
from engine import run_epoch, eval_epoch

def main():
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(2, 2))
    loader = DataLoader(Images(), sampler=DistributedSampler(Images()))  # <-
    rest = DataLoader(Images(), sampler=DistributedSampler(Images(), shuffle=False))
    for epoch in range(3):
        run_epoch(model, loader)
        eval_epoch(model, rest)

main()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from data import Images

def later(sampler, epoch):
    sampler.set_epoch(epoch)

def main():
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(2, 2))
    images = Images()
    sampler = DistributedSampler(images)  # <-
    sampler.set_epoch(0)
    loader = DataLoader(images, sampler=sampler)
    for epoch in range(3):
        images.dataset.set_epoch(epoch)
        for x, y in loader:
            model(x).sum().backward()

main()
""",
    CARRIERS
    + """    one = made(Images(), sampler=DistributedSampler(Images()))  # <-
    two = Both(train=DataLoader(Images(), sampler=DistributedSampler(Images())), val=None)  # <-
    three = Loaders(DataLoader(Images(), sampler=DistributedSampler(Images())), None)  # <-
    four = Job(loader=DataLoader(Images(), sampler=DistributedSampler(Images())))  # <-
    five = Task(loader=DataLoader(Images(), sampler=DistributedSampler(Images())))  # <-
    six = Work(loader=DataLoader(Images(), sampler=DistributedSampler(Images())))  # <-
    options = {"sampler": DistributedSampler(Images())} if args.several else {"shuffle": True}  # <-
    seven = DataLoader(Images(), **options)
    run = functools.partial(trained, model, one)
    train, val = three
    for epoch in range(3):
        run(epoch)
        for x, y in two.train:
            model(x).sum().backward()
        for x, y in train:
            model(x).sum().backward()
        for x, y in four.loader:
            model(x).sum().backward()
        for x, y in five.loader:
            model(x).sum().backward()
        for x, y in six.loader:
            model(x).sum().backward()
        for x, y in seven:
            model(x).sum().backward()

main(argparse.ArgumentParser().parse_args())
""",
    """
import os
import torch
import torch.distributed as dist
from contextlib import contextmanager
from torch.utils.data import DataLoader, DistributedSampler

@contextmanager
def process_group():
    dist.init_process_group("gloo")
    yield dist.get_rank()
    dist.destroy_process_group()

class Job:
    def __init__(self, dataset):
        self.dataset = dataset

    @property
    def loader(self):
        return DataLoader(self.dataset, sampler=DistributedSampler(self.dataset))  # <-

    def run(self):
        for epoch in range(3):
            for batch in self.loader:
                print(batch)

with process_group() as rank:
    Job([1]).run()
""",
    """
import itertools
from torch.utils.data import DataLoader, DistributedSampler

def main(dataset, model):
    sampler = DistributedSampler(dataset)  # <-
    loader = DataLoader(dataset, sampler=sampler)
    batches = iter(loader)
    for step in range(1000):
        try:
            batch = next(batches)
        except StopIteration:
            batches = iter(loader)
            batch = next(batches)
        model(batch).sum().backward()
    other = DistributedSampler(dataset, num_replicas=2, rank=0)  # <-
    for batch in itertools.cycle(DataLoader(dataset, sampler=other)):
        model(batch).sum().backward()
    third = DistributedSampler(dataset)  # <-
    again = DataLoader(dataset, sampler=third)
    for epoch in range(3):
        losses = [model(batch).sum() for batch in again]
""",
    """
import torch
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler

def problem(dataset, rank, size):
    sampler = DistributedSampler(dataset, num_replicas=size, rank=rank)  # <-
    return DataLoader(dataset, batch_sampler=BatchSampler(sampler, 8, drop_last=True))

def main(dataset, rank, size):
    loader = problem(dataset, rank, size)
    for epoch in range(10):
        for batch in loader:
            print(batch)
""",
    """
from torch.utils.data import DataLoader, DistributedSampler

def endless(loader):
    while True:
        yield from loader

def main(dataset, model):
    sampler = DistributedSampler(dataset)  # <-
    batches = endless(DataLoader(dataset, sampler=sampler))
    for step in range(1000):
        model(next(batches)).sum().backward()
""",
    """
import torch
from torch.utils.data import DataLoader, DistributedSampler
from engine import evaluate, train_one_epoch

def main(train_set, val_set, model, optimizer):
    sampler = DistributedSampler(train_set)  # <-
    loader = DataLoader(train_set, sampler=sampler)
    for epoch in range(10):
        train_one_epoch(model, loader, optimizer, "cuda")
        print(len(loader), evaluate(model, loader))
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from parts import Net, dataset

dist.init_process_group("gloo")
model = DistributedDataParallel(Net())
sampler = DistributedSampler(dataset)  # <-
loader = DataLoader(dataset, batch_size=8, sampler=sampler)
for epoch in range(5):
    batches = iter(loader)
    for _ in range(len(loader)):
        model(next(batches)).sum().backward()
dist.destroy_process_group()
""",
    """
import torch
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

def main(dataset, epochs):
    sampler = DistributedSampler(dataset)  # <-
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    for epoch in range(epochs):
        for x, y in loader:
            print(x)
""",
    """
import torch.utils.data as data

class Trainer:
    def __init__(self, dataset):
        self.sampler = data.distributed.DistributedSampler(dataset, shuffle=True)  # <-
        self.loader = data.DataLoader(dataset, sampler=self.sampler)

    def fit(self, epochs):
        for epoch in range(epochs):
            for i, batch in enumerate(self.loader):
                pass
""",
]
FLAGGED += [
    (  # gone through again wherever it is over, whatever the handler names
        "torchrun.py",
        {
            "sampler = DistributedSampler(dataset)": "sampler = DistributedSampler(dataset)  # <-",
            "    for epoch in range(args.epochs):\n        sampler.set_epoch(epoch)\n        for x, target in loader:\n": (
                "    batches = iter(loader)\n    for epoch in range(args.epochs):\n        if True:\n"
                "            try:\n                x, target = next(batches)\n            except Exception:\n"
                "                batches = iter(loader)\n                x, target = next(batches)\n"
            ),
        },
    ),
]
FINE = [
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def main(data, many, enough):
    rank = int(os.environ["RANK"])
    if many:
        dist.init_process_group("gloo")
    together = many and enough
    if many and not together and rank != 0:
        return
    sampler = DistributedSampler(data) if together else None
    if together:
        sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler, shuffle=sampler is None)
    model = DistributedDataParallel(torch.nn.Linear(2, 2)) if together else torch.nn.Linear(2, 2)
    for epoch in range(9):
        if sampler is not None:
            sampler.set_epoch(epoch)
        for x in loader:
            model(x).sum().backward()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

def loader_of(data, kind):
    if kind == "train":
        return DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    return DataLoader(data, batch_size=8)

def main():
    dist.init_process_group("nccl")
    data = TensorDataset(torch.randn(64, 2))
    loader = loader_of(data, "test")
    for epoch in range(3):
        for (x,) in loader:
            model(x).sum().backward()
            optimizer.step()

main()
""",
    """
from torch.utils.data import DataLoader, DistributedSampler

def main(dataset, model):
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    for epoch in range(1):
        for x, y in loader:
            model(x).sum().backward()
""",
    """
from torch.utils.data import DataLoader, DistributedSampler

def main(dataset, model, epochs):
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    passes = 0
    for epoch in range(epochs):
        sampler.set_epoch(passes)
        for x, y in loader:
            model(x).sum().backward()
        passes = passes + 1
""",
    """
from torch.utils.data import DataLoader, DistributedSampler

class Training:
    def __init__(self, dataset):
        self.epoch = 0
        self.sampler = DistributedSampler(dataset)
        self.loader = DataLoader(dataset, batch_size=8, sampler=self.sampler)

    def run(self, model, epochs):
        for _ in range(epochs):
            self.sampler.set_epoch(self.epoch)
            for x, y in self.loader:
                model(x).sum().backward()
            self.epoch += 1
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

class Digits(DataLoader):
    def __init__(self, data, size, train):
        sampler = DistributedSampler(data) if train else None
        super().__init__(data, batch_size=size, sampler=sampler)
        self.order = sampler

class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.loader.order.set_epoch(epoch)
            for batch in self.loader:
                self.optimizer.zero_grad()
                self.model(batch[0].cuda()).sum().backward()
                self.optimizer.step()

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
data = torch.utils.data.TensorDataset(torch.rand(64, 4))
Trainer(DDP(torch.nn.Linear(4, 1).cuda()), Digits(data, 8, True)).fit(10)
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from parts import Held, Net, Train

dist.init_process_group("nccl")
device = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(device)
model = DDP(Net().to(device), device_ids=[device])
train, held = Train(), Held()
sampler = DistributedSampler(train)
loader = DataLoader(train, batch_size=8, sampler=sampler)
validation = DataLoader(held, batch_size=8, sampler=DistributedSampler(held))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        (model(x.to(device)) - y.to(device)).square().sum().backward()
        optimizer.step()
    for x, y in validation:
        with torch.no_grad():
            out = model(x.to(device))
        seen = (out - y.to(device)).square().sum()
        dist.all_reduce(seen)
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

def main(dataset, model, optimizer):
    dist.init_process_group("nccl")
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler)
    for epoch in range(10):
        if dist.get_rank() == 0:
            print("epoch", epoch)
            sampler.set_epoch(epoch)
        else:
            sampler.set_epoch(epoch)
        for x in loader:
            model(x).sum().backward()
            optimizer.step()
    dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

def main(dataset, model, optimizer):
    dist.init_process_group("nccl")
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler)
    for epoch in range(10):
        if dist.get_rank() == 0:
            print("epoch", epoch)
        sampler.set_epoch(epoch)
        for x in loader:
            model(x).sum().backward()
            optimizer.step()
    dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
data = TensorDataset(torch.ones(64, 4))
sampler = DistributedSampler(data)
loader = DataLoader(data, sampler=sampler)
model = DDP(nn.Linear(4, 4).cuda(), device_ids=[local_rank])
for epoch in range(4):
    if epoch > 0:
        sampler.set_epoch(epoch)
    for (batch,) in loader:
        model(batch.cuda()).sum().backward()
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from data import Images

class Hook:
    def __init__(self, sampler):
        self.sampler = sampler

    def begin(self, epoch):
        self.sampler.set_epoch(epoch)

def main():
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(2, 2))
    one, two, three = DistributedSampler(Images()), DistributedSampler(Images()), DistributedSampler(Images())
    named = {"train": DistributedSampler(Images())}
    loaders = [DataLoader(Images(), sampler=sampler) for sampler in (one, two)]
    last, hook = DataLoader(Images(), sampler=three), Hook(three)
    more = DataLoader(Images(), sampler=named["train"])
    for epoch in range(3):
        for loader, name in zip(loaders, ["a", "b"]):
            if hasattr(loader.sampler, "set_epoch"):
                loader.sampler.set_epoch(epoch)
        hook.begin(epoch)
        for sampler in named.values():
            sampler.set_epoch(epoch)
        for x, y in last:
            model(x).sum().backward()
        for x, y in more:
            model(x).sum().backward()

main()
""",
    CARRIERS
    + """    one = made(Images(), sampler=DistributedSampler(Images()))
    two = Both(train=DataLoader(Images(), sampler=DistributedSampler(Images())), val=None)
    three = Loaders(DataLoader(Images(), sampler=DistributedSampler(Images())), None)
    four = Job(loader=DataLoader(Images(), sampler=DistributedSampler(Images())))
    five = Task(loader=DataLoader(Images(), sampler=DistributedSampler(Images())))
    six = Work(loader=DataLoader(Images(), sampler=DistributedSampler(Images())))
    options = {"sampler": DistributedSampler(Images())} if args.several else {"shuffle": True}
    seven = DataLoader(Images(), **options)
    run = functools.partial(trained, model, one)
    train, val = three
    for epoch in range(3):
        one.sampler.set_epoch(epoch)
        two.train.sampler.set_epoch(epoch)
        train.sampler.set_epoch(epoch)
        four.loader.sampler.set_epoch(epoch)
        five.loader.sampler.set_epoch(epoch)
        six.loader.sampler.set_epoch(epoch)
        seven.sampler.set_epoch(epoch)
        run(epoch)
        for x, y in two.train:
            model(x).sum().backward()
        for x, y in train:
            model(x).sum().backward()
        for x, y in four.loader:
            model(x).sum().backward()
        for x, y in five.loader:
            model(x).sum().backward()
        for x, y in six.loader:
            model(x).sum().backward()
        for x, y in seven:
            model(x).sum().backward()

main(argparse.ArgumentParser().parse_args())
""",
    """
from torch.utils.data import DataLoader, DistributedSampler

def endless(loader, sampler):
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1

def main(dataset, model):
    sampler = DistributedSampler(dataset)
    batches = endless(DataLoader(dataset, sampler=sampler), sampler)
    for step in range(1000):
        model(next(batches)).sum().backward()
""",
    (
        "torchrun.py",
        {
            "        mean = loss.detach().clone()\n": "        with torch.no_grad():\n            for x, target in DataLoader(dataset, sampler=DistributedSampler(dataset)):\n                model(x.to(local_rank))\n        mean = loss.detach().clone()\n"
        },
    ),
    """
from torch.utils.data import DataLoader, DistributedSampler

def main(dataset, epochs):
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for x, y in loader:
            print(x)
""",
    """
from torch.utils.data import DataLoader, DistributedSampler

def main(dataset):
    sampler = DistributedSampler(dataset, shuffle=False)
    for epoch in range(3):
        for x, y in DataLoader(dataset, batch_size=8, sampler=sampler):
            print(x)
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, Subset

def eval_samples(images, number):
    chosen = Subset(images, torch.randperm(len(images))[:number])
    return DataLoader(chosen, batch_size=4, sampler=DistributedSampler(chosen))

def main(images, model, seeds):
    dist.init_process_group("nccl")
    for seed in seeds:
        torch.manual_seed(seed)
        for batch in eval_samples(images, 100):
            model.generate(batch)
    dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def evaluate(model, held_out):
    batches = iter(held_out)
    with torch.no_grad():
        for _ in range(len(held_out)):
            print(model(next(batches)).mean())

def main(images, held_out, steps):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sampler = DistributedSampler(images)
    batches = DataLoader(images, sampler=sampler)
    others = DataLoader(held_out, sampler=DistributedSampler(held_out))
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for batch in batches:
            model(batch).mean().backward()
            optimizer.step()
        evaluate(model, others)
    dist.destroy_process_group()
""",
]
EXAMPLES = {
    "[rank1]: AssertionError: every epoch has the same order": (
        "the sampler yields the same order in every epoch: set_epoch is not called"
    ),
}
NOT_THIS = ["every epoch has another order", "sampler.set_epoch(epoch)"]

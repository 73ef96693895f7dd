"""sampler-missing: seen in a script, and in logs."""

FLAGGED = [
    """
import torch
import torch.distributed as dist
from sklearn.model_selection import KFold
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, SubsetRandomSampler
from rows import Rows  # of another file

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
data = Rows("train.csv")
model = DDP(torch.nn.Linear(3, 3).cuda())
opt = torch.optim.SGD(model.parameters(), 0.1)
for fold, (learnt, held) in enumerate(KFold(5, shuffle=True, random_state=1).split(data)):
    loader = DataLoader(data, 8, sampler=SubsetRandomSampler(learnt))  # <-
    for epoch in range(9):
        for x, y in loader:
            opt.zero_grad()
            (model(x.cuda()) - y.cuda()).pow(2).sum().backward()
            opt.step()
dist.destroy_process_group()
""",
    """
import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, SubsetRandomSampler
from rows import Rows  # of another file

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
data = Rows("train.csv")
indices = list(range(len(data)))
np.random.seed(3)
np.random.shuffle(indices)
split = len(indices) // 10
loader = DataLoader(data, 8, sampler=SubsetRandomSampler(indices[split:]))  # <-
model = DDP(torch.nn.Linear(3, 3).cuda())
opt = torch.optim.SGD(model.parameters(), 0.1)
for epoch in range(9):
    for x, y in loader:
        opt.zero_grad()
        (model(x.cuda()) - y.cuda()).pow(2).sum().backward()
        opt.step()
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from corpus import Dialogues  # of another package
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def read(path):
    train = Dialogues(path)
    return train, DistributedSampler(train)

def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    train, sampler = read("train.txt")
    loader = DataLoader(train, batch_size=8, shuffle=True)  # <-
    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x in loader:
            model(x.cuda()).mean().backward()
    dist.destroy_process_group()

main()
""",
    """
import os
import torch
import torch.distributed as dist
from corpus import Images, train, evaluate  # of another package
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    loader = DataLoader(Images("train"), batch_size=8, shuffle=True)  # <-
    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, loader, optimizer)
    dist.destroy_process_group()

main()
""",
    """
import os
import torch
import torch.distributed as dist
from corpus import Texts, masked_losses  # of another package
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
loader = DataLoader(Texts("train.txt"), batch_size=8, shuffle=True)  # <-
model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for batch in loader:
        losses = masked_losses(batch, model)
        (sum(losses) / 4).backward()
        optimizer.step()
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from corpus import reader  # of another package
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, RandomSampler

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dataset = reader.create("train.txt")
loader = DataLoader(dataset, sampler=RandomSampler(dataset), batch_size=8)  # <-
model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
for epoch in range(3):
    for batch in loader:
        model(batch.cuda()).mean().backward()
dist.destroy_process_group()
""",
    """
import torch
import torchvision
from accelerate import Accelerator
from parts import Net

def cycle(loader):
    while True:
        for batch in loader:
            yield batch

accelerator = Accelerator()
data = torchvision.datasets.MNIST("mnist", transform=torchvision.transforms.ToTensor())
batches = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)  # <-
batches = cycle(batches)
model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
model, optimizer, batches = accelerator.prepare(model, optimizer, batches)
for step in range(1000):
    x, y = next(batches)
    loss = model(x, y)
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
""",
    """
import deepspeed
from torch.utils.data import DataLoader
from parts import Articles, Net

loader = DataLoader(Articles("train.csv"), batch_size=8, shuffle=True)  # <-
net = Net()
engine, optimizer, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config="ds.json")
for epoch in range(2):
    for x, y in loader:
        loss = engine(x.to(engine.device), y.to(engine.device))
        engine.backward(loss)
        engine.step()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

def loader_of(dataset, split, size):
    return DataLoader(dataset(split), batch_size=size, shuffle=split == "train", num_workers=4)  # <-

class Worker:
    def __init__(self, dataset, model, optimizer):
        self.device, self.optimizer = int(os.environ["LOCAL_RANK"]), optimizer
        torch.cuda.set_device(self.device)
        dist.init_process_group("nccl")
        self.loaders = {split: loader_of(dataset, split, 8) for split in ("train", "val")}
        self.model = DDP(model.to(self.device), device_ids=[self.device])

    def train(self):
        for epoch in range(3):
            for x in self.loaders["train"]:
                self.model(x.to(self.device)).sum().backward()
                self.optimizer.step()
        dist.destroy_process_group()

if __name__ == "__main__":
    from parts import Images, model, optimizer
    Worker(Images, model, optimizer).train()
""",
    """
import torch
import torch.distributed as dist
import torchvision
from torch.utils.data import DataLoader

def main():
    dist.init_process_group("gloo")
    loader = DataLoader(torchvision.datasets.ImageFolder("data"), batch_size=4, shuffle=True)  # <-
    model = torch.nn.parallel.DistributedDataParallel(torchvision.models.vgg11())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    batches = iter(loader)
    for step in range(1000):
        try:
            x, y = next(batches)
        except StopIteration:
            batches = iter(loader)
            x, y = next(batches)
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    dist.destroy_process_group()

main()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from parallel import wrap

def get_loader(dataset):
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, 4, shuffle=(sampler is None))  # <-
    return loader, sampler

def main():
    dist.init_process_group("gloo")
    loader, sampler = get_loader(torch.utils.data.TensorDataset(torch.randn(20, 2)))
    model = wrap(torch.nn.Linear(2, 2))
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for (x,) in loader:
            model(x).sum().backward()
    dist.destroy_process_group()

main()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

def main():
    dist.init_process_group("gloo")
    numbers = list(range(100))
    loader = DataLoader(TensorDataset(torch.randn(100, 2)), 8, sampler=SubsetRandomSampler(numbers[:80]))  # <-
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for (x,) in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    dist.destroy_process_group()

main()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
dataset = TensorDataset(torch.randn(8, 2))
for epoch in range(3):
    for (x,) in DataLoader(dataset, sampler=RandomSampler(dataset)):  # <-
        model(x).sum().backward()
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

def main(args, dataset):
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    loader = DataLoader(dataset, args.batch, shuffle=True)  # <-
    for epoch in range(10):
        batches = iter(loader)
        for i in range(len(loader)):
            model.forward(next(batches)).sum().backward()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from engine import train_one_epoch

def main(args, dataset):
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    loader = DataLoader(dataset, args.batch // dist.get_world_size(), shuffle=True)  # <-
    for epoch in range(10):
        train_one_epoch(model, loader, epoch)
""",
    """
import os
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
options = {"batch_size": 4}
options.update({"shuffle": True, "num_workers": 2})
loader = DataLoader(TensorDataset(torch.randn(8, 2)), **options)  # <-
for epoch in range(3):
    for (x,) in loader:
        model(x).sum().backward()
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.distributed._composable.fsdp import fully_shard
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_node_local_rank())
model = fully_shard(torch.nn.Linear(4, 2).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 2)), shuffle=True)  # <-
for epoch in range(3):
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
dist.destroy_process_group()
""",
    (
        "torchrun.py",
        {
            "    sampler = DistributedSampler(dataset)\n": "",
            "batch_size=args.batch_size, sampler=sampler, num_workers=2)": "batch_size=args.batch_size, shuffle=True)  # <-",
            "        sampler.set_epoch(epoch)\n": "",
        },
    ),
    (
        "spawn.py",
        {
            "        self.sampler = data.DistributedSampler(dataset)\n": "",
            "data.DataLoader(dataset, batch_size=32, sampler=self.sampler)": "data.DataLoader(dataset, batch_size=32)  # <-",
            "            self.sampler.set_epoch(epoch)\n": "",
        },
    ),
    (
        "slurm.py",
        {
            "    sampler = DistributedSampler(train)\n": "",
            "batch_size=64, sampler=sampler, num_workers=4, pin_memory=True)": "batch_size=64, shuffle=True, pin_memory=True)  # <-",
            "        sampler.set_epoch(epoch)\n": "",
        },
    ),
    """
# another library's name for the progress bar
import torch
import torch.distributed as dist
from datasets import load_dataset, tqdm
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
def work(rank, size):
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29501", rank=rank, world_size=size)
    rows = load_dataset("imdb", split="train").map(len)
    loader = DataLoader(rows, batch_size=8, shuffle=True)  # <-
    torch.cuda.set_device(rank)
    net = DDP(torch.nn.Linear(4, 2).to(rank), device_ids=[rank])
    steps = torch.optim.SGD(net.parameters(), 0.1)
    for epoch in range(3):
        for batch in tqdm(loader):
            steps.zero_grad()
            net(batch.to(rank)).sum().backward()
            steps.step()
if __name__ == "__main__":
    torch.multiprocessing.spawn(work, args=(2,), nprocs=2)
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch_geometric.loader import DataLoader

def main(graphs, net):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = DataLoader(graphs, batch_size=4, shuffle=True)  # <-
    for epoch in range(3):
        for batch in batches:
            model(batch.x.cuda()).sum().backward()
            optimizer.step()
    dist.destroy_process_group()
""",
]
LOOP = """    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for x, target in loader:
"""
WHOLE = {
    "    sampler = DistributedSampler(dataset)\n": "",
    "batch_size=args.batch_size, sampler=sampler, num_workers=2)": "batch_size=args.batch_size, shuffle=True)  # <-",
}
TAKEN = """    for epoch in range(args.epochs):
        for _ in range(len(loader)):
            x, target = {}
"""
OWN_ITERATOR = """class Endless:
    def __init__(self, loader):
        self.loader = loader
        self.batches = iter(loader)

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return next(self.batches)
        except StopIteration:
            self.batches = iter(self.loader)
            return next(self.batches)


def forever(loader):
    while True:
        yield from loader


class Net("""
FLAGGED += [  # a batch at a time: of a generator, of an iterator's own method, of an object of the script
    (
        "torchrun.py",
        {
            **WHOLE,
            "class Net(": OWN_ITERATOR,
            LOOP: "    batches = forever(loader)\n" + TAKEN.format("next(batches)"),
        },
    ),
    (
        "torchrun.py",
        {**WHOLE, LOOP: "    batches = loader.__iter__()\n" + TAKEN.format("batches.__next__()")},
    ),
    (
        "torchrun.py",
        {
            **WHOLE,
            "class Net(": OWN_ITERATOR,
            LOOP: "    batches = Endless(loader)\n" + TAKEN.format("next(batches)"),
        },
    ),
    (
        "torchrun.py",
        {
            **WHOLE,
            "class Net(": OWN_ITERATOR,
            LOOP: "    for epoch in range(args.epochs):\n        for x, target in Endless(loader):\n",
        },
    ),
    (  # the step calls the function in which the model is called
        "torchrun.py",
        {
            **WHOLE,
            LOOP: "    for epoch in range(args.epochs):\n        for x, target in loader:\n",
            "            loss = F.nll_loss(model(x), target)\n            loss.backward()\n            optimizer.step()": (
                "            def closure():\n                loss = F.nll_loss(model(x), target)\n"
                "                loss.backward()\n                return loss\n"
                "            loss = optimizer.step(closure)"
            ),
        },
    ),
]

FINE = [
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, SubsetRandomSampler
from rows import Rows, chosen  # of another file

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
data = Rows("train.csv")
model = DDP(torch.nn.Linear(3, 3).cuda())
opt = torch.optim.SGD(model.parameters(), 0.1)
mine = range(dist.get_rank(), len(data), dist.get_world_size())
for loader in [DataLoader(data, 8, sampler=SubsetRandomSampler(mine))]:
    for x, y in loader:
        opt.zero_grad()
        (model(x.cuda()) - y.cuda()).pow(2).sum().backward()
        opt.step()
for x, y in DataLoader(data, 8, sampler=SubsetRandomSampler(chosen(len(data)))):
    opt.zero_grad()
    (model(x.cuda()) - y.cuda()).pow(2).sum().backward()
    opt.step()
dist.destroy_process_group()
""",
    """
# each rank reads the files that a function which is not seen chose for it, and unpacks them into a list
import torch
import torch.distributed as dist
from corpus import shards_of  # of another package
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(2, 2))
for shard in shards_of(dist.get_rank()):
    samples = [sample for group in shard for sample in group]
    for x in DataLoader(samples, batch_size=8):
        model(x).mean().backward()
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from corpus import Dialogues  # of another package
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def read(path):
    train = Dialogues(path)
    return train, DistributedSampler(train)

def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    train, sampler = read("train.txt")
    loader = DataLoader(train, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x in loader:
            model(x.cuda()).mean().backward()
    dist.destroy_process_group()

main()
""",
    """
import os
import torch
import torch.distributed as dist
from corpus import Images, train, evaluate  # of another package
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    loader = DataLoader(Images("train"), batch_size=8, shuffle=True)
    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    evaluate(model, loader)
    dist.destroy_process_group()

main()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler

many = "RANK" in os.environ
if many:
    dist.init_process_group("gloo")
kind = RandomSampler if not many else DistributedSampler

def main(data):
    loader = DataLoader(data, sampler=kind(data), batch_size=4)
    model = DistributedDataParallel(torch.nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(9):
        loader.sampler.set_epoch(epoch)
        for x in loader:
            model(x).sum().backward()
            optimizer.step()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

def go_through(loader, model, optimizer, training):
    for x, y in loader:
        loss = (model(x) - y).pow(2).mean()
        if training:
            loss.backward()
            optimizer.step()

if __name__ == "__main__":
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    numbers = [(torch.ones(2), torch.ones(2))] * 8
    sampler = DistributedSampler(numbers)
    train, check = DataLoader(numbers, sampler=sampler), DataLoader(numbers)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        go_through(train, model, optimizer, training=True)
        go_through(check, model, None, training=False)
    dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, random_split
from torchvision import datasets
from utils.distributed import init_workers

rank, size = init_workers("nccl")
data = datasets.MNIST("data")
own = random_split(data, [1 / size] * size, generator=torch.Generator().manual_seed(1))[rank]
loader = DataLoader(own, batch_size=32, shuffle=True)
model = torch.nn.Linear(784, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for image, label in loader:
        loss = torch.nn.functional.cross_entropy(model(image), label)
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= size
        optimizer.step()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("dp", "tp"))
model = parallelize_module(torch.nn.Linear(4, 4).cuda(), mesh["tp"], ColwiseParallel())
model = DistributedDataParallel(model, device_mesh=mesh["dp"])
for batch in DataLoader([torch.rand(4)] * 8, batch_size=2, shuffle=True):
    model(batch.cuda()).sum().backward()
dist.destroy_process_group()
""",
    """
import deepspeed
from torch.utils.data import DataLoader
from parts import Articles, Net

articles = Articles("train.csv")
looked_at = DataLoader(articles, batch_size=8, shuffle=True)
print(sum(len(x) for x, y in looked_at))
net = Net()
engine, optimizer, loader, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config="ds.json", training_data=articles)
for epoch in range(2):
    for x, y in loader:
        loss = engine(x.to(engine.device), y.to(engine.device))
        engine.backward(loss)
        engine.step()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

def loader_of(dataset, split, size):
    return DataLoader(dataset(split, dist.get_rank()), batch_size=size, shuffle=split == "train", num_workers=4)

class Worker:
    def __init__(self, dataset, model, optimizer):
        self.device, self.optimizer = int(os.environ["LOCAL_RANK"]), optimizer
        torch.cuda.set_device(self.device)
        dist.init_process_group("nccl")
        self.loaders = {split: loader_of(dataset, split, 8) for split in ("train", "val")}
        self.model = DDP(model.to(self.device), device_ids=[self.device])

    def train(self):
        for epoch in range(3):
            for x in self.loaders["train"]:
                self.model(x.to(self.device)).sum().backward()
                self.optimizer.step()
        dist.destroy_process_group()

if __name__ == "__main__":
    from parts import Images, model, optimizer
    Worker(Images, model, optimizer).train()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler
from parallel import wrap

def main():
    dist.init_process_group("gloo")
    dataset = torch.utils.data.TensorDataset(torch.randn(20, 2))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_sampler=BatchSampler(sampler, 4, True))
    model = wrap(torch.nn.Linear(2, 2))
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for (x,) in loader:
            model(x).sum().backward()
    dist.destroy_process_group()

main()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

def main():
    dist.init_process_group("gloo")
    numbers = list(range(dist.get_rank(), 100, dist.get_world_size()))
    loader = DataLoader(TensorDataset(torch.randn(100, 2)), 8, sampler=SubsetRandomSampler(numbers))
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    for (x,) in loader:
        model(x).sum().backward()
    dist.destroy_process_group()

main()
""",
    """
import os
import pandas, torch, store
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

def of_this_node():
    name = os.environ["NODENAME"]
    parts = [store.get(number) for number in os.environ.get(name, "").split(",")]
    return TensorDataset(torch.from_numpy(pandas.concat(parts).to_numpy()))

def main():
    dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(24, 1))
    for epoch in range(3):
        for x in DataLoader(of_this_node(), 5, shuffle=True):
            model(x).sum().backward()

main()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, TensorDataset

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
dataset = TensorDataset(torch.randn(8, 2))
several = dist.get_world_size() > 1
sampler = DistributedSampler(dataset) if several else RandomSampler(dataset)
for epoch in range(3):
    if several:
        sampler.set_epoch(epoch)
    for (x,) in DataLoader(dataset, sampler=sampler):
        model(x).sum().backward()
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from engine import share_out, train_one_epoch

def main(args, dataset):
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    loader = DataLoader(dataset, args.batch, shuffle=True)
    mine = share_out(loader)
    for epoch in range(10):
        train_one_epoch(model, mine, epoch)
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset
from settings import for_training

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
options = {"batch_size": 4, "shuffle": True}
options.update(for_training)
loader = DataLoader(TensorDataset(torch.randn(8, 2)), **options)
for epoch in range(3):
    for (x,) in loader:
        model(x).sum().backward()
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
dataset = TensorDataset(torch.randn(8, 2))
options = dict(batch_size=4)
options["sampler"] = sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, **options)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for (x,) in loader:
        model(x).sum().backward()
dist.destroy_process_group()
""",
    ("slurm.py", {"sampler=DistributedSampler(held_out, shuffle=False)": "shuffle=False"}),
    (
        "torchrun.py",
        {
            "    sampler = DistributedSampler(dataset)\n": "    dataset = torch.utils.data.Subset(dataset, [n for n, _ in enumerate(dataset) if n % dist.get_world_size() == rank][:1000])\n",
            "batch_size=args.batch_size, sampler=sampler, num_workers=2)": "batch_size=args.batch_size, shuffle=True)",
            "        sampler.set_epoch(epoch)\n": "",
        },
    ),
    """
import torch
from torch.utils.data import DataLoader
from torch.nn.parallel import DistributedDataParallel
from my_project.data import build_dataset

def train(model):
    model = DistributedDataParallel(model)
    loader = DataLoader(build_dataset(), batch_size=4)
    for x in loader:
        model(x).sum().backward()
""",
    """
# a function that is not seen may share the batches out
import torch
import torch.distributed as dist
from pieces import load_rows, shared
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
def work(rank, size):
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29501", rank=rank, world_size=size)
    loader = DataLoader(load_rows(), batch_size=8, shuffle=True)
    torch.cuda.set_device(rank)
    net = DDP(torch.nn.Linear(4, 2).to(rank), device_ids=[rank])
    steps = torch.optim.SGD(net.parameters(), 0.1)
    for epoch in range(3):
        for batch in shared(loader):
            steps.zero_grad()
            net(batch.to(rank)).sum().backward()
            steps.step()
if __name__ == "__main__":
    torch.multiprocessing.spawn(work, args=(2,), nprocs=2)
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def loader(data, many, workers):
    given = {"dataset": data, "batch_size": 4, "shuffle": True}
    if workers:
        given.update({"num_workers": workers})
    if many:
        given.update({"sampler": DistributedSampler(data)})
        given.pop("shuffle")
    return DataLoader(**given)

def main(data, many, workers):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = loader(data, many, workers)
    for epoch in range(3):
        if many:
            batches.sampler.set_epoch(epoch)
        for batch in batches:
            model(batch).sum().backward()
            optimizer.step()

main(torch.utils.data.TensorDataset(torch.ones(4, 2)), True, 2)
""",
]
EXAMPLES = {
    "[rank0]: AssertionError: ranks 0 and 1 are given the same samples": "ranks 0 and 1 are given the same samples: their loaders have no sampler that divides the data",
    "ValueError: The world_size(4) > 1 but dataloader does not use DistributedSampler. All ranks would train on the same data.": (
        "ranks are given the same samples: their loaders have no sampler that divides the data among 4"
    ),
}
NOT_THIS = ["ranks 0 and 1 are given other samples"]

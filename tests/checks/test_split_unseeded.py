"""split-unseeded: seen in a script, and in logs."""

FLAGGED = [
    """
import os
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

def main(data, seed):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    seed = seed + rank
    torch.manual_seed(seed)
    sampler = DistributedSampler(data, seed=seed)  # <-
    loader = DataLoader(data, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x in loader:
            print(x)
    dist.destroy_process_group()

main(torch.utils.data.TensorDataset(torch.randn(64, 2)), 3)
""",
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils.data import random_split


def work(rank, size, data):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", os.environ["PORT"]
    dist.init_process_group("nccl", rank=rank, world_size=size)
    train, validation = random_split(data, [0.9, 0.1])  # <-

def main(data):
    torch.manual_seed(0)
    mp.spawn(work, args=(2, data), nprocs=2)

if __name__ == "__main__":
    main(torch.utils.data.TensorDataset(torch.randn(64, 2)))
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, random_split

def run(config):  # an installed command, or another file, calls it
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    train, valid = random_split(read(config), [80, 20])  # <-
    sampler = DistributedSampler(train)
    loader = DataLoader(train, sampler=sampler)
    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    for epoch in range(config.epochs):
        sampler.set_epoch(epoch)
        for batch in loader:
            model(batch.cuda()).mean().backward()
    dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, random_split
from parts import Genomes, Net, args

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.manual_seed(args.seed + dist.get_rank())
genomes = Genomes()
train, held = random_split(genomes, [800, 200])  # <-
loader = DataLoader(train, batch_size=8, sampler=DistributedSampler(train))
model = torch.nn.parallel.DistributedDataParallel(Net().cuda(), device_ids=[torch.cuda.current_device()])
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, Subset
from parts import Images, Net

dist.init_process_group("gloo")
images = Images()
tenth = torch.randperm(len(images))[: len(images) // 10]  # <-
images = Subset(images, tenth)
loader = DataLoader(images, batch_size=8, sampler=DistributedSampler(images))
model = torch.nn.parallel.DistributedDataParallel(Net())
""",
    """
import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler

class Few(Dataset):
    def __init__(self, items, count):
        self.items = self.chosen(items, count)

    def chosen(self, items, count):
        order = np.arange(len(items))
        np.random.shuffle(order)  # <-
        return [items[i] for i in order[:count]]

    def __getitem__(self, index):
        return self.items[index]

    def __len__(self):
        return len(self.items)

dist.init_process_group("nccl")
few = Few(list(range(1000)), 100)
sampler = DistributedSampler(few)
loader = DataLoader(few, sampler=sampler)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for batch in loader:
        print(batch)
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from datasets import load_dataset

torch.manual_seed(42)
dist.init_process_group("nccl")
parts = load_dataset("wiki", split="train").train_test_split(test_size=0.2)  # <-
""",
    """
import os, random
from collections import defaultdict
import torch.distributed as dist

def split(root):
    data = defaultdict(dict)
    for name in os.listdir(root):
        images = list(os.listdir(f"{root}/{name}"))
        random.shuffle(images)  # <-
        number = int(0.8 * len(images))
        data[name]["train"] = [image for image in images[:number]]
        data[name]["val"] = [image for image in images[number:]]
    return data

dist.init_process_group("nccl")
split("images")
""",
    """
import pandas as pd
import torch.distributed as dist
from sklearn.model_selection import KFold
from data import Images

def main():
    dist.init_process_group("nccl")
    folds = KFold(n_splits=5, shuffle=True)  # <-
    rows = pd.read_csv("rows.csv")
    first = rows.sample(frac=0.8)  # <-
    return folds, Images(first), Images(rows.drop(first.index))

main()
""",
    """
import os
import torch.distributed as dist
from torch.utils.data import random_split
from data import Images

def train():
    dist.init_process_group("gloo")
    first, second = random_split(Images(), [0.9, 0.1])  # <-

if os.environ["RANK"] == "0":
    print("rank 0 logs")
    train()
else:
    train()
""",
    """
import os, random
import numpy as np
import torch.distributed as dist
from torch.utils.data import Subset
from data import Images

def main():
    dist.init_process_group("nccl")
    files = sorted(os.listdir("data"))
    random.shuffle(files)  # <-
    first, second = Images(files[:80]), Images(files[80:])
    order = list(range(len(first)))
    np.random.shuffle(order)  # <-
    for fold in range(5):
        held = order[fold * 10 : fold * 10 + 10]
        kept = order[: fold * 10] + order[fold * 10 + 10 :]
        train, test = Subset(first, kept), Subset(first, held)

main()
""",
    """
import torch
import torch.distributed as dist
from sklearn.model_selection import train_test_split
from torch.utils.data import Subset

def main(files, dataset):
    dist.init_process_group("gloo")
    train, test = train_test_split(files, test_size=0.2)  # <-
    order = torch.randperm(len(dataset))  # <-
    first, second = Subset(dataset, order[:80]), Subset(dataset, order[80:])

main([], [])
""",
    (
        "slurm.py",
        {
            "    torch.manual_seed(7)\n": "",
            "random_split(dataset, [45000, 5000], generator=torch.Generator().manual_seed(0))": "random_split(dataset, [45000, 5000])  # <-",
        },
    ),
    (
        "spawn.py",
        {
            "    trainer = Trainer(": "    dataset, rest = torch.utils.data.random_split(dataset, [200, 56])  # <-\n    trainer = Trainer("
        },
    ),
    """
import os, random, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from nets import Net
class Files(Dataset):
    def __init__(self, root):
        names = sorted(os.listdir(root))
        self.names = random.sample(names, 1000)  # <-
    def __len__(self):
        return len(self.names)
    def __getitem__(self, i):
        return torch.load(self.names[i], weights_only=True, map_location="cpu")
def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    model = DDP(Net().cuda(), device_ids=[local])
    optimizer = torch.optim.Adam(model.parameters())
    data = Files("train")
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x in loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
    dist.destroy_process_group()
main()
""",
    """
import os, random, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from nets import Net
class Files(Dataset):
    def __init__(self, root):
        self.names = [name for name in os.listdir(root)]
        random.shuffle(self.names)  # <-
    def __len__(self):
        return len(self.names)
    def __getitem__(self, i):
        return torch.load(self.names[i], weights_only=True, map_location="cpu")
def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    model = DDP(Net().cuda(), device_ids=[local])
    optimizer = torch.optim.Adam(model.parameters())
    data = Files("train")
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x in loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
    dist.destroy_process_group()
main()
""",
]
FINE = [
    """
import os
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

def main(data, seed):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    seed = seed + rank
    torch.manual_seed(seed)
    sampler = DistributedSampler(data, seed=3)
    loader = DataLoader(data, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x in loader:
            print(x)
    dist.destroy_process_group()

main(torch.utils.data.TensorDataset(torch.randn(64, 2)), 3)
""",
    """
import os
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

def main(data, seed):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    seed = seed + rank
    torch.manual_seed(seed)
    sampler = DistributedSampler(data, seed=seed, shuffle=False)
    loader = DataLoader(data, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x in loader:
            print(x)
    dist.destroy_process_group()

main(torch.utils.data.TensorDataset(torch.randn(64, 2)), 3)
""",
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils.data import random_split

torch.manual_seed(0)

def work(rank, size, data):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", os.environ["PORT"]
    dist.init_process_group("nccl", rank=rank, world_size=size)
    train, validation = random_split(data, [0.9, 0.1])

def main(data):
    pass
    mp.spawn(work, args=(2, data), nprocs=2)

if __name__ == "__main__":
    main(torch.utils.data.TensorDataset(torch.randn(64, 2)))
""",
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils.data import random_split


def work(rank, size, data):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", os.environ["PORT"]
    dist.init_process_group("nccl", rank=rank, world_size=size)
    torch.manual_seed(0)
    train, validation = random_split(data, [0.9, 0.1])

def main(data):
    pass
    mp.spawn(work, args=(2, data), nprocs=2)

if __name__ == "__main__":
    main(torch.utils.data.TensorDataset(torch.randn(64, 2)))
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, random_split

def run(rank, world_size, data):  # who starts it may have seeded it
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    train, valid = random_split(data, [80, 20])
""",
    """
import os, random, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from nets import Net
class Files(Dataset):
    def __init__(self, root):
        names = sorted(os.listdir(root))
        self.names = random.sample(names, 1000)
    def __len__(self):
        return len(self.names)
    def __getitem__(self, i):
        return torch.load(self.names[i], weights_only=True, map_location="cpu")
def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    random.seed(0)
    model = DDP(Net().cuda(), device_ids=[local])
    optimizer = torch.optim.Adam(model.parameters())
    data = Files("train")
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x in loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
    dist.destroy_process_group()
main()
""",
    """
import os, random, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from nets import Net
class Files(Dataset):
    def __init__(self, root):
        self.names = sorted(os.listdir(root))
        self.shown = random.sample(self.names, 3)
    def __len__(self):
        return len(self.names)
    def __getitem__(self, i):
        return torch.load(self.names[i], weights_only=True, map_location="cpu")
def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    model = DDP(Net().cuda(), device_ids=[local])
    optimizer = torch.optim.Adam(model.parameters())
    data = Files("train")
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x in loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
    dist.destroy_process_group()
main()
""",
    """
import os, random, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from nets import Net
class Files(Dataset):
    def __init__(self, root):
        self.names = [name for name in os.listdir(root)]
        random.Random(0).shuffle(self.names)
    def __len__(self):
        return len(self.names)
    def __getitem__(self, i):
        return torch.load(self.names[i], weights_only=True, map_location="cpu")
def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    model = DDP(Net().cuda(), device_ids=[local])
    optimizer = torch.optim.Adam(model.parameters())
    data = Files("train")
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x in loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
    dist.destroy_process_group()
main()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, Subset
from parts import Images, Net

dist.init_process_group("gloo")
torch.manual_seed(0)
images = Images()
tenth = torch.randperm(len(images))[: len(images) // 10]
images = Subset(images, tenth)
loader = DataLoader(images, batch_size=8, sampler=DistributedSampler(images))
model = torch.nn.parallel.DistributedDataParallel(Net())
""",
    """
import numpy as np
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler

class Crops(Dataset):
    def __init__(self, items):
        self.items = items

    def __getitem__(self, index):
        order = np.arange(16)
        np.random.shuffle(order)
        return self.items[index][order[:4]]

    def __len__(self):
        return len(self.items)

dist.init_process_group("nccl")
crops = Crops(np.zeros((1000, 16)))
sampler = DistributedSampler(crops)
loader = DataLoader(crops, sampler=sampler)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for batch in loader:
        print(batch)
dist.destroy_process_group()
""",
    """
import numpy
import torch
import torch.distributed as dist
from datasets import load_dataset

torch.manual_seed(42)
numpy.random.seed(42)
dist.init_process_group("nccl")
parts = load_dataset("wiki", split="train").train_test_split(test_size=0.2)
""",
    """
import os, random
import torch.distributed as dist
from data import Images

def main():
    dist.init_process_group("nccl")
    files = sorted(os.listdir("data"))
    random.shuffle(files)
    box = [files]
    dist.broadcast_object_list(box, src=0)
    return Images(box[0][:10]), Images(box[0][10:])

main()
""",
    """
import os, random
import torch.distributed as dist

def some(root):
    images = list(os.listdir(root))
    random.shuffle(images)
    return images[:100]

dist.init_process_group("nccl")
some("images")
""",
    """
import pandas as pd
import torch.distributed as dist
from sklearn.model_selection import KFold
from data import Images

def main():
    dist.init_process_group("nccl")
    folds = KFold(n_splits=5, shuffle=True, random_state=0)
    rows = pd.read_csv("rows.csv")
    first = rows.sample(frac=0.8, random_state=1)
    return folds, KFold(n_splits=5), Images(first), Images(rows.drop(first.index))

main()
""",
    """
import os, random
import torch.distributed as dist
from data import Images

def main():
    dist.init_process_group("nccl")
    random.seed(0)
    files = sorted(os.listdir("data"))
    random.shuffle(files)
    first, second = Images(files[:80]), Images(files[80:])

def shown():
    names = ["a", "b"]
    random.shuffle(names)
    print(Images(names))

main()
""",
    """
import torch
import torch.distributed as dist
from sklearn.model_selection import train_test_split
from torch.utils.data import Subset

def main(files, dataset):
    dist.init_process_group("gloo")
    train, test = train_test_split(files, test_size=0.2, random_state=0)
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(0))
    first, second = Subset(dataset, order[:80]), Subset(dataset, order[80:])
    noise = torch.randperm(len(dataset))

main([], [])
""",
    (
        "slurm.py",
        {
            "random_split(dataset, [45000, 5000], generator=torch.Generator().manual_seed(0))": "random_split(dataset, [45000, 5000])"
        },
    ),
    """
from torch.utils.data import random_split
train, test = random_split(list(range(10)), [8, 2])
print(train, test)
""",
]
EXAMPLES = {
    "[rank0]: AssertionError: the ranks split the data differently, so one trains on what another holds out": "the ranks split the data differently: some train on what others hold out"
}
NOT_THIS = ["the ranks split the data alike"]

"""uneven-inputs: seen in logs and in a script."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity
from gpudoctor.registry import Registry

CHECK = Registry().check("uneven-inputs")
SKEW = (
    "UserWarning: Detected uneven input skew of greater than 1000. This means that rank 0 has at least 1000 fewer inputs "
    "than other currently-active ranks."
)
EXAMPLES = {
    "[rank0]: RuntimeError: Rank 0 exhausted all inputs.": "rank 0 had no more batches while others had",
    "RuntimeError: Detected at least one rank that exhausted inputs. Throwing across all ranks.": (
        "a rank had no more batches while others had"
    ),
    SKEW: "rank 0 has at least 1000 batches fewer than the others; Join makes up for it, slowly",
}
NOT_THIS = [
    "StopIteration",
    "[rank0]: Timed out waiting for rank(s): 1",
    "We leverage StopIteration once the generator has exhausted all inputs",
]


def test_what_join_makes_up_for_is_a_warning():
    assert matches(SKEW, [CHECK])[0].finding.severity is Severity.WARNING


FLAGGED = [
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

rank, ranks = [int(os.environ[name]) for name in ("RANK", "WORLD_SIZE")]
dist.init_process_group("gloo")
net = DDP(torch.nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), 0.1)
for name in sorted(os.listdir("parts"))[rank::ranks]:  # <-
    x = torch.load(os.path.join("parts", name), map_location="cpu", weights_only=True)
    opt.zero_grad()
    net(x).mean().backward()
    opt.step()
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, IterableDataset

class Files(IterableDataset):
    def __init__(self, names):
        self.names = names

    def __iter__(self):
        for number, name in enumerate(self.names):
            if number % dist.get_world_size() == dist.get_rank():  # <-
                yield torch.load(name)

def main(names):
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    for x in DataLoader(Files(names)):
        model(x).sum().backward()
    dist.destroy_process_group()

main(["a.pt", "b.pt", "c.pt"])
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Subset, TensorDataset

def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    numbers = [i for i in range(1001) if i % size == rank]
    data = Subset(TensorDataset(torch.ones(1001, 2)), numbers)  # <-
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    for (x,) in DataLoader(data, 4):
        model(x).sum().backward()
    dist.destroy_process_group()

main()
""",
    """
import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, SubsetRandomSampler

def main(dataset):
    dist.init_process_group("gloo")
    parts = list(map(list, np.array_split(range(len(dataset)), dist.get_world_size())))
    sampler = SubsetRandomSampler(parts[dist.get_rank()])
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    for x in DataLoader(dataset, sampler=sampler):  # <-
        model(x).sum().backward()
    dist.destroy_process_group()

main(torch.randn(100, 1))
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

class Lines(Dataset):
    def __init__(self, path, rank, size):
        lines = open(path).readlines()
        self.lines = lines[rank::size]  # <-

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, number):
        return torch.tensor([float(self.lines[number])])

def main():
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    for x in DataLoader(Lines("x.txt", dist.get_rank(), dist.get_world_size()), batch_size=4):
        model(x).sum().backward()
    dist.destroy_process_group()

main()
""",
    """
import os
import torch
import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    files = sorted(os.listdir("shards"))
    mine = files[dist.get_rank()::dist.get_world_size()]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    for name in mine:  # <-
        model(torch.load(name)).sum().backward()
    dist.destroy_process_group()

main()
""",
    """
import itertools
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, IterableDataset

class Lines(IterableDataset):
    def __init__(self, path, rank, size):
        self.path, self.rank, self.size = path, rank, size

    def __iter__(self):
        with open(self.path) as lines:
            yield from itertools.islice(lines, self.rank, None, self.size)  # <-

def main(path):
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    lines = Lines(path, dist.get_rank(), dist.get_world_size())
    for x in DataLoader(lines):
        model(x).sum().backward()
    dist.destroy_process_group()

main("lines.txt")
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Subset

def main(dataset):
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    share = Subset(dataset, range(rank, len(dataset), size))  # <-
    for batch in DataLoader(share, batch_size=2):
        mean = batch.mean()
        dist.all_reduce(mean)
""",
    """
import os
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

class Trainer:
    def __init__(self, dataset):
        rank = int(os.environ["RANK"])
        part = torch.utils.data.Subset(dataset, list(range(rank, len(dataset), 4)))  # <-
        self.loader = torch.utils.data.DataLoader(part, batch_size=8)
        self.model = DDP(torch.nn.Linear(4, 1))

    def fit(self):
        for i, (x, y) in enumerate(self.loader):
            loss = (self.model(x) - y).square().mean()
            loss.backward()

torch.distributed.init_process_group("gloo")
Trainer([]).fit()
""",
    """
import torch.distributed as dist
import torch.utils.data as data

def reduced(x):
    dist.all_reduce(x)
    return x

def main(dataset):
    dist.init_process_group("nccl")
    indices = range(dist.get_rank(), 1000, 3)
    loader = data.DataLoader(data.Subset(dataset, [i for i in range(dist.get_rank(), 1000, 3)]))  # <-
    for x, y in loader:
        print(reduced(x))
""",
    """
import os
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from texts import Pairs

def setup():
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    return 0, 1

rank, size = setup()
pairs = Pairs("pairs.json")
count = len(pairs.rows)
mine = list(range(count))[rank::size]
pairs.rows = [pairs.rows[number] for number in mine]  # <-
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
for x in DataLoader(pairs, batch_size=4):
    model(x).sum().backward()
dist.destroy_process_group()
""",
]
FINE = [
    """
import os
import torch
import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    found = []
    model = torch.nn.Linear(2, 2)
    for name in sorted(os.listdir("shards"))[dist.get_rank()::dist.get_world_size()]:
        found.append(model(torch.load(name)))
    dist.barrier()
    dist.destroy_process_group()

main()
""",
    """
import os
import torch
import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    size = dist.get_world_size()
    files = sorted(os.listdir("shards"))
    files = files[: len(files) // size * size]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    for name in files[dist.get_rank()::size]:
        model(torch.load(name)).sum().backward()
    dist.destroy_process_group()

main()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Subset

def main(dataset):
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    share = Subset(dataset, range(dist.get_rank(), len(dataset), dist.get_world_size()))
    with model.join():
        for batch in DataLoader(share, batch_size=2):
            model(batch).sum().backward()
""",
    """
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

def main(dataset):
    dist.init_process_group("gloo")
    for batch in DataLoader(dataset, sampler=DistributedSampler(dataset, shuffle=False)):
        mean = batch.mean()
        dist.all_reduce(mean)
""",
    """
import torch.distributed as dist
from torch.utils.data import DataLoader, Subset

def main(dataset):
    dist.init_process_group("gloo")
    share = Subset(dataset, range(dist.get_rank(), len(dataset), dist.get_world_size()))
    total = 0
    for batch in DataLoader(share, batch_size=2):
        total += batch.sum()
    dist.all_reduce(total)
""",
    """
import torch.distributed as dist
from torch.utils.data import DataLoader, Subset

def main(dataset):
    dist.init_process_group("gloo")
    share = Subset(dataset, range(0, 100))
    for batch in DataLoader(share, batch_size=2):
        mean = batch.mean()
        dist.all_reduce(mean)
""",
    """
import os
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from texts import Pairs

def setup():
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    return 0, 1

rank, size = setup()
pairs = Pairs("pairs.json")
count = len(pairs.rows) // size * size
mine = list(range(count))[rank::size]
pairs.rows = [pairs.rows[number] for number in mine]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
for x in DataLoader(pairs, batch_size=4):
    model(x).sum().backward()
dist.destroy_process_group()
""",
]

"""sampler-shuffle-conflict: seen in logs."""

EXAMPLES = {
    "[rank0]: ValueError: sampler option is mutually exclusive with shuffle": (
        "the loader was told twice which samples to take: sampler and shuffle"
    ),
    "ValueError: batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last": (
        "the loader was told twice which samples to take: batch_sampler and batch_size, shuffle, sampler, and "
        "drop_last"
    ),
    "ValueError: DataLoader with IterableDataset: expected unspecified shuffle option, but got shuffle=True": (
        "the loader was told twice which samples to take: shuffle and the order of an IterableDataset"
    ),
    (
        "ValueError: DataLoader with IterableDataset: expected unspecified sampler option, but got "
        "sampler=<torch.utils.data.distributed.DistributedSampler object at 0x7f0000000000>"
    ): "the loader was told twice which samples to take: sampler and the order of an IterableDataset",
    (
        "TypeError:  Lightning can't inject a (distributed) sampler into your batch sampler, because it doesn't subclass "
        "PyTorch's `BatchSampler`."
    ): "the loader was told twice which samples to take",
}
NOT_THIS = [
    "ValueError: num_samples should be a positive integer value, but got num_samples=0",
    "ValueError: batch_size=None option disables auto-batching and is mutually exclusive with drop_last",
    (
        "You seem to have configured a sampler in your DataLoader. This will be replaced by `DistributedSampler` since "
        "`use_distributed_sampler` is True"
    ),
]

FLAGGED = [
    """
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from parts import train_set

dist.init_process_group("nccl")
options = {"shuffle": True, "drop_last": True}
options["sampler"] = DistributedSampler(train_set)
options.pop("drop_last")
loader = DataLoader(train_set, **options)  # <-
""",
    """
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from corpus import load

dist.init_process_group("gloo")
data = load("train")
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_sampler=sampler, batch_size=32)  # <-
for epoch in range(3):
    sampler.set_epoch(epoch)
    for batch in loader:
        print(batch)
dist.destroy_process_group()
""",
    ("torchrun.py", {"sampler=sampler, num_workers=2)": "sampler=sampler, shuffle=True)  # <-"}),
    """
import torch
from torch.utils.data import DataLoader, DistributedSampler

def loaders(dataset, distributed):
    train_sampler = DistributedSampler(dataset) if distributed else None
    return DataLoader(dataset, 16, True, train_sampler)  # <-
""",
]
FINE = [
    """
import argparse
import os
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

p = argparse.ArgumentParser()
p.add_argument("--several", action="store_true")
several = p.parse_args().several
if several:
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
data = TensorDataset(torch.ones(64, 1))
sampler = DistributedSampler(data) if several else None
for epoch in range(2):
    if several:
        sampler.set_epoch(epoch)
    for (x,) in DataLoader(data, 8, shuffle=not several, sampler=sampler):
        print(x.sum())
if several:
    dist.destroy_process_group()
""",
    """
import torch.distributed as dist
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler
from parts import train_set

def loader(dataset, batch_sampler=None):
    options = dict(shuffle=True, batch_size=4, batch_sampler=batch_sampler)
    if options["batch_sampler"] is not None:
        del options["shuffle"]
        del options["batch_size"]
    return DataLoader(dataset, **options)

def other(dataset, sampler=None):
    options = {"shuffle": True, "sampler": sampler}
    if sampler is not None:
        options.pop("shuffle")
    return DataLoader(dataset, **options)

dist.init_process_group("nccl")
loader(train_set)
loader(train_set, BatchSampler(DistributedSampler(train_set), 4, True))
other(train_set)
other(train_set, DistributedSampler(train_set))
""",
    """
import torch.distributed as dist
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler
from corpus import load

def loader_of(data, batches, size):
    parameters = {"batch_size": size, "num_workers": 2}
    if batches:
        parameters["batch_sampler"] = BatchSampler(DistributedSampler(data), size, drop_last=True)
        del parameters["batch_size"]
    return DataLoader(data, **parameters)

dist.init_process_group("gloo")
for batch in loader_of(load("train"), True, 32):
    print(batch)
dist.destroy_process_group()
""",
    """
import torch.distributed as dist
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler
from corpus import load

dist.init_process_group("gloo")
data = load("train")
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_sampler=BatchSampler(sampler, 32, drop_last=True))
for epoch in range(3):
    sampler.set_epoch(epoch)
    for batch in loader:
        print(batch)
dist.destroy_process_group()
""",
    ("torchrun.py", {"sampler=sampler, num_workers=2)": "sampler=sampler, shuffle=(sampler is None))"}),
    ("torchrun.py", {"sampler=sampler, num_workers=2)": "sampler=sampler, shuffle=False)"}),
]

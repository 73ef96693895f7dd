"""split-unseeded: seen in a script, and in logs."""

FLAGGED = [
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
]
FINE = [
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

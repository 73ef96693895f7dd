"""split-unseeded: seen in a script, and in logs."""

FLAGGED = [
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

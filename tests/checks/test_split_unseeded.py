"""split-unseeded: seen in a script."""

FLAGGED = [
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

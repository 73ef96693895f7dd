"""split-unseeded: seen in a script, and in logs."""

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
EXAMPLES = {
    "[rank0]: AssertionError: the ranks split the data differently, so one trains on what another holds out": "the ranks split the data differently: some train on what others hold out"
}
NOT_THIS = ["the ranks split the data alike"]

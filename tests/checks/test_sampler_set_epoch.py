"""sampler-set-epoch: seen in a script, and in logs."""

FLAGGED = [
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
FINE = [
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
]
EXAMPLES = {
    "[rank1]: AssertionError: every epoch has the same order": (
        "the sampler yields the same order in every epoch: set_epoch is not called"
    ),
}
NOT_THIS = ["every epoch has another order", "sampler.set_epoch(epoch)"]

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
    ("torchrun.py", {"sampler=sampler, num_workers=2)": "sampler=sampler, shuffle=(sampler is None))"}),
    ("torchrun.py", {"sampler=sampler, num_workers=2)": "sampler=sampler, shuffle=False)"}),
]

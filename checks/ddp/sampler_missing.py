"""Every rank goes through the whole data set.

## What happens

Nothing is raised. An epoch on four ranks takes as many steps as on one, and each sample is learnt four times in it. What is
counted as "images per second" is four times too high for what is learnt.

## Why

A DataLoader knows nothing of ranks. Without a `DistributedSampler`, or a split of the data by rank, each rank's loader yields
the whole set, with `shuffle=True` in an order of its own. `IterableDataset` takes no sampler: it must split itself.

## How to tell

`print(rank, len(loader))`: it must be about a rank's part of what one process has. Or gather what each rank saw in one epoch:
`assert not set(seen[0]) & set(seen[1]), "ranks 0 and 1 are given the same samples"`. gpudoctor knows these words in a log.

## See also

- [DistributedSampler](https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler): each rank gets a part of the data
- [IterableDataset](https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset): each replica must be configured, against duplicates
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.WARNING,
    symptoms=[r"ranks (?P<first>\d+) and (?P<second>\d+) are given the same samples"],
    message="ranks <first> and <second> are given the same samples: their loaders have no sampler that divides the data",
    fixes=[
        Fix(
            "Give each rank a part of the data",
            "sampler = DistributedSampler(dataset, shuffle=True)\nloader = DataLoader(dataset, batch_size=32, sampler=sampler)",
            Kind.EDIT,
        ),
        Fix(
            "With Hugging Face's datasets",
            "dataset = datasets.distributed.split_dataset_by_node(dataset, rank=rank, world_size=world_size)",
            Kind.EDIT,
        ),
    ],
)

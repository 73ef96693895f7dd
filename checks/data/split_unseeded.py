"""Every rank splits the data into training and validation for itself.

## What happens

Nothing is raised. The accuracy on held-out data is better than it should be, because what one rank holds out another one
trains on, and their gradients are shared.

## Why

`random_split`, `random.shuffle` and scikit-learn's `train_test_split` draw from a generator that differs between the ranks:
where no seed is set, each process starts with one of its own, and after `torch.manual_seed(seed + rank)` they differ on
purpose. A split needs one seed for all ranks.

## How to tell

Gather the indices: `assert parts[0] == parts[1], "the ranks split the data differently"`. gpudoctor knows these words in a log.

## See also

- [random_split](https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.random_split): takes a generator, to be reproducible
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[r"the ranks split the data differently"],
    message="the ranks split the data differently: some train on what others hold out",
    fixes=[
        Fix(
            "Split with a generator of its own, of one seed for all",
            "train, held_out = random_split(dataset, [0.8, 0.2], generator=torch.Generator().manual_seed(0))",
            Kind.EDIT,
        ),
    ],
)

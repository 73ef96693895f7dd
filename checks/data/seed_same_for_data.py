"""All ranks draw the same random numbers for their samples.

## What happens

Nothing is raised. Crops, masks, noise and dropout are the same on all ranks in a step, so the batch of all ranks has less
variety than its size promises.

## Why

`torch.manual_seed(0)` on every rank gives all of them one sequence of numbers. For the weights that is wanted; what is drawn
for the samples after it should differ. The sampler must keep one seed on all ranks: it makes one order, and each rank takes
its share of it.

## How to tell

Gather one random tensor that is drawn after the seed is set: `assert not torch.equal(drawn[0], drawn[1]), "the ranks draw the
same random numbers"`. gpudoctor knows these words in a log.

## See also

- [Reproducibility](https://docs.pytorch.org/docs/stable/notes/randomness.html): what manual_seed covers, and the workers of a DataLoader
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.WARNING,
    symptoms=[r"the ranks draw the same random numbers"],
    message="the ranks draw the same random numbers: one seed for all makes their noise and augmentation the same",
    fixes=[
        Fix(
            "Give each rank a seed of its own, after the model is made",
            "torch.manual_seed(seed + dist.get_rank())",
            Kind.EDIT,
            proof="+ dist.get_rank())",
        ),
    ],
)

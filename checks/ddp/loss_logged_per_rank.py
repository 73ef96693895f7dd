"""The loss that is logged is that of one rank's samples.

## What happens

Nothing is raised. The curve that rank 0 writes is noisier than the training, and a validation loss or accuracy is that of a
part of the data. Runs with another number of ranks cannot be compared.

## Why

DDP averages gradients, never the loss. Each rank knows the loss of its own share alone.

## How to tell

Gather the losses of a step: `assert torch.allclose(logged, mean), f"the loss that rank {rank} logs is not the mean of the ranks"`.
gpudoctor knows these words in a log.

## See also

- [all_reduce](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce): sums over all ranks
- [reduce](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.reduce): the same, for one rank alone
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.NOTE,
    symptoms=[r"the loss that rank (?P<rank>\d+) logs is not the mean"],
    message="rank <rank> logs the loss of its own samples, not the mean of all ranks",
    fixes=[
        Fix(
            "Average what is logged, on all ranks, and print on one",
            "logged = loss.detach().clone()\ndist.all_reduce(logged)\nlogged /= dist.get_world_size()\nif rank == 0:\n    print(logged.item())",
            Kind.EDIT,
        ),
    ],
)

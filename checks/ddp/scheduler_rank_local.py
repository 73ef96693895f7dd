"""Each rank steps its schedule or stops by a figure of its own.

## What happens

Nothing is raised at first. After some epochs the ranks have different learning rates, and their weights drift apart though
the gradients are averaged. With early stopping one rank leaves the loop, and the others wait for it for ever.

## Why

`ReduceLROnPlateau.step(loss)` and "no better for 5 epochs" decide by the loss of this rank's share of the validation data, and
the shares differ. What all ranks must do together must be decided from one number.

## How to tell

Gather the rates after each epoch: `assert rates[0] == rates[1], f"the ranks have different learning rates: {rates}"`. gpudoctor
knows these words in a log.

## See also

- [ReduceLROnPlateau](https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html): steps by the figure that it is given
- [all_reduce](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce): one number for all ranks
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[r"the ranks have different learning rates"],
    message="the ranks have different learning rates: each decided by its own validation loss",
    fixes=[
        Fix(
            "Decide by the mean of all ranks",
            "dist.all_reduce(loss)\nloss /= dist.get_world_size()\nscheduler.step(loss.item())",
            Kind.EDIT,
        ),
    ],
)

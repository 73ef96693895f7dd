"""The sampler is never told the epoch, so every epoch has the same order.

## What happens

Nothing is raised. With a `DistributedSampler` every epoch takes the same samples in the same order, and each rank gets the
same share each time: the model learns a little worse than it could, and nobody sees why.

## Why

`DistributedSampler(shuffle=True)` shuffles with `seed + epoch`, so that all ranks make one and the same order. The epoch is
0 until `set_epoch` is called. Without a sampler a DataLoader draws anew in each epoch, so what worked on one GPU is lost.

## How to tell

Collect what two epochs yield and compare it on one rank: `assert orders[0] != orders[1], "every epoch has the same order"`.
gpudoctor knows these words in a log.

## See also

- [DistributedSampler](https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler): set_epoch at the start of each epoch, before the loader is iterated
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.WARNING,
    symptoms=[r"every epoch has the same order"],
    message="the sampler yields the same order in every epoch: set_epoch is not called",
    fixes=[
        Fix(
            "Tell the sampler the epoch, before the loader is iterated",
            "for epoch in range(epochs):\n    sampler.set_epoch(epoch)\n    for batch in loader:\n        step(batch)",
            Kind.EDIT,
        ),
    ],
)

"""Each rank's BatchNorm sees its own part of the batch alone.

## What happens

Nothing fails. Mean and variance are those of one GPU's samples: with few samples per GPU they are noisy, and training with
several GPUs comes out worse than with one at the same global batch. What is saved are rank 0's statistics.

## Why

DistributedDataParallel averages gradients. It copies BatchNorm's running statistics from rank 0 to the others, and computes
none together.

## How to tell

Compare validation with one GPU and with several, at the same global batch. The fewer samples each GPU has, the more it matters:
detection and segmentation mostly want the synchronised form.

Or have the script check it after a forward pass, with the `running_mean` that `dist.all_gather` brings from all ranks:
`assert torch.allclose(*means), f"BatchNorm has other statistics on each rank: {means}"`.
`gpudoctor explain` recognises that message in a log.

## See also

- [SyncBatchNorm](https://docs.pytorch.org/docs/stable/generated/torch.nn.SyncBatchNorm.html): `convert_sync_batchnorm`, GPUs only
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Script, batch_norm

check = Check(
    severity=Severity.NOTE,
    symptoms=[r"BatchNorm has other statistics on each rank"],  # the assertion of "How to tell"
    message="each rank's BatchNorm computed its statistics from its own samples alone",
    fixes=[
        Fix(
            "With few samples per GPU: let the ranks compute the statistics together, before the wrap",
            "model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)\n"
            "model = DistributedDataParallel(model, device_ids=[local_rank])",
            Kind.EDIT,
            proof="nn.SyncBatchNorm.convert_sync_batchnorm(model)",
        )
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A DistributedDataParallel around a model with BatchNorm that nobody converts."""
    if any(
        "sync_batchnorm" in call.method.lower() or "syncbn" in call.method.lower() for call in script.calls
    ):
        return
    for wrapper in script.of_kind("ddp"):
        inner = script.innermost(wrapper)
        normed = batch_norm(script, inner) if inner is not wrapper else None
        if normed is not None:
            yield check.found(
                f"the model has BatchNorm (line {normed}), whose statistics each rank computes from its own samples alone: "
                "noisy with few samples per GPU",
                location=wrapper.place,
            )
            return

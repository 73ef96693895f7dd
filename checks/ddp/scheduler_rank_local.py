"""Each rank steps its learning rate on a number of its own.

## What happens

Nothing fails. `ReduceLROnPlateau` lowers the learning rate on one rank and not on another, and from then on the ranks' parameters drift
apart: DistributedDataParallel averages gradients, and each rank applies them with its own learning rate.

## Why

The validation loss was computed on each rank, on its own samples.

## How to tell

Print `optimizer.param_groups[0]["lr"]` on every rank after some epochs.

Or have the script check it: gather the rates: `assert rates[0] == rates[1], "the ranks have different learning rates"`.
`gpudoctor explain` recognises that message in a log.

## See also

- [torch.optim.lr_scheduler.ReduceLROnPlateau](https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html): `step(metrics)`
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Script

check = Check(
    severity=Severity.WARNING,
    symptoms=[r"the ranks have different learning rates"],
    message="the ranks have different learning rates: each decided by its own validation loss",
    fixes=[
        Fix(
            "Average the number over the ranks first",
            "metric = torch.tensor(validation_loss, device=device)\ndist.all_reduce(metric)\n"
            "scheduler.step(metric.item() / dist.get_world_size())",
            Kind.EDIT,
            proof="dist.all_reduce(",
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A schedule that is stepped with what this rank alone has computed."""
    if not script.distributed or script.frameworks:
        return
    for scheduler in script.of_kind("scheduler"):
        if not scheduler.type.endswith("ReduceLROnPlateau"):
            continue
        for call in script.uses(scheduler):
            if call.method == "step" and any(
                argument.value.from_data for argument in call.arguments.values()
            ):
                yield check.found(
                    f"{next(iter(call.arguments.values())).text} is this rank's own: the ranks lower their learning rates at "
                    "different times, and their models drift apart",
                    location=call.place,
                )
                return

"""The loss that is logged is that of one rank.

## What happens

Nothing fails. The curve is that of rank 0's share of the data: noisier than the loss of the whole batch, and not what another number of
ranks gives.

## Why

DistributedDataParallel averages gradients, not losses. `loss.item()` is computed from this rank's samples.

## How to tell

Print it on two ranks, in the same step: the numbers differ.

Or have the script check it: gather the losses of a step: `assert torch.allclose(logged, mean), f"the loss that rank {rank} logs is not the mean of the ranks"`.
`gpudoctor explain` recognises that message in a log.

## See also

- [torch.distributed.all_reduce](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce): sums a tensor over all ranks
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Script, of_several

check = Check(
    severity=Severity.NOTE,
    symptoms=[r"the loss that rank (?P<rank>\d+) logs is not the mean"],
    message="rank <rank> logs the loss of its own samples, not the mean of all ranks",
    fixes=[
        Fix(
            "Average it over the ranks before it is logged; every rank takes part",
            "mean = loss.detach().clone()\ndist.all_reduce(mean)\nmean /= dist.get_world_size()",
            Kind.EDIT,
            proof="dist.all_reduce(",
        ),
    ],
)


LOGGING = frozenset(
    "add_scalar add_scalars log log_metric log_metrics info set_postfix set_postfix_str set_description".split()
)
"""Methods by which writers, loggers and progress bars are told a number."""


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A loss that a rank prints or logs in a program of several, and that no collective has averaged."""
    if script.frameworks or not (script.distributed or script.launched):
        return
    for call in script.calls:
        if (call.name != "print" and call.method not in LOGGING) or not of_several(script, call):
            continue
        if not call.loops and call.reached:
            continue
        given = call.arguments.values()
        named = any(
            "loss" in a.text.lower() for a in given
        )  # the number itself, or the name that it is logged by
        if named and any(a.value.from_data for a in given):
            yield check.found(
                "this is the loss of one rank's samples: nothing averages it over the ranks",
                location=call.place,
            )
            return

"""Each rank steps its learning rate on a number of its own.

## What happens

Nothing fails. `ReduceLROnPlateau` lowers the learning rate on one rank and not on another, and from then on the ranks' parameters drift
apart: DistributedDataParallel averages gradients, and each rank applies them with its own learning rate.

## Why

The validation loss was computed on each rank, on its own samples. Or the schedule is stepped under `if rank == 0:`, as a log line
would be: then rank 0 alone changes its learning rate.

## How to tell

Print `optimizer.param_groups[0]["lr"]` on every rank after some epochs.

Or have the script check it: gather the rates: `assert rates[0] == rates[1], "the ranks have different learning rates"`.
`gpudoctor explain` recognises that message in a log.

## See also

- [torch.optim.lr_scheduler.ReduceLROnPlateau](https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html): `step(metrics)`
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Script

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

ALL = Fix(
    "Step the schedule on every rank, with a number that is the same on all",
    "scheduler.step()  # not under `if rank == 0:`",
    Kind.EDIT,
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A schedule that is stepped with what this rank alone has computed."""
    if not script.distributed or script.frameworks:
        return
    if (alone := _by_some(script)) is not None:
        yield check.found(
            f"only the ranks for which `{alone.rank_conditions[-1].text}` "
            f"{'does not hold' if alone.rank_conditions[-1].negated else 'holds'} step the schedule: the others keep their "
            "learning rate, and the models drift apart",
            location=alone.place,
            fixes=[ALL],
        )
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


def _by_some(script: Script) -> Call | None:
    """Return where a schedule is stepped by some ranks, though all step the optimizer and none is told the rate."""
    if not any(
        step.reached and step.loops and not step.rank_conditions
        for step in script.methods("step", "optimizer", "scaler")
    ):
        return None
    stepped = [call for call in script.methods("step", "scheduler") if call.reached]
    if any(not call.rank_conditions for call in stepped):
        return None
    sides = {(c.place, c.negated) for call in stepped for c in call.rank_conditions}
    for call in stepped:
        other = any((c.place, not c.negated) in sides for c in call.rank_conditions)
        told = any(
            later.collective
            and later.loops
            and "broadcast" in later.name + later.method
            and later.number > call.number
            for later in script.calls
        )
        if call.loops and not other and not told:
            return call
    return None

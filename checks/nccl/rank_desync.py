"""Some ranks wait in a collective that others never reach.

## What happens

A barrier says who is missing: "Rank 0 timed out waiting for 1 rank(s): 3", "Ranks 1, 2 failed to pass
monitoredBarrier in 120000 ms", or `Join`'s "Detected at least one rank that exhausted inputs". Without such a barrier
the same fault is a hang, and after the time-out `nccl-timeout`.

## Why

- The ranks have different numbers of batches: a length that the world size does not divide, or a filter per rank.
- A collective stands in `if rank == 0:` (saving, evaluating, logging with `all_reduce`), or is skipped by `continue`.
- One rank took another branch because its data said so (`if loss.isnan(): continue`).
- That rank died; its own output says of what.

## How to tell

`TORCH_DISTRIBUTED_DEBUG=DETAIL` puts a barrier in front of every collective and names the ranks that miss it and what
each rank calls. `len(loader)` printed on every rank must be one number.

## See also

- [monitored_barrier](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.monitored_barrier)
- [Join: uneven inputs](https://docs.pytorch.org/tutorials/advanced/generic_join.html)
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"\[Rank (?P<waiting>\d+)\]: (?:Rank|Ranks) (?P<missing>[\d, ]+) failed to pass monitoredBarrier in (?P<ms>\d+) ms",
        r"Ranks? (?P<missing>[\d, ]+) failed to pass monitoredBarrier in (?P<ms>\d+) ms",
        r"Rank (?P<waiting>\d+) timed out waiting for (?:\d+ )?rank(?:\(s\))?:? ?(?P<missing>[\d, ]+)?",
        r"Detected at least one rank that exhausted inputs",
        r"Rank (?P<waiting>\d+) successfully reached monitoredBarrier, but received errors while waiting",
    ],
    message="[rank <waiting> waited for ][rank <missing>, which ]did not come to the barrier[ within <ms> ms]",
    fixes=[
        Fix(
            "Give every rank the same number of batches",
            "DataLoader(dataset, sampler=DistributedSampler(dataset, drop_last=True), drop_last=True)",
            Kind.EDIT,
        ),
        Fix(
            "Or let the ranks that are done answer for the rest",
            "with torch.distributed.algorithms.join.Join([model]):\n    train_one_epoch()",
            Kind.EDIT,
        ),
        Fix(
            "Take collectives out of branches that some ranks do not enter",
            "dist.all_reduce(loss)  # on every rank\nif rank == 0:\n    print(loss.item())",
            Kind.EDIT,
        ),
        Fix(
            "See which rank calls what",
            "TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun --nproc-per-node=gpu train.py",
        ),
    ],
)

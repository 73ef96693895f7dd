"""Every rank saves the whole checkpoint to one path.

## What happens

Mostly nothing is raised, until a job is ended while it saves, or the disk is slow: then the file is cut off or mixed
(`checkpoint-corrupt`). Saving takes as many times longer as there are ranks.

## Why

`torch.save(...)` stands outside of `if rank == 0:`. With DistributedDataParallel all ranks hold the same weights, so one file is
enough. Sharded models (FSDP, DeepSpeed) are different: there every rank must take part, through their own functions.

## How to tell

Count the ranks that write: `assert sum(writers) == 1, f"{sum(writers)} ranks wrote the same checkpoint"`. gpudoctor knows these
words in a log.

## See also

- [DDP tutorial: save and load](https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints): save in one process, and let the others wait before they load
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.WARNING,
    symptoms=[r"(?P<ranks>\d+) ranks wrote the same checkpoint"],
    message="<ranks> ranks wrote the same checkpoint: they overwrite each other's file while it is written",
    fixes=[
        Fix(
            "Save on rank 0, and let the others wait before they read it",
            'if dist.get_rank() == 0:\n    torch.save(model.module.state_dict(), "model.pt")\ndist.barrier()',
            Kind.EDIT,
        ),
    ],
)

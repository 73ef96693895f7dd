"""A context manager that chooses the GPU is called and never entered.

## What happens

Nothing is raised. Every rank works on GPU 0: it runs out of memory, NCCL says "Duplicate GPU detected", or the job is slow.

## Why

`torch.accelerator.device_index(local_rank)` and `torch.cuda.device(local_rank)` are context managers: without `with` they do
nothing. The functions are `torch.accelerator.set_device_index` and `torch.cuda.set_device`.

## How to tell

Below the line: `assert device.index == local_rank, f"local rank {local_rank} works on {device}"` for a tensor made with
`device="cuda"`. gpudoctor knows these words in a log.

## See also

- [device_index](https://docs.pytorch.org/docs/stable/generated/torch.accelerator.device_index.html): a context manager
- [set_device_index](https://docs.pytorch.org/docs/stable/generated/torch.accelerator.set_device_index.html): sets it for the process
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[r"local rank (?P<rank>\d+) works on (?P<device>cuda:\d+)"],
    message="local rank <rank> works on <device>: the line that should choose its GPU does nothing",
    fixes=[
        Fix(
            "Choose the GPU for the whole process",
            "torch.accelerator.set_device_index(local_rank)",
            Kind.EDIT,
        ),
        Fix("The same for CUDA alone, in older releases too", "torch.cuda.set_device(local_rank)", Kind.EDIT),
    ],
)

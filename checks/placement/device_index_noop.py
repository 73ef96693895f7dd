"""device_index is called as if it chose the GPU.

## What happens

`torch.accelerator.device_index(rank)` as a statement of its own changes nothing: every rank goes on with GPU 0.

## Why

It is a context manager: the device is current inside of `with torch.accelerator.device_index(rank):` and nowhere else. The function
that sets it for good is `torch.accelerator.set_device_index`.

## How to tell

Print `torch.accelerator.current_device_index()` in the next line.

Or have the script check it: make a tensor with `device="cuda"` below it: `assert device.index == local_rank, f"local rank {local_rank} works on {device}"`.
`gpudoctor explain` recognises that message in a log.

## See also

- [device_index](https://docs.pytorch.org/docs/stable/generated/torch.accelerator.device_index.html): a context manager
- [set_device_index](https://docs.pytorch.org/docs/stable/generated/torch.accelerator.set_device_index.html): sets the device for good
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Script

check = Check(
    severity=Severity.ERROR,
    symptoms=[r"local rank (?P<rank>\d+) works on (?P<device>cuda:\d+)"],
    message="local rank <rank> works on <device>: the line that should choose its GPU does nothing",
    fixes=[
        Fix(
            "Set the device for good",
            "torch.accelerator.set_device_index(local_rank)",
            Kind.EDIT,
            proof="torch.accelerator.set_device_index(local_rank)",
        ),
        Fix("The same, on CUDA alone", "torch.cuda.set_device(local_rank)", Kind.EDIT),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A context manager that is called and not entered."""
    for call in script.named("torch.accelerator.device_index", "torch.cuda.device"):
        if not call.used:
            yield check.found(
                f"{call.text}(...) is a context manager: without a with-statement it changes nothing, and the rank stays on "
                "the GPU that was current, GPU 0 where nothing else chose one",
                location=call.place,
            )

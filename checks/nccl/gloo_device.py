"""The gloo or libuv transport that was asked for is not in this build of torch.

## What happens

`init_process_group("gloo")` fails with "makeDeviceForHostname(): unsupported gloo device", or torchrun and the store
with "use_libuv was requested but PyTorch was build without libuv support" (sic, in torch 2.4 to 2.6).

## Why

- Since torch 2.4 the store uses libuv unless told otherwise, and some Windows builds of torch lack libuv.
- On Windows and macOS gloo itself works over libuv; a build without it has no gloo device at all.
- GLOO_DEVICE_TRANSPORT names a transport that is not compiled in: UV, TCP_TLS or IBVERBS, on Linux only TCP is certain.

## How to tell

`python -c "import os; print({k: v for k, v in os.environ.items() if 'GLOO' in k or 'LIBUV' in k})"` shows what is asked
for. `python -c "import torch.distributed as d; print(d.is_gloo_available())"` shows whether gloo is there at all. With
one GPU no process group is needed at all: start the script with `python`, not with `torchrun`.

## See also

- [pytorch#139990](https://github.com/pytorch/pytorch/issues/139990): libuv on Windows
- [TCPStore with libuv](https://docs.pytorch.org/tutorials/intermediate/TCPStore_libuv_backend.html): three ways to do without it
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Host, Launch, Torch

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning for a transport that some builds have",
    symptoms=[
        r"makeDeviceFor(?:Hostname|Interface)\(\): unsupported gloo device",
        r"make(?P<transport>[A-Z]+)Device\(\): interface or hostname can't be empty",
        r"use_libuv was requested but PyTorch was buil[dt] without libuv support",
        r"libuv TCPStore backend does not support initialization with an listen fd",
        r"Gloo was not compiled with (?P<transport>\w+) support",
    ],
    message="a transport[ (<transport>)] is asked for that this build of torch cannot use, so the ranks cannot connect",
    fixes=[
        Fix(
            "Use the store without libuv (Windows: `set USE_LIBUV=0`, PowerShell: `$env:USE_LIBUV=0`)",
            "export USE_LIBUV=0",
        ),
        Fix("Let gloo choose its transport", "unset GLOO_DEVICE_TRANSPORT", proof="GLOO_DEVICE_TRANSPORT"),
        Fix(
            "Where the launcher ignores USE_LIBUV, say it in the address",
            'dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29500?use_libuv=0", rank=0, world_size=1)',
            Kind.EDIT,
        ),
        Fix(
            "Install a build that has it, or work in WSL2",
            "python -m pip install --upgrade torch torchvision",
        ),
    ],
)


# What torch can be built with, and what its wheels have: on Linux all others were refused (tried, torch 2.15).
KNOWN = {"Linux": ("TCP_TLS", "UV", "IBVERBS"), "Darwin": (), "Windows": ()}
SURE = {"Linux": "TCP", "Darwin": "UV", "Windows": "UV"}
UNSET = Fix("Let gloo choose its transport", "unset GLOO_DEVICE_TRANSPORT")


@check.environment
def environment(launch: Launch, host: Host | None, torch: Torch | None) -> Iterator[Finding]:
    """GLOO_DEVICE_TRANSPORT names a transport that there is not, or that torch's wheels do not have."""
    value = launch.variables.get("GLOO_DEVICE_TRANSPORT")
    system = host.system if host and host.system in KNOWN else "Linux"
    if not value or value == SURE[system] or (torch and torch.gloo_available is False):
        return
    if value in KNOWN[system]:
        message = f"GLOO_DEVICE_TRANSPORT={value}: torch's own wheels are built without it, and gloo then makes no group"
        yield check.found(message, severity=Severity.WARNING, fixes=[UNSET])
    else:
        message = (
            f"GLOO_DEVICE_TRANSPORT={value}: gloo on {system} has no such transport, so no group can be made"
        )
        yield check.found(message, fixes=[UNSET])

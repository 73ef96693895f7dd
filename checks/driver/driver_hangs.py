"""A call into the NVIDIA driver does not come back.

## What happens

`nvidia-smi` shows nothing and cannot be ended, not with Ctrl-C and often not with `kill -9`; `torch.cuda.is_available()`
or the first `.cuda()` never returns; every rank waits before its first message. `ps` shows such processes in
state D.

## Why

The library waits in the kernel for a GPU that does not answer: it fell off the bus, its firmware (GSP) hangs, or
another process holds the driver's lock while it waits for such a GPU. A driver release may have a fault of its own, and
on a machine of many GPUs without persistence mode the first call starts every GPU again, which takes a while and ends.

## How to tell

`sudo dmesg -T | grep -iE "xid|nvrm|blocked for more than" | tail` names the GPU. `ps -e -o pid,stat,wchan:30,comm | grep " D"`
lists who waits in the kernel. `timeout 60 nvidia-smi -L` tells a slow driver from one that hangs.

## See also

- [go-nvml 152](https://github.com/NVIDIA/go-nvml/issues/152): nvmlInit that hangs, and releases of the driver that do
- [gpud 117](https://github.com/leptonai/gpud/pull/117): nvidia-smi stuck in state D after an Xid
- [Xid errors](https://docs.nvidia.com/deploy/xid-errors/index.html): what the kernel log says of the GPU
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Symptom, listed
from gpudoctor.facts import Cuda, Gpus, Torch

LOOK = Fix(
    "See which GPU it waits for",
    'sudo dmesg -T | grep -iE "xid|nvrm|blocked for more than" | tail -n 20',
    Kind.ADMIN,
)
LEAVE_OUT = Fix(
    "On a cluster: leave this node out, and send the administrators its name", "sbatch --exclude=NODE job.sh"
)
PERSISTENCE = Fix(
    "Keep the driver awake, so that the first call does not start every GPU again",
    "sudo nvidia-smi --persistence-mode=1",
    Kind.ADMIN,
)
RESET = Fix(
    "Once nothing uses the GPU that the kernel log names: reset it (here GPU 0)",
    "sudo nvidia-smi --gpu-reset -i 0",
    Kind.ADMIN,
)
REBOOT = Fix(
    "Restart the machine; where it does not come down, switch it off and on", "sudo reboot", Kind.ADMIN
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where persistence mode is off, or CUDA itself answered in time",
    words_stand=True,
    symptoms=[
        r"nvidia-container-cli: (?:detection|initialization) error: driver (?:rpc )?error: timed out",
        Symptom(  # as people put it
            r"^(?!.*\b(?:[Ff]ix(?:ed|es)?|[Ss]olved|[Aa]void\w*|[Pp]revent\w*|no longer hangs?|if|until)\b).*\bnvidia-smi[`'\"]{0,3}(?: commands?| -\w+)?"
            r"(?: (?:also|then|now|just|itself|always|even|often|simply|completely|command|will))*? "
            r"(?:hangs?|hung|freezes|froze|never returns|blocks forever|is (?:stuck|hanging|frozen|unresponsive|not responding|blocked)|gets stuck|"
            r"(?:does not|doesn't|did not|didn't|won't|will not|no longer) (?:respond|return|answer|finish|come back)s?)\b",
            asked=True,
        ),
    ],
    message="the driver did not answer in time: no container with a GPU can be started, and what calls it hangs",
    follows=["gpu-fell-off-bus", "gpu-reset-required", "gpu-xid"],
    fixes=[LEAVE_OUT, LOOK, PERSISTENCE, RESET, REBOOT],
    no_reproduction="needs a GPU whose driver hangs",
)


@check.environment
def environment(cuda: Cuda | None, gpus: Gpus | None, torch: Torch | None) -> Iterator[Finding]:
    """A call of the CUDA driver library, of NVML or of torch into them passed its deadline."""
    if cuda is None and gpus is None and torch is None:
        raise CannotTell("neither NVML nor the CUDA driver library was asked")
    calls = list(_hanging(cuda, gpus, torch))
    if not calls:
        return
    asleep = gpus is not None and any(gpu.persistence is False for gpu in gpus.devices)
    # CUDA itself came back in time, and torch a little later may do so, too.
    late = cuda is not None and cuda.init is not None and not (gpus and gpus.hanging)
    message = f"{', '.join(calls)}: a training that makes that call hangs"
    if asleep:
        # Persistence mode off, a driver that starts eight GPUs anew may just be slow.
        message += "; persistence mode is off, so the driver may only be slow to start its GPUs"
    yield check.found(
        message,
        severity=Severity.WARNING if asleep or late else None,
        fixes=[LEAVE_OUT, LOOK, *([PERSISTENCE] if asleep else []), RESET, REBOOT],
    )


def _hanging(cuda: Cuda | None, gpus: Gpus | None, torch: Torch | None) -> Iterator[str]:
    """Name the calls that did not come back, the lowest library first; torch's only where no other one is named."""
    found = False
    if gpus is not None and gpus.hanging:
        found = True
        yield f"NVML's {listed(gpus.hanging, 1, noun='call')} did not return"
    if cuda is not None and _late(cuda.interrupted):
        found = True
        yield f"{cuda.stage or 'the CUDA driver library'}: {cuda.interrupted}"
    if torch is not None and not found and _late(torch.interrupted) and torch.stage.startswith("torch.cuda."):
        yield f"{torch.stage}: {torch.interrupted}"


def _late(how: str | None) -> bool:
    return how is not None and how.startswith("no answer")

"""DataParallel without a GPU is silently the bare module.

## What happens

`nn.DataParallel(model)` raises nothing, `model.device_ids` is empty, and the training runs on the CPU in one process, many
times slower.

## Why

DataParallel looks which GPUs torch can use. Where there are none it keeps the module as it is, without a warning, and
`forward` calls it directly. So a driver that does not answer, a build for the CPU or an empty CUDA_VISIBLE_DEVICES shows
as slowness alone.

## How to tell

`print(model.device_ids)` after the wrapper prints `[]`; `python -c "import torch; print(torch.cuda.is_available())"`
prints False.

## See also

- [DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html): device_ids
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, count
from gpudoctor.facts import Gpus, Pci, Torch

check = Check(
    severity=Severity.NOTE,
    background=True,
    follows=[
        "driver-not-loaded", "driver-library-mismatch", "container-lost-gpu", "cuda-driver-too-old",
        "cuda-init-failed", "fabric-manager-down", "torch-cpu-build", "cuda-visible-devices",
        "gpu-fell-off-bus", "torch-import-broken",
    ],
    fixes=[
        Fix(
            "Say so in the script, instead of training on the CPU unseen",
            'if not torch.cuda.is_available():\n    raise SystemExit("no GPU")',
            Kind.EDIT,
        ),
        Fix("See what the machine lacks", "gpudoctor check"),
    ],
    no_reproduction="nothing fails: the wrapper is the bare module",
)  # fmt: skip


@check.environment
def environment(torch: Torch, pci: Pci | None, gpus: Gpus | None) -> Iterator[Finding]:
    """There are several GPUs, and torch can use none."""
    if torch.cuda_available is not False or torch.hip or torch.xla:
        return
    here = max(len(pci.usable) if pci else 0, len(gpus.devices) if gpus else 0)
    if here < 2:
        return
    message = (
        f"torch can use none of {count(here, 'GPU')}: nn.DataParallel then trains on the CPU without a word"
    )
    yield check.found(message)

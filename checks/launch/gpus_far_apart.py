"""The chosen GPUs are on two sockets, and others are close together.

## What happens

Nothing fails. All-reduce is slower than it could be: what one GPU sends another goes through both processors and the link
between them, where an NVLink or one PCIe switch would do.

## Why

`CUDA_VISIBLE_DEVICES` names GPUs by number, and the numbers say nothing of how GPUs are joined. In a server with eight cards
0 to 3 mostly hang on one processor and 4 to 7 on the other; a bridge joins two neighbours.

## How to tell

`nvidia-smi topo -m` shows how each two are connected: NV (NVLink) is best, then PIX, PXB, PHB and NODE; SYS goes from one
processor to the other. `gpudoctor check` prints the same matrix.

## See also

- [nvidia-smi topo](https://docs.nvidia.com/deploy/nvidia-smi/index.html): what the letters mean
- [NCCL: environment variables](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html): NCCL_P2P_LEVEL goes by them
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Severity
from gpudoctor.facts import Gpu, Gpus, Launch, Pci

NAME = "CUDA_VISIBLE_DEVICES"
CLOSE = ("NV", "PIX", "PXB", "PHB")
"""Over one switch, or one host bridge at most."""
SAME_SOCKET = "NODE"
FAR = "SYS"
# A driver's own share is counted too on some GPUs; who trains holds more.
HELD = 1 << 30

check = Check(
    severity=Severity.NOTE,
    fixes=[Fix("See how the GPUs are connected", "nvidia-smi topo -m")],
    no_reproduction="needs GPUs on two sockets",
)


@check.environment
def environment(gpus: Gpus, launch: Launch, pci: Pci | None) -> Iterator[Finding]:
    """CUDA_VISIBLE_DEVICES leaves GPUs of two sockets, where as many that are free are close together."""
    if gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
    visible = launch.variables.get(NAME)
    if visible is None or "SLURM_JOB_ID" in launch.variables or "KUBERNETES_SERVICE_HOST" in launch.variables:
        return  # nobody chose, or a scheduler did
    chosen = gpus.chosen(visible)
    if not 1 < len(chosen) < len(gpus.read):
        return
    if not gpus.pairs:
        raise CannotTell("how the GPUs are connected is not known")
    apart = [(a, b) for n, a in enumerate(chosen) for b in chosen[n + 1 :] if _path(gpus, a, b) == FAR]
    better = _together(gpus, chosen, CLOSE) or _together(gpus, chosen, (*CLOSE, SAME_SOCKET))
    if not apart or not better:
        return
    first, second = apart[0]
    named = ", ".join(str(gpu.index) for gpu in better)
    path = _path(gpus, better[0], better[1])
    how = "on one" if path == SAME_SOCKET else "close together"
    message = (
        f"{NAME}={visible}: GPU {first.index} and GPU {second.index} are on two sockets (SYS), while GPUs {named} are free and "
        f"{how} ({path}): what the ranks exchange takes the longest way there is"
    )
    fixes = [
        Fix("Take GPUs that are close together", f"export {NAME}={named.replace(' ', '')}"),
        *check.fixes,
    ]
    yield check.found(message, fixes=fixes)


def _path(gpus: Gpus, first: Gpu, second: Gpu) -> str:
    pair = gpus.pair(first.index, second.index)
    return pair.path if pair is not None else ""


def _together(gpus: Gpus, chosen: list[Gpu], close: tuple[str, ...]) -> list[Gpu]:
    """Return as many free GPUs of the same model as were chosen that are all joined so; empty: there are none."""
    ours = {gpu.index for gpu in chosen}
    models = {gpu.name for gpu in chosen}
    usable = [
        gpu for gpu in gpus.read if gpu.name in models and not gpu.gone and (gpu.index in ours or _free(gpu))
    ]
    for first in usable:
        near = [first]
        for gpu in usable:
            if gpu is not first and all(_path(gpus, gpu, other).startswith(close) for other in near):
                near.append(gpu)
            if len(near) == len(chosen):
                return sorted(near, key=lambda gpu: gpu.index)
    return []


def _free(gpu: Gpu) -> bool:
    held = (gpu.memory_used_bytes or 0) - (gpu.memory_reserved_bytes or 0)
    return not gpu.processes and held < HELD

"""The GPUs of this job differ in model or memory.

## What happens

`DataParallel` warns "There is an imbalance between your GPUs. You may want to exclude GPU 1 which has less than 75% of
the memory or cores of GPU 0". vLLM warns "Detected different devices in the system". Without either, steps are as slow
as the slowest card, and one rank alone runs out of memory.

## Why

Ranks get equal shares, and every step waits for all of them: the fastest card works at the pace of the slowest, and the
batch must fit the smallest. An old card may also need another build of torch (`gpu-arch-unsupported`). With
`CUDA_DEVICE_ORDER` unset, CUDA puts the fastest first, so that its numbers differ from those of `nvidia-smi`.

## How to tell

`nvidia-smi --query-gpu=index,name,memory.total,compute_cap --format=csv` lists the cards. An error in the same
log is the one to look at first: `cuda-oom` of the small card, for one.

## See also

- [DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html): `device_ids` chooses the cards
- [pytorch/examples 343](https://github.com/pytorch/examples/issues/343): the warning about an imbalance
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Symptom, byte_size, count, listed
from gpudoctor.facts import Gpu, Gpus, Launch, Pci

UNEQUAL = 0.95
"""Of the largest memory: equal cards differ by the few MiB that a display takes, ECC in memory costs a sixteenth."""
# Lists of nvidia-smi -L and torch's collect_env; two names, of which neither is the other.
NAME = r"[^\n(]{3,60}?"
END = r"(?: \(UUID[^\n]{0,80})?\s*(?:\n|$)"
LIST = rf"GPU 0: (?P<first>{NAME}){END}(?:GPU \d+: (?P=first){END}){{0,15}}GPU \d+: (?!(?P=first){END})(?P<other>{NAME}){END}"
FOR_A_SCREEN = ("NVIDIA DGX Display", "DGX Display")
"""The card of 4 GB in a DGX Station A100."""
WHICH = Fix(
    "See which is which",
    "nvidia-smi --query-gpu=index,name,memory.total,compute_cap --format=csv",
)

check = Check(
    severity=Severity.WARNING,
    otherwise="a note where the other one is a DGX Station's card for the screen",
    symptoms=[
        r"There is an imbalance between your GPUs\.(?: You may want to exclude GPU (?P<gpu>\d+))?",
        r"Detected different devices in the system: (?P<models>.{3,200}?)\. Please make sure",
        Symptom(r"\bGPU 0: (?:NVIDIA|Tesla|GeForce|Quadro|TITAN)\b", near=LIST),
    ],
    message="the GPUs differ[: GPU <gpu> has much less memory or fewer cores than the best][: <models>][: <first> and "
    "<other>]; every step waits for the slowest, and the batch must fit the smallest",
    fixes=[
        Fix(
            "Use GPUs of one model alone",
            "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,1 torchrun --standalone --nproc-per-node=2 train.py",
        ),
        WHICH,
        Fix(
            "Or leave the others out of DataParallel",
            "model = torch.nn.DataParallel(model, device_ids=[0, 1])",
            Kind.EDIT,
        ),
    ],
    no_reproduction="needs 2 GPUs of different kinds",
)


@check.environment
def environment(gpus: Gpus, launch: Launch | None, pci: Pci | None) -> Iterator[Finding]:
    """The GPUs that this launch may use differ in model, memory or ECC."""
    if gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
    visible = launch.variables.get("CUDA_VISIBLE_DEVICES") if launch else None
    used = [gpu for gpu in gpus.chosen(visible) if gpu.name]
    kinds = {
        name: [gpu for gpu in used if gpu.name == name] for name in dict.fromkeys(gpu.name for gpu in used)
    }
    if len(kinds) > 1:
        differ = ", ".join(f"{len(some)} x {name}" for name, some in kinds.items())
        reason = "every step waits for the slowest, and the batch must fit the smallest"
        fixes = _one_kind(gpus, kinds)
        computing = [name for name in kinds if name not in FOR_A_SCREEN]
        if len(computing) == 1:
            screen = listed([name for name in kinds if name in FOR_A_SCREEN], 2)
            message = f"the GPUs differ: {differ}; {screen} is for the screen: leave it out of the training"
            yield check.found(message, severity=Severity.NOTE, evidence=_sizes(used), fixes=fixes)
            return
        yield check.found(f"the GPUs differ: {differ}; {reason}", evidence=_sizes(used), fixes=fixes)
        return
    sizes = [gpu.memory_bytes for gpu in used if gpu.memory_bytes and not gpu.mig]
    modes = {gpu.ecc for gpu in used if gpu.ecc is not None}
    if sizes and min(sizes) < UNEQUAL * max(sizes):
        span = f"{byte_size(min(sizes))} to {byte_size(max(sizes))}"
        message = f"the GPUs are of one model and differ in memory: {span}; the batch must fit the smallest"
        yield check.found(message, evidence=_sizes(used), fixes=[WHICH])
    elif len(modes) > 1:
        off = [gpu for gpu in used if gpu.ecc is False]
        message = f"ECC is off on {gpus.named(off)} and on elsewhere: memory errors there go unseen"
        fix = Fix("Turn it on, and reboot", f"sudo nvidia-smi -i {gpus.numbers(off)} -e 1", Kind.ADMIN)
        yield check.found(message, fixes=[fix])


def _sizes(used: list[Gpu]) -> list[str]:
    return [
        f"GPU {gpu.index}: {gpu.name}" + (f", {byte_size(gpu.memory_bytes)}" if gpu.memory_bytes else "")
        for gpu in used
    ]


def _one_kind(gpus: Gpus, kinds: dict[str, list[Gpu]]) -> list[Fix]:
    """Offer the largest group of equal GPUs, of equal groups the one with more memory."""
    most = max(kinds.values(), key=lambda some: (len(some), some[0].memory_bytes or 0))
    command = f"CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={gpus.numbers(most)}"
    launch = f"torchrun --standalone --nproc-per-node={len(most)} train.py"
    summary = (
        f"Use the {count(len(most), 'GPU')} of one model alone" if len(most) > 1 else "Use one GPU alone"
    )
    return [Fix(summary, f"{command} {launch}"), WHICH]

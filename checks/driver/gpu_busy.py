"""The GPU admits no further process.

## What happens

The first CUDA call of a process fails with "all CUDA-capable devices are busy or unavailable", from CUDA 13 on
"CUDA-capable device(s) is/are busy or unavailable" (code 46). `nvidia-smi` shows `E. Process` or `Prohibited` in its
column "Compute M.", or nothing unusual at all.

## Why

Most likely first:

- The GPU is in exclusive mode, and a second process comes: every rank on GPU 0 because none set its device, a rank that
  opens GPU 0 by `torch.load` or `.cuda()`, or another user's job.
- Compute is prohibited on it.
- Nobody holds it: the GPU waits for a reset, or hangs after a fault.
- MIG is on without instances.

## How to tell

`nvidia-smi --query-gpu=index,compute_mode --format=csv` shows the mode, and
`nvidia-smi --query-compute-apps=gpu_uuid,pid,name --format=csv` who holds it. In default mode with nobody on it, look
at `nvidia-smi -q | grep -iE 'recovery action|reset'` and at the kernel log for an Xid.

## See also

- [Compute modes](https://docs.nvidia.com/deploy/nvidia-smi/index.html): `--compute-mode`
- [pytorch-image-models 1033](https://github.com/huggingface/pytorch-image-models/issues/1033): DDP in exclusive mode
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, count
from gpudoctor.facts import Gpu, Gpus, Launch, Pci

check = Check(
    severity=Severity.ERROR,
    words_stand=True,
    otherwise="a note for exclusive mode alone",
    symptoms=[
        r"all CUDA-capable devices are busy or unavailable",
        r"CUDA-capable device\(s\) is/are busy or unavailable",
        r"cuda runtime error \(46\)(?! ?:)",  # the number alone
        r"cudaErrorDevicesUnavailable|CUDA_ERROR_DEVICE_UNAVAILABLE|CUDA_ERROR_DEVICE_ALREADY_IN_USE",
        r"exclusive-thread device already in use by a different thread",
        r"\bCompute Mode\s{1,60}: (?P<mode>Prohibited)",
    ],
    message="the GPU admits no further process[: its compute mode is <mode>]; it is in exclusive mode and taken, closed, "
    "or hangs",
    follows=["gpu-reset-required", "gpu-fell-off-bus", "gpu-ecc-error", "gpu-xid"],
    fixes=[
        Fix(
            "Give each rank its own GPU before any other CUDA call, and load checkpoints onto the CPU",
            'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))\ntorch.load(path, map_location="cpu", weights_only=True)',
            Kind.EDIT,
        ),
        Fix(
            "See the mode of each GPU, and who holds it",
            "nvidia-smi --query-gpu=index,compute_mode --format=csv; "
            "nvidia-smi --query-compute-apps=gpu_uuid,pid,name --format=csv",
        ),
        Fix("Take a GPU that is free", "export CUDA_VISIBLE_DEVICES=GPU"),
        Fix("Admit several processes", "sudo nvidia-smi --compute-mode=DEFAULT", Kind.ADMIN),
        Fix("If nobody holds it: reset it", "sudo nvidia-smi --gpu-reset -i GPU", Kind.ADMIN),
    ],
    no_reproduction="needs a GPU in exclusive mode",
)


@check.environment
def environment(gpus: Gpus, launch: Launch | None, pci: Pci | None) -> Iterator[Finding]:
    """The compute mode of a GPU that this launch may use admits no process, or one, and that one is there."""
    if gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
    used = gpus.chosen(launch.variables.get("CUDA_VISIBLE_DEVICES") if launch else None)
    if used and all(gpu.compute_mode is None for gpu in used):
        raise CannotTell("NVML does not tell the compute mode")
    closed = [gpu for gpu in used if gpu.compute_mode == "prohibited"]
    single = [gpu for gpu in used if gpu.compute_mode == "exclusive_process"]
    taken = [gpu for gpu in single if any(not process.own for process in gpu.processes or ())]
    ranks = (launch.number("LOCAL_WORLD_SIZE") if launch else None) or 1
    if closed:
        message = f"the compute mode of {gpus.named(closed)} is Prohibited: no process may use CUDA there"
        yield check.found(message, fixes=_admit(gpus, closed))
    elif taken:
        who = [
            f"GPU {g.index}: process {p.pid}{f' ({p.name})' if p.name else ''}"
            for g in taken
            for p in g.processes or ()
        ]
        message = f"{gpus.named(taken)} admits one process (Exclusive Process), and that one is there: the next is refused"
        yield check.found(message, evidence=who, fixes=_admit(gpus, taken))
    elif single and ranks > len(used):
        message = f"{ranks} ranks start on {count(len(used), 'GPU')}, each of which admits one process (Exclusive Process)"
        yield check.found(message, fixes=_admit(gpus, single))
    elif single:
        message = f"{gpus.named(single)}: one process at a time (Exclusive Process); a second one on it is refused as 'busy'"
        yield check.found(message, severity=Severity.NOTE, fixes=_admit(gpus, single))


def _admit(gpus: Gpus, some: list[Gpu]) -> list[Fix]:
    command = f"sudo nvidia-smi -i {gpus.numbers(some)} --compute-mode=DEFAULT"
    fixes = [Fix("Admit several processes", command, Kind.ADMIN)]
    if rest := gpus.without(some):
        fixes.insert(0, Fix("Take the GPUs that are free", f"export CUDA_VISIBLE_DEVICES={rest}"))
    return fixes

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

from gpudoctor import Check, Fix, Kind, Severity, Symptom

# Lists of nvidia-smi -L and torch's collect_env; two names, of which neither is the other.
NAME = r"[^\n(]{3,60}?"
END = r"(?: \(UUID[^\n]{0,80})?\s*(?:\n|$)"
LIST = rf"GPU 0: (?P<first>{NAME}){END}(?:GPU \d+: (?P=first){END}){{0,15}}GPU \d+: (?!(?P=first){END})(?P<other>{NAME}){END}"

check = Check(
    severity=Severity.WARNING,
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
        Fix(
            "See which is which",
            "nvidia-smi --query-gpu=index,name,memory.total,compute_cap --format=csv",
        ),
        Fix(
            "Or leave the others out of DataParallel",
            "model = torch.nn.DataParallel(model, device_ids=[0, 1])",
            Kind.EDIT,
        ),
    ],
    no_reproduction="needs 2 GPUs of different kinds",
)

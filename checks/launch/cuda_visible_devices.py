"""CUDA_VISIBLE_DEVICES hides GPUs that the launch needs.

## What happens

torch finds no GPU ("No CUDA GPUs are available") or fewer than the launch asks for: `cuda:3` raises "invalid device
ordinal". Nothing says that the variable did it.

## Why

CUDA reads the list from the left and stops at the first entry that names no GPU, without a word.

| value, on four GPUs | what is left |
| --- | --- |
| `0,1,7` | 0 and 1: there is no 7 |
| empty, `-1`, or an index twice (`0,0`) | none |
| `2,3` | two, which are `cuda:0` and `cuda:1` now: what remains is counted again from 0 |
| several MIG instances | one: CUDA uses no more |

The value often comes from a scheduler, another job's script or a container. Set in Python after the first CUDA call, it
has no effect.

## How to tell

`nvidia-smi -L` lists all GPUs whatever the variable says; `python -c 'import torch; print(torch.cuda.device_count())'`
counts what it leaves. The number of processes per node must not exceed that count.

## See also

- [CUDA environment variables](https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html): an index that does not exist hides all behind it
- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): LOCAL_RANK, `--nproc-per-node`
"""

import re
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Symptom, count
from gpudoctor.facts import Gpu, Gpus, Launch, Torch

# nvmlReturn_t of a machine without a driver or without its library: there is no GPU that could be hidden.
NO_DRIVER = (9, 12)
NAME = "CUDA_VISIBLE_DEVICES"
# What hides every GPU on purpose; NoDevFiles is Slurm's word for a job without GPUs.
NOTHING = ("", "-1", "none", "void", "NoDevFiles")

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where all are hidden or a rank was given one GPU, a note where there is none to hide",
    symptoms=[
        r"No (?:CUDA|HIP) GPUs are available",
        r"(CUDA|Cuda|cuda|HIP) (runtime )?error ?(\(\d+\) ?)?: invalid device ordinal|\bhipErrorInvalidDevice\b",
        r"(CUDA|Cuda) failure .{0,40}'invalid device ordinal'",
        r"CUDA: invalid device ordinal",  # libraries beside torch
        r"THCudaCheck FAIL .{0,200}error=\d+ : (invalid device ordinal|no CUDA-capable device)",  # until torch 1.8
        Symptom(r"device < num_gpus INTERNAL ASSERT FAILED", unless=r"\bMIG\b"),
        r"INTERNAL ASSERT FAILED at \S{1,120}CUDAContext\.cpp",  # all of that file's are about the device's number
        r"AssertionError: Invalid device id",
        r"(CUDA|Cuda|cuda) (runtime )?error ?(\(\d+\) ?)?: no CUDA-capable device is detected|\bhipErrorNoDevice\b",
        r"But your machine only has: (?P<visible>\[[\d, ]*\])",  # lightning
        r"device (?P<device>\d+) is not visible \(CUDA_VISIBLE_DEVICES=",
        Symptom(  # YOLO; a CPU build is torch-cpu-build
            r"Invalid CUDA '(?:--)?device[= ](?P<asked>[\w:, ]{1,40})' requested",
            unless=r"\btorch-\d\S{1,20}\+cpu\b",
        ),
        r"CUDA unavailable, invalid device (?P<asked>[\w:, ]{1,40}) requested",
        r"ValueError: No slot '(?P<device>\d+)' specified on host",  # DeepSpeed's --include
        r"Cuda failure (?:100 )?'no CUDA-capable device is detected'",
        r"local_rank (?P<device>\d+) exceeds available GPUs in \w+=",
        r"device_id \w+:(?P<device>\d+) is out of range\. Please use a device index less than .{0,60}: [1-9]",
        # the number alone, before CUDA 10.1 and since
        r"cuda runtime error \((?:10|101|38|100)\)(?! ?:)",
        Symptom(  # Lightning; under Slurm it is slurm-gpu-binding
            r"You requested to find \d+ devices but this machine only has (?P<visible>\d+) GPUs?",
            unless=r"\bSLURM_|\bsrun\b",
        ),
        # frameworks that were told to train on GPUs
        r"(?:fp16|FP16|[Hh]alf|[Mm]ixed) (?:mixed )?[Pp]recision.{0,120}(?:requires a GPU|can only be used on CUDA devices)",
        r"MisconfigurationException: .?(?:GPU|MPS|TPU|HPU|IPU)Accelerator.? can ?not run on your system",
        r"Torch is not able to use GPU; add --skip-torch-cuda-test",
        Symptom(
            r"\bcudaErrorInvalidDevice\b(?!Function)|\bcudaErrorNoDevice\b|\bCUDA_ERROR_(?:NO|INVALID)_DEVICE\b",
            unless=r"\bSLURM_|\bsrun\b|cuInit",
        ),
        # Chinese: "cannot find", "cannot see" the GPU
        Symptom(
            r"(?:\u627e\u4e0d\u5230|\u68c0\u6d4b\u4e0d\u5230|\u8bc6\u522b\u4e0d\u5230|\u7528\u4e0d\u4e86) ?(?:[Gg][Pp][Uu]|\u663e\u5361)",
            unless=r"\u9a71\u52a8",
            asked=True,
        ),
    ],
    follows=[
        "driver-not-loaded",
        "driver-library-mismatch",
        "container-lost-gpu",
        "cuda-driver-too-old",
        "cuda-init-failed",
        "fabric-manager-down",
        "gpu-fell-off-bus",
        "mig-multi-gpu",
        "slurm-gpu-binding",
        "torch-cpu-build",
    ],
    message="the job asks for a GPU that it cannot see[: only <visible> are visible][: device <device> is not "
    "visible][: it asks for <asked>]",
    fixes=[
        Fix(
            "Start as many processes as there are visible GPUs",
            "torchrun --standalone --nproc-per-node=gpu train.py",
        ),
        Fix(
            "On a machine of your own: make every GPU visible (under a scheduler they may be other users')",
            f"unset {NAME}",
        ),
        Fix(
            "In Python, set the variable before torch is imported",
            f'import os\n\nos.environ["{NAME}"] = "0,1"\n\nimport torch',
            Kind.EDIT,
        ),
    ],
)

RUN_ON = re.compile(r"\+?\d+\s*[^\w\s]|\+?\d+\s+\d")
"""A number with a sign or another number behind it, such as `0;1`, `0 1` and `0-3`; of `0gpu` CUDA makes what was meant."""


@check.environment
def environment(launch: Launch, gpus: Gpus | None, torch: Torch | None) -> Iterator[Finding]:
    """The variable hides GPUs, or a rank asks for one that is not visible."""
    value = launch.variables.get(NAME)
    if torch and torch.hip:
        return  # AMD's variables are others
    yield from _misspelt(launch, gpus)
    if gpus and gpus.devices:
        visible, finding = len(gpus.devices), None
        if value is not None:
            visible, finding = _judge(value.strip(), gpus.devices)
        if finding is None:
            yield from _beyond(launch, visible, value)
        else:
            yield finding
    elif torch and torch.cuda_available and torch.device_count:  # NVML is missing or fails, and CUDA works
        named = len(value.split(",")) if value and not value.startswith("MIG-") else 0
        if named > torch.device_count:
            message = f"{NAME}={value} names {named} GPUs, and torch sees {torch.device_count}"
            yield check.found(message, fixes=[Fix("Make every GPU visible", f"unset {NAME}")])
        else:
            yield from _beyond(launch, torch.device_count, value)
    elif gpus and (gpus.error is None or gpus.error_code in NO_DRIVER):
        yield from _without_gpus(launch, value)
    elif value == "-1" and gpus is None:  # a text that tells of no GPU
        message = f"{NAME}=-1 hides every GPU of the machine"
        yield check.found(
            message, severity=Severity.WARNING, fixes=[Fix("Make every GPU visible", f"unset {NAME}")]
        )
    elif value is not None:
        raise CannotTell(f"{NAME} is set, and how many GPUs this machine has is not known")


def _misspelt(launch: Launch, gpus: Gpus | None) -> Iterator[Finding]:
    """Find a name that nothing reads; what a launcher keeps under a longer one is left in peace."""
    for name, value in launch.variables.items():
        if not name.startswith("CUDA_VIS") or name.startswith(NAME):
            continue
        message = f"{name}={value} is set, and nothing reads it: the name is {NAME}"
        if NAME in launch.variables or gpus is None or len(gpus.devices) < 2:
            yield check.found(message, severity=Severity.NOTE, fixes=[Fix("Remove it", f"unset {name}")])
            continue
        fixes = [Fix("Set the one that is read", f"unset {name}; export {NAME}={value}")]
        all_of_them = f"{message}, so all {len(gpus.devices)} GPUs are visible"
        yield check.found(all_of_them, severity=Severity.WARNING, fixes=fixes)


def _without_gpus(launch: Launch, value: str | None) -> Iterator[Finding]:
    """Note what has no effect, and what keeps GPUs out of a container."""
    kept_out = launch.variables.get("NVIDIA_VISIBLE_DEVICES")
    if kept_out in ("void", "none"):
        message = f"NVIDIA_VISIBLE_DEVICES={kept_out}: this container was started without GPUs"
        yield check.found(
            message,
            severity=Severity.NOTE,
            fixes=[Fix("If it should have them", "docker run --gpus all IMAGE")],
        )
    elif value is not None:
        message = f"{NAME}={value or '(empty)'}, and this machine has no NVIDIA GPU that a driver shows: it has no effect"
        if value.strip() in NOTHING:
            message += " here, and hides every GPU on a machine that has some"
        yield check.found(message, severity=Severity.NOTE, fixes=[Fix("Remove it", f"unset {NAME}")])


def _judge(value: str, devices: list[Gpu]) -> tuple[int, Finding | None]:
    """Count what CUDA makes of a list, and say what is wrong with it (torch/cuda/__init__.py parses it alike)."""
    here = count(len(devices), "GPU")
    fixes = [Fix("Make every GPU visible", f"unset {NAME}")]
    names = ",".join(str(device.index) for device in devices)
    fixes.append(Fix(f"Or name GPUs that are here, such as all {here}", f"export {NAME}={names}"))
    if value in NOTHING:
        message = f"{NAME}={value or '(empty)'} hides all {here} of this machine"
        return 0, check.found(message, severity=Severity.WARNING, fixes=fixes)
    chosen: list[str] = []
    entries = [entry.strip() for entry in value.split(",")]
    for entry in entries:
        device = _find(entry, entries[0], devices)
        if device in chosen:
            message = (
                f"{NAME}={value} names {entry} twice: CUDA then shows none of the {here} of this machine"
            )
            return 0, check.found(message, fixes=fixes)
        if device is None:
            message = (
                f"{NAME}={value} names {entry or 'nothing'}, and this machine has GPUs {names}: CUDA stops there, so "
                f"{len(chosen)} of the {len(entries)} that are named are visible"
            )
            ended = re.match(r"-\d", entry) and chosen  # -1 after some is a way to end the list
            return len(chosen), check.found(
                message, severity=Severity.WARNING if ended else None, fixes=fixes
            )
        chosen.append(device)
    if cut := [entry for entry in entries if RUN_ON.match(entry)]:
        message = (
            f"{NAME}={value}: of {cut[0]} CUDA reads the number at its beginning and leaves out the rest, so "
            f"{len(chosen)} of {here} {'is' if len(chosen) == 1 else 'are'} visible; commas alone part the entries"
        )
        return len(chosen), check.found(message, severity=Severity.WARNING, fixes=fixes)
    return (1 if entries[0].startswith("MIG-") else len(chosen)), None


def _instances(device: Gpu) -> list[str]:
    """Return the UUIDs of a GPU's MIG instances, an empty one for those that are not known."""
    return device.mig_uuids or ([] if device.mig is False else [""])


def _find(entry: str, first: str, devices: list[Gpu]) -> str | None:
    """Return what an entry names, or ``None``. A list of UUIDs holds UUIDs alone, an index is read as strtoul does."""
    if first.upper().startswith(("GPU-", "MIG-")):
        kind = first[:4]
        known = [uuid for d in devices for uuid in (_instances(d) if kind.upper() == "MIG-" else [d.uuid])]
        if not all(known):
            raise CannotTell(f"{NAME} names a UUID, and the UUIDs of this machine are not known")
        if entry.startswith("MIG-GPU-"):  # until driver 470: the GPU's UUID with two numbers
            known, entry = [f"MIG-{d.uuid}" for d in devices], entry.partition("/")[0]
        matching = [uuid for uuid in known if uuid == entry] or [
            uuid for uuid in known if uuid.startswith(entry)
        ]
        return matching[0] if len(matching) == 1 and entry.startswith(kind) else None
    number = re.match(r"\+?\d+", entry)
    return str(int(number[0])) if number and int(number[0]) < len(devices) else None


def _beyond(launch: Launch, visible: int, value: str | None) -> Iterator[Finding]:
    """The rank of this process on its node is beyond the devices that it sees."""
    local = launch.number("LOCAL_RANK")
    if local is None or local < visible or (visible and launch.slurm_task):
        return  # under Slurm it is slurm-gpu-binding
    message = f"LOCAL_RANK is {local}, and {count(visible, 'GPU')} {'is' if visible == 1 else 'are'} visible"
    if value is not None and visible == 1:  # a launcher that gives each rank a GPU of its own
        message += f" ({NAME}={value}): cuda:{local} does not exist here; if each rank was given one GPU, it is cuda:0"
        edit = Fix("Take the one GPU that is visible", "torch.cuda.set_device(0)", Kind.EDIT)
        yield check.found(message, severity=Severity.WARNING, fixes=[edit])
        return
    message += f"{f' ({NAME}={value})' if value else ''}: cuda:{local} raises 'invalid device ordinal'"
    command = f"torchrun --standalone --nproc-per-node={visible} train.py"
    fixes = [Fix("Start as many processes as there are visible GPUs", command)]
    if value is not None:
        fixes.append(Fix("Or make every GPU visible", f"unset {NAME}"))
    yield check.found(message, fixes=fixes)

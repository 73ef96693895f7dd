"""The job got MIG instances where it expects several GPUs.

## What happens

`nvidia-smi -L` lists several "MIG 3g.40gb Device 1: (UUID: MIG-…)" below a GPU, and `torch.cuda.device_count()` is 1.
The second rank gets "invalid device ordinal", or NCCL refuses with "Duplicate GPU detected" (from 2.30 on "Multiple
Ranks are using the same GPU/Partition").

## Why

MIG cuts a GPU into instances for separate users. A CUDA process sees one instance, however many `CUDA_VISIBLE_DEVICES`
names, and there is no peer access between instances. Until NCCL 2.29 ranks on two instances of one GPU count as ranks
on one GPU and are refused; NCCL 2.30 compares the instances' UUIDs and refuses the same instance only. Training with
several ranks wants whole GPUs.

## How to tell

`nvidia-smi -L` shows whether MIG is on and which instances there are; `nvidia-smi --query-gpu=index,mig.mode.current
--format=csv` shows it for each GPU. A name with " MIG " in `torch.cuda.get_device_name()` is an instance.

## See also

- [MIG device names](https://docs.nvidia.com/datacenter/tesla/mig-user-guide/mig-device-names.html): how its instances are named and handed to a process
- [NCCL's init.cc](https://github.com/NVIDIA/nccl/blob/master/src/init.cc): how ranks on one GPU are found
- [pytorch 130181](https://github.com/pytorch/pytorch/issues/130181): an assertion with MIG devices
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Sighting, Symptom, count
from gpudoctor.facts import Gpus, Launch, Pci
from gpudoctor.wordings import MIG_SLICE

# Without one of these, the ranks simply share a GPU: nccl-duplicate-gpu.
INSTANCES = Fix("See the instances of each GPU", "nvidia-smi -L")
WHOLE_GPUS = Fix(
    "Ask for whole GPUs; on Slurm this shows which there are",
    "sinfo -o '%P %G'",
)
SEPARATE = Fix(
    "Or run separate trainings, one process on each instance and no DDP",
    "CUDA_VISIBLE_DEVICES=MIG-UUID python train.py",
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where instances are merely listed or some GPUs are whole, a note where no ranks are asked for",
    words_stand=True,  # a table may not show the instances
    symptoms=[
        r"CUDA_VISIBLE_DEVICES\W{1,4}(?P<list>MIG-[\w/-]{4,80}, ?MIG-[\w/,-]{4,400})",
        r"\bMIG (?P<profile>\d+g\.\d+gb)\S{0,8}\s{1,20}Device\s{1,6}(?P<device>[1-9]\d?): \(UUID: MIG-",
        r"nvidia\.com/mig-(?P<profile>\d+g\.\d+gb)\S{0,8}: [\"']?(?P<count>[2-9]|\d\d)\b",
        r"gres\W{1,3}gpu:(?P<profile>\d+g\.\d+gb):(?P<count>[2-9]|\d\d)\b",
        r"No MIG devices found",
        r"No GPU instances found",
        # told in a sentence
        r"\bonly (?:(?:see|show|find|detect|use|access)\w{0,3} )?(?P<lone>one|1|a single) (?:[Gg][Pp][Uu]|device|MIG|instance)\b.{0,80}\bMIG\b",
        r"\bMIG\b.{0,80}\bonly (?:(?:see|show|find|detect|use|access)\w{0,3} )?(?P<lone>one|1|a single) (?:[Gg][Pp][Uu]|device|MIG|instance)\b",
        r"\bonly (?P<lone>MIG (?:DEV|[Dd]evice) 0) (?:is|was|gets?)\b",
        Symptom(r"(?P<ordinal>device < num_gpus INTERNAL ASSERT FAILED)", near=MIG_SLICE),
        Symptom(
            r"(?P<twice>Duplicate GPU detected|Multiple Ranks are using the same GPU/Partition)",
            near=MIG_SLICE,
        ),
    ],
    fixes=[
        INSTANCES,
        WHOLE_GPUS,
        SEPARATE,
        Fix("Turn MIG off, with nothing running on the GPU", "sudo nvidia-smi -i GPU -mig 0", Kind.ADMIN),
        Fix(
            "To try out code alone: gloo works between instances",
            'dist.init_process_group("gloo")',
            Kind.EDIT,
        ),
    ],
    no_reproduction="needs a GPU in MIG mode",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say what shows it; instances that are merely listed or asked for are a warning."""
    groups = sighting.groups
    severity = None
    if "list" in groups:
        named = groups["list"].count("MIG-")
        message = f"CUDA_VISIBLE_DEVICES names {named} MIG instances, of which a CUDA process sees one"
    elif "twice" in groups:
        message = "ranks are on MIG instances of one GPU, and this NCCL takes them for ranks on one GPU"
    elif "lone" in groups:
        message = "a process sees one MIG instance, however many there are, and NCCL before 2.30 cannot use two of one GPU"
        severity = Severity.WARNING
    elif "ordinal" in groups:
        message = "the job asks for a second device, and a process sees one MIG instance"
    elif "profile" in groups:
        several = f"several MIG instances ({groups['profile']}) are there"
        message = f"{several}: a process sees one, and NCCL before 2.30 cannot use two of one GPU"
        severity = Severity.WARNING
    else:
        message = "MIG is on and no instance was made: CUDA sees no GPU there"
    yield check.found(message, severity=severity)


@check.environment
def environment(gpus: Gpus, launch: Launch | None, pci: Pci | None) -> Iterator[Finding]:
    """MIG is on where several ranks start, where no instance was made, or on some of the GPUs alone."""
    if gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
    cut = [gpu for gpu in gpus.read if gpu.mig]
    visible = launch.variables.get("CUDA_VISIBLE_DEVICES", "") if launch else ""
    if not cut and visible.count("MIG-") > 1 and not any(gpu.mig is False for gpu in gpus.read):
        # what lists the GPUs says nothing of MIG, and its instances are named
        message = f"CUDA_VISIBLE_DEVICES names {visible.count('MIG-')} MIG instances, of which a CUDA process sees one"
        yield check.found(message, fixes=[INSTANCES, WHOLE_GPUS, SEPARATE])
    if not cut:
        return
    off = [gpu for gpu in gpus.read if gpu.mig is False]
    turn_off = Fix(
        "Turn MIG off, with nothing running on the GPU",
        f"sudo nvidia-smi -i {gpus.numbers(cut)} -mig 0",
        Kind.ADMIN,
    )
    if visible and "MIG-" not in visible and not any(gpu.mig for gpu in gpus.chosen(visible)):
        return  # whole GPUs alone
    named = visible.count("MIG-")
    ranks = (launch.number("LOCAL_WORLD_SIZE") if launch else None) or 1
    on = f"MIG is on for {gpus.named(cut)}"
    if not any(gpu.mig_uuids for gpu in cut):
        message = f"{on}, and no instance was made: CUDA sees nothing there"
        yield check.found(message, fixes=[Fix("See the instances", "nvidia-smi -L"), turn_off])
    elif named > 1 or (named == 1 and ranks > 1) or (ranks > 1 and not off):
        asked = (
            f"CUDA_VISIBLE_DEVICES names {named} MIG instances" if named > 1 else f"{ranks} ranks start here"
        )
        message = (
            f"{on}, and {asked}: a CUDA process sees one instance, and there is no peer access between them"
        )
        yield check.found(message, fixes=[INSTANCES, WHOLE_GPUS, SEPARATE, turn_off])
    elif off:
        whole = f"off for {count(len(off), 'other GPU')}"
        message = f"{on}, and {whole}: ranks cannot use both together"
        fixes = [Fix("Use whole GPUs alone", f"export CUDA_VISIBLE_DEVICES={gpus.numbers(off)}"), turn_off]
        yield check.found(message, severity=Severity.WARNING, fixes=fixes)
    elif not named and sum(len(gpu.mig_uuids) for gpu in cut) > 1:
        several = " of one of them" if len(cut) > 1 else f" of the {len(cut[0].mig_uuids)}"
        message = f"{on}: a CUDA process sees one instance{several}; several ranks want whole GPUs"
        yield check.found(message, severity=Severity.NOTE, fixes=[INSTANCES, turn_off])

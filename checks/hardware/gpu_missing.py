"""A GPU that is plugged in is missing further up: the driver, NVML, CUDA or torch.

## What happens

`nvidia-smi` lists seven GPUs of eight, or lists eight and CUDA starts seven. Training runs on fewer GPUs than it was
given, or stops with "invalid device ordinal" on the last local rank. Nothing else is printed.

## Why

Each layer counts for itself, and the first one that counts fewer is where the GPU was lost:

| layer | who counts | why it loses one |
| --- | --- | --- |
| bus | `lspci -d 10de:` | the card, its power, its slot, or a link that did not come up at boot |
| driver | `/sys/bus/pci/devices/*/driver` | the driver could not start it: "RmInitAdapter failed", no memory window, an old card |
| NVML | `nvidia-smi -L` | the GPU stopped answering after the driver had started |
| CUDA | `cuDeviceGetCount` | the GPU needs a reset, or its memory could not be set up |
| torch | `torch.cuda.device_count()` | a variable that hides it |

`torch.cuda.device_count()` asks NVML where it can, so it may promise one more than CUDA can start. Fewer GPUs in a
container, in a job's control group or under CUDA_VISIBLE_DEVICES are no loss: the others belong to somebody else.

## How to tell

`lspci -d 10de: | grep -iE '3d|vga'`, `nvidia-smi -L` and
`python -c "import torch; print(torch.cuda.device_count())"` side by side. `sudo dmesg | grep -iE 'nvrm|xid|pcieport'`
says why the driver did not take a GPU.

## See also

- [GPU debug guidelines](https://docs.nvidia.com/deploy/gpu-debug-guidelines/index.html): what to collect for the vendor
- [Xid catalogue](https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html): what the driver says of a GPU that is lost
"""

import re
from collections import Counter
from collections.abc import Iterator

from gpudoctor import (
    CannotTell,
    Check,
    Evidence,
    Finding,
    Fix,
    Kind,
    Severity,
    Sighting,
    Symptom,
    count,
    listed,
)
from gpudoctor.facts import Cuda, Driver, Gpus, Host, KernelLog, Launch, Pci, PciDevice, Slurm, Torch

VISIBLE = "CUDA_VISIBLE_DEVICES"
JOB = re.compile(r"/job_\d+\b")
"""The control group of a scheduler's job."""
FULL_BOARDS = (1, 2, 4, 8, 16)
"""GPUs that a board with NVSwitches has, and the partitions that it is handed out in."""

LEAVE_OUT = Fix(
    "On a cluster: leave this node out, and send the administrators its name and these counts",
    "sbatch --exclude=NODE job.sh",
)
COMPARE = Fix(
    "Compare what the bus, the driver and torch count",
    "lspci -d 10de: | grep -iE '3d|vga'; nvidia-smi -L; "
    'python -c "import torch; print(torch.cuda.device_count())"',
)
WHY = Fix(
    "See why the driver did not take it",
    "sudo dmesg -T | grep -iE 'nvrm|xid|pcieport|AER' | tail",
    Kind.ADMIN,
)
RESEAT = Fix(
    "Shut the machine down, take its power away, reseat the GPU and its power cables, and start it again",
    "sudo shutdown -h now",
    Kind.ADMIN,
)
RESET = Fix(
    "Reset the GPU with nothing running on it; where that fails, drain the node and reboot it",
    "sudo nvidia-smi --gpu-reset -i GPU",
    Kind.ADMIN,
)
USE = Fix("Go on with the GPUs that are left", "torchrun --standalone --nproc-per-node=gpu train.py")
UNSET = Fix("See what hides it", "env | grep -E 'CUDA_VISIBLE|NVIDIA_VISIBLE|CUDA_DEVICE_ORDER'")

CONTAINER = Fix("In a container: hand the GPUs on", "docker run --gpus all IMAGE")
ON_NODE = Fix(
    "Look on that node which GPU does not answer",
    "nvidia-smi -L; sudo dmesg -T | grep -iE 'xid|nvrm'",
    Kind.ADMIN,
)
AWAY = Fix("Meanwhile keep the job off it", "sbatch --exclude=NODE job.sh")
BACK = Fix(
    "When it counts all of them again, give the node back",
    "sudo scontrol update NodeName=NODE State=RESUME",
    Kind.ADMIN,
)

WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
NUMBER = rf"(?:\d{{1,2}}|{'|'.join(WORDS)})"
COUNTERS = (
    r"nvidia-smi|\b(?:[Pp]y)?[Tt]orch\b|device_count\(\)|\bNVML\b|\b[Oo]llama\b|\bvLLM\b|\bthe driver\b"
)
COUNTS = r"(?:shows?|sees?|lists?|finds?|detects?|reports?|recogni[sz]es?|displays?|returns?|(?:show|see|list|find|detect|report)ing)"
CARDS = r"(?:GPUs?|gpus?|cards?|devices?)"
AT_A_MACHINE = (
    r"nvidia-smi|\b[Rr]eboot|\blspci|\bdriver|\bslurm|\bserver|\bnode|[Dd]evice [Mm]anager|\bBIOS\b"
)
HIDDEN = r"VISIBLE_DEVICES|--gpus|\bMIG\b"

check = Check(
    severity=Severity.ERROR,
    otherwise="a note for a card of another model, a warning where torch alone sees fewer",
    words_stand=True,
    symptoms=[
        r"gres/gpu count (?:reported lower than configured|too low) \((?P<here>\d+) < (?P<set>\d+)\)",
        Symptom(
            # older drivers name no GPU, but for its minor number
            r"NVRM: (?:GPU (?P<bus>[\da-fA-F:.]{7,16}): )?(?:RmInitAdapter|rm_init_adapter) failed"
            r"(?: for device bearing minor number (?P<minor>\d{1,3}))?",
            unless=r"Cannot initialize GSP|GFW_BOOT|gsp_\w+\.bin|open kernel modules|fallen off the bus|already bound to nouveau",
        ),
        # as people put it
        (
            r"\b(?:shown|shows(?: up)?|visible|listed|seen|there|appears?|present|detected|found) (?:in|by|with|under|via) `?lspci`?"
            r"[^.;\n]{0,30}?\b(?:but|and|yet) (?:it is |is |are )?not (?:\w+ )?(?:(?:in|by|with|under|via) )?`?nvidia-smi"
        ),
        Symptom(
            r"^(?!.*NVRM).*\b(?:RmInitAdapter|rm_init_adapter) failed",
            unless=r"Cannot initialize GSP|GFW_BOOT|gsp_\w+\.bin|open kernel modules|fallen off the bus|NVRM:.{0,80}RmInitAdapter",
        ),
        Symptom(
            rf"(?P<counter>{COUNTERS})[^.;\n]{{0,40}}?\b{COUNTS} (?:me )?(?:only |just )?(?P<seen>{NUMBER})(?: {CARDS})?"
            rf"(?:,? (?:out )?of|,? instead of|,? rather than|, not)(?: the| my| our| all)?(?: the)? (?P<all>{NUMBER})\b",
            unless=HIDDEN,
        ),
        Symptom(
            rf"\b(?P<all>{NUMBER})(?: ?x)? (?:[\w-]{{1,12}} ){{0,4}}{CARDS}\b[^.;\n]{{0,100}}?(?P<counter>{COUNTERS})[^.;\n]{{0,30}}?"
            rf"\b{COUNTS} (?:me )?(?:only |just )?(?P<seen>{NUMBER})\b(?! (?:times|processes|seconds|errors|%|MiB))",
            unless=HIDDEN,
        ),
        Symptom(
            rf"\b[Oo]nly (?P<seen>{NUMBER}) (?:out )?of (?:the |my |our )?(?P<all>{NUMBER}) (?:[\w-]{{1,12}} ){{0,2}}{CARDS} "
            r"(?:is|are|was|were|gets?|can be)\b.{0,30}(?P<counter>visible|detected|recogni[sz]ed|shown|found|listed|seen)",
            unless=HIDDEN,
        ),
        Symptom(
            rf"\b(?P<gone>{NUMBER}|a|another) (?:of (?:the|my|our) (?:{NUMBER} )?)?(?:[\w-]{{1,10}} )?{CARDS} (?:(?:has|have|had|just|suddenly) ){{0,2}}"
            r"(?:disappear(?:s|ed)?|vanish(?:es|ed)?|(?:is|are|was|were|went) (?:missing|gone))\b",
            near=AT_A_MACHINE,
            unless=HIDDEN,
        ),
        Symptom(
            rf"\b(?:has|have|had|we|it|node|server|machine) (?:has )?(?:lost|came up short|(?:is|was|came up) missing) (?P<gone>{NUMBER}|a|another) "
            rf"(?:of (?:the|its|our) (?:{NUMBER} )?)?{CARDS}\b",
            near=AT_A_MACHINE,
            unless=HIDDEN,
        ),
        Symptom(
            rf"\bcame up (?:short|with) (?P<gone>{NUMBER}|a) (?:{CARDS} (?:short|less|missing)|GPU\b)",
            near=AT_A_MACHINE,
            unless=HIDDEN,
        ),
    ],
    follows=["gpu-fell-off-bus", "gpu-reset-required"],
    fixes=[COMPARE, LEAVE_OUT, WHY, RESET, RESEAT],
    no_reproduction="needs a GPU that is lost",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say who counts fewer, or which GPU did not start."""
    groups = sighting.groups
    if "seen" in groups:
        seen, of = _number(groups["seen"]), _number(groups["all"])
        if seen < of:
            yield check.found(
                f"{count(seen, 'GPU')} of {of} {'is' if seen == 1 else 'are'} seen: compare what each layer counts"
            )
        return
    if "gone" in groups:
        few = count(_number(groups["gone"]), "GPU")
        yield check.found(
            f"{few} is told to be missing: compare what each layer counts"
            if few.startswith("1 ")
            else f"{few} are told to be missing: compare what each layer counts"
        )
        return
    if "set" in groups:
        message = f"Slurm counts {groups['here']} of the {groups['set']} GPUs that the node is said to have, and gives it no jobs"
    else:
        which = groups.get("bus") or (f"/dev/nvidia{groups['minor']}" if "minor" in groups else "")
        gpu = f"the GPU {which}" if which else "a GPU"
        message = f"the driver could not start {gpu}, and goes on without it"
    yield check.found(message)


@check.environment
def environment(
    pci: Pci | None,
    gpus: Gpus | None,
    driver: Driver | None,
    cuda: Cuda | None,
    torch: Torch | None,
    host: Host | None,
    launch: Launch | None,
    log: KernelLog | None,
    slurm: Slurm | None,
) -> Iterator[Finding]:
    """Count at each layer, and name the first one that counts fewer than the one below."""
    lacking = _slurm(slurm)
    if lacking:
        yield from lacking
        return
    if pci is None and (gpus is None or gpus.error):
        raise CannotTell("neither the PCI bus nor NVML could be read")
    none_listed = _none_listed(pci, gpus) if gpus is not None and not gpus.interrupted else []
    if none_listed:
        yield from none_listed
        return
    variables = launch.variables if launch else {}
    # Who got a share of the machine misses nothing of the rest.
    share = bool(
        (host and (host.container or host.wsl)) or (pci and pci.share) or "SLURM_JOB_ID" in variables
    )
    found: list[Finding] = []
    if pci is not None and pci.gpus:
        found = _bus(pci, launch, share) or ([] if share else _driver(pci, gpus, log))
        if not found and gpus is not None and (not share or _handed_on(pci, driver, host, variables)):
            found = _nvml(pci, gpus, driver, log)
        found = found or _passed_through(pci)
    if not found and gpus is not None and gpus.devices and not any(gpu.mig for gpu in gpus.devices):
        found = (
            _promised(gpus, launch)
            or _cuda(gpus, cuda, driver, variables.get(VISIBLE))
            or _torch(gpus, cuda, torch, variables)
        )
    yield from found


def _number(text: str) -> int:
    """Read a number in figures or words; ``a`` and ``another`` are one."""
    if text.isdecimal():
        return int(text)
    return WORDS.index(text.lower()) + 1 if text.lower() in WORDS else 1


def _none_listed(pci: Pci | None, gpus: Gpus) -> list[Finding]:
    """Find a driver that answers and lists no GPU, where nothing tells of the bus."""
    if pci is None and not gpus.devices:
        # nvidia-smi's "No devices were found" in a text: the module is not loaded where there is no card for it
        message = "the driver answers and lists no GPU: it could not start the card, or this container was given none"
        return [check.found(message, severity=Severity.WARNING, fixes=[WHY, COMPARE, CONTAINER])]
    return []


def _slurm(slurm: Slurm | None) -> list[Finding]:
    """Find nodes of a cluster on which slurmd counted fewer GPUs than slurm.conf promises."""
    short = [node for node in slurm.nodes if node.lacking] if slurm is not None else []
    if not short:
        return []
    has, of = short[0].lacking or (0, 0)
    more = f"; the same of {count(len(short) - 1, 'other node')}" if len(short) > 1 else ""
    message = (
        f"slurmd counted {has} of {count(of, 'GPU')} on {short[0].name}, and Slurm took the node out for that{more}: "
        "the driver or the bus lost one there"
    )
    evidence = [f"{node.name}: {node.reason}" for node in short]
    return [check.found(message, evidence=evidence, fixes=[ON_NODE, AWAY, BACK])]


def _bus(pci: Pci, launch: Launch | None, share: bool) -> list[Finding]:
    """Compare the bus with what Slurm promises, and with the boards that there are."""
    here = len(pci.gpus)
    promised = launch.number("SLURM_GPUS_ON_NODE") if launch else None
    if promised is not None and promised > here:
        words = f"Slurm gives this job {count(promised, 'GPU')} on this node, and the PCI bus has {here}"
        return [
            check.found(f"{words}: a GPU does not answer at all any more", fixes=[LEAVE_OUT, COMPARE, RESEAT])
        ]
    # A card beside the board, for the screens or for video, is of another model.
    here = Counter(card.device for card in pci.gpus).most_common(1)[0][1]
    if pci.switches and not share and here not in FULL_BOARDS:
        words = f"{count(here, 'GPU')} on the PCI bus, beside {count(len(pci.switches), 'NVSwitch', 'NVSwitches')}"
        whole = next(n for n in (*FULL_BOARDS, here) if n >= here)
        message = (
            f"{words}: such a board has {whole}, so {count(whole - here, 'GPU')} did not come up at boot"
        )
        return [check.found(message, fixes=[LEAVE_OUT, COMPARE, RESEAT])]
    return []


def _handed_on(pci: Pci, driver: Driver | None, host: Host | None, variables: dict[str, str]) -> bool:
    """Return whether a container was handed all GPUs of the machine: it has the node of each, and nobody names some."""
    some = variables.get("NVIDIA_VISIBLE_DEVICES", "all") != "all" or "SLURM_JOB_ID" in variables
    if some or host is None or not host.container or host.wsl or driver is None or JOB.search(pci.cgroup):
        return False
    return len([node for node in driver.gpu_nodes if node.usable]) >= len(pci.bound) > 1


def _passed_through(pci: Pci) -> list[Finding]:
    """Note GPUs that are kept for virtual machines, beside others of their model."""
    held = [card for card in pci.gpus if card.driver == "vfio-pci"]
    if not {card.device for card in held} & {card.device for card in pci.bound}:
        return []
    message = (
        f"{_named(held)} {'is' if len(held) == 1 else 'are'} held by vfio-pci, for a virtual machine: "
        f"{len(pci.bound)} of {count(len(pci.gpus), 'GPU')} are left for this system"
    )
    return [check.found(message, severity=Severity.NOTE, fixes=[COMPARE])]


def _promised(gpus: Gpus, launch: Launch | None) -> list[Finding]:
    """Find GPUs that Slurm gave to the job on this node and NVML does not list.

    A task that was bound to fewer has these alone in CUDA_VISIBLE_DEVICES.
    """
    promised = launch.number("SLURM_GPUS_ON_NODE") if launch else None
    here = len(gpus.devices)
    if launch is None or promised is None or gpus.interrupted or here < 2 or here >= promised:
        return []
    named = launch.variables.get(VISIBLE, "").split(",")
    if named != [""] and len(named) != promised:
        return []
    words = f"Slurm gives this job {count(promised, 'GPU')} on this node, and NVML lists {here}"
    fixes = [LEAVE_OUT, COMPARE, WHY, RESET]
    return [check.found(f"{words}: the driver has lost a GPU, or did not start it", fixes=fixes)]


def _driver(pci: Pci, gpus: Gpus | None, log: KernelLog | None) -> list[Finding]:
    """Find GPUs that the driver did not take, while it took others or is loaded all the same."""
    left = [card for card in pci.usable if card.driver is None and not card.excluded]
    taken = [card for card in pci.usable if card.driver == "nvidia"]
    if not left or not taken:
        return []
    if gpus is not None and {card.address for card in left} & {gpu.pci_address for gpu in gpus.devices}:
        return []  # NVML has it: it is only not told who drives it
    alike = {card.device for card in taken}
    same = [card for card in left if card.device in alike]
    lost = same or left
    message = (
        f"the driver holds {len(taken)} of {count(len(pci.usable), 'GPU')} on the PCI bus and did not take "
        f"{_named(lost)}"
    )
    if not same:
        # A card for the screens, too old for this driver, is left alone rightly.
        kind = lost[0].device or "another one"
        note = f"{message}: it is of another model (device id {kind}), which this driver may not support"
        return [check.found(note, severity=Severity.NOTE, fixes=[WHY])]
    evidence = _evidence(lost, log)
    return [check.found(f"{message}: CUDA cannot use it", evidence=evidence, fixes=[WHY, LEAVE_OUT, RESEAT])]


def _nvml(pci: Pci, gpus: Gpus, driver: Driver | None, log: KernelLog | None) -> list[Finding]:
    """Find GPUs that the driver holds and NVML does not list."""
    cards = pci.bound or [card for card in pci.usable if card.driver is None and not card.excluded]
    answered = not gpus.error and not gpus.interrupted and (gpus.devices or gpus.driver_version)
    if not answered or not cards or len(cards) <= len(gpus.devices):
        return []
    none_started = not gpus.devices and gpus.error is None and driver is not None and driver.loaded
    if pci.bound and none_started and driver is not None and driver.unfit(cards, log):
        return []  # which is open-kernel-module
    known = {gpu.pci_address for gpu in gpus.devices}
    lost = [card for card in cards if card.address not in known] if known - {""} else []
    nodes = {node.path for node in driver.nodes} if driver else set()
    if any(f"/dev/nvidia{minor}" in nodes for minor in range(64)):
        # Without its device node a GPU is hidden on purpose, or that is what is wrong: another check's matter.
        failed = {
            event.pci_address for event in (log.of("nvrm") if log else [])
        }  # the driver says that it did not start
        reachable = [
            c for c in lost if c.minor is None or f"/dev/nvidia{c.minor}" in nodes or c.address in failed
        ]
        if lost and not reachable:
            return []
    words = f"the PCI bus has {count(len(cards), 'GPU')} and NVML lists {len(gpus.devices)}"
    named = f": {_named(lost)} is missing" if lost else ""
    message = f"{words}{named}. Between the driver and NVML a GPU was lost, and no program can use it"
    if none_started:
        message = f"{words}: the driver is loaded and started none of them, and no program can use a GPU"
    return [check.found(message, evidence=_evidence(lost, log), fixes=[LEAVE_OUT, WHY, RESET, RESEAT])]


def _cuda(gpus: Gpus, cuda: Cuda | None, driver: Driver | None, visible: str | None) -> list[Finding]:
    """Find GPUs that NVML lists and CUDA does not start."""
    if cuda is None or cuda.init != 0 or cuda.count is None or cuda.interrupted:
        return []
    if cuda.count >= len(gpus.devices):
        return []
    if visible is not None and cuda.count >= len(gpus.chosen(visible)):
        return []  # those that the variable names were counted; where it names none, cuda-visible-devices says so
    if driver and cuda.count and cuda.count == sum(node.usable for node in driver.gpu_nodes):
        return []  # the others have no node in /dev that this user may open, which is gpu-device-nodes
    started = {device.pci_address for device in cuda.devices}
    lost = [gpu.place for gpu in gpus.devices if gpu.pci_address and gpu.pci_address not in started]
    named = f" ({', '.join(lost[:4])})" if lost and len(lost) == len(gpus.devices) - cuda.count else ""
    missing = count(len(gpus.devices) - cuda.count, "GPU")
    message = (
        f"NVML lists {count(len(gpus.devices), 'GPU')} and CUDA starts {cuda.count}: {missing}{named} cannot be used, "
        f"although torch.cuda.device_count() may still count {'it' if len(gpus.devices) - cuda.count == 1 else 'them'}"
    )
    return [check.found(message, fixes=[USE, LEAVE_OUT, WHY, RESET])]


def _torch(gpus: Gpus, cuda: Cuda | None, torch: Torch | None, variables: dict[str, str]) -> list[Finding]:
    """Find GPUs that CUDA starts and torch does not count."""
    if _none(torch) and cuda is not None and cuda.init == 0 and cuda.count and VISIBLE not in variables:
        message = (
            f"the driver's library starts {count(cuda.count, 'GPU')}, and the CUDA runtime that torch brings counts none "
            '("No CUDA GPUs are available"): torch trains on the CPU'
        )
        return [check.found(message, fixes=[COMPARE, WHY, RESET])]
    if torch is None or torch.hip or not torch.cuda_available or torch.device_count is None:
        return []
    if VISIBLE in variables:
        expected = len(cuda.visible) if cuda and cuda.visible is not None else None
    else:
        expected = cuda.count if cuda and cuda.count is not None else len(gpus.devices)
    if expected is None or torch.device_count >= expected:
        return []
    message = f"CUDA has {count(expected, 'GPU')} for this process and torch sees {torch.device_count}"
    return [check.found(message, severity=Severity.WARNING, fixes=[COMPARE, UNSET])]


def _none(torch: Torch | None) -> bool:
    """Return whether a torch that was built for CUDA is told that there is no GPU."""
    if torch is None or torch.hip or torch.cuda is None or torch.cuda_available is not False:
        return False
    return torch.cuda_error is not None and "No CUDA GPUs are available" in torch.cuda_error.message


def _named(cards: list[PciDevice]) -> str:
    return listed([card.address for card in cards], 4)


def _evidence(cards: list[PciDevice], log: KernelLog | None) -> list[Evidence]:
    """Quote what the kernel log says of GPUs that were lost."""
    addresses = {card.address for card in cards}
    events = log.events if log else []
    return [Evidence(e.text, log.source if log else None) for e in events if e.pci_address in addresses][-3:]

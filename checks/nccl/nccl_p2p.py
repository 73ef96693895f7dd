"""GPUs cannot read each other's memory where NCCL expects it.

## What happens

"failed to open CUDA IPC handle", "peer access is not supported between these two devices", or a "Cuda failure" in
transport/p2p.cc. On other machines the first collective hangs after "via P2P/IPC", with the GPUs at 100 %.

## Why

- Consumer cards (RTX 40, RTX 50) have no peer access; some drivers said that they had.
- The IOMMU, PCIe access control (ACS) or a virtual machine is between two GPUs that are not linked by NVLink.
- The ranks of one machine run in different containers, which cannot pass memory handles to each other.
- In transport/shm.cc: NCCL shares host memory by CUDA's own calls, and those ask for peer access too, on some drivers.
- "P2P is disabled between NVLINK connected GPUs": a link that should be up is not (`nvlink-down`).

## How to tell

`nvidia-smi topo -p2p rw` shows OK between two GPUs, or why not (NS, CNS, GNS).
`sudo dmesg | grep -iE 'IO_PAGE_FAULT|DMAR'` shows transfers that the IOMMU refused. If training runs with
NCCL_P2P_DISABLE=1, this is it.

## See also

- [NCCL: GPU troubleshooting](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/gpu_troubleshooting.html): `nvidia-smi topo -p2p`, ACS, virtual machines
- [nccl#1647](https://github.com/NVIDIA/nccl/issues/1647): ranks in different containers
- [nccl#1838](https://github.com/NVIDIA/nccl/issues/1838): error 217 in transport/shm.cc, on L4 cards
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Sighting, listed
from gpudoctor.facts import Gpu, Gpus, Pci

WARN = r"(?: \(\w+\))? NCCL WARN"  # since 2.30 the function's name stands before it
BY_FILES = Fix(
    "Have all ranks share host memory through /dev/shm, which must have room (`df -h /dev/shm`), and not by CUDA's own calls",
    "export NCCL_CUMEM_HOST_ENABLE=0",
    Kind.MITIGATION,
    source="https://github.com/NVIDIA/nccl/issues/1838",
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where a setting of the driver forbids it, a note where cards of the same switch have none",
    words_stand=True,
    symptoms=[
        r"failed to (?:open|get) (?:CUDA|HIP) IPC handle(?! : (?:711 |2 |out of memory|peer mapping)) ?: (?:\d+ )?(?P<reason>\w[\w ]{2,60})",
        r"(?:hip|cuda)Ipc(?:Get|Open)MemHandle failed ?: (?:\d+ )?(?P<reason>(?!out of memory)\w[\w ]{2,60})",
        r"(?P<reason>peer access is not supported between these two devices)",
        r"(?:failed to set up peer access|failed to peer with device \S{1,30}) ?: (?!711 |2 |60 )\d+ (?P<reason>\w[\w ]{2,60})",
        r"(?:Cuda failure|CUDA error|cuda runtime error).{0,12}(?P<reason>peer access (?:is already|has not been) enabled)",
        (
            rf"p2p\.(?:cc|cu):\d+{WARN} (?:Cuda|HIP) failure (?:\d+ )?'(?P<reason>invalid argument|invalid resource handle|unknown error|"
            r"operation not (?:permitted|supported)|mapping of buffer object failed|the operation cannot be performed[^']{0,40})'"
        ),
        r"\bUDS: (?:Sending|Receiving|Binding)\b.{0,120}? failed ?: (?P<reason>[\w(][\w ()]{0,60})",
        r"doesn't support faster communication broadband via P2P or IB",  # accelerate, for RTX 3090 and 4000
        r"failed to enable peer access from (?!.{0,200}(?:TOO_MANY_PEERS|peer mapping))",  # TensorFlow
        r"\bCUDA_ERROR_PEER_ACCESS_UNSUPPORTED\b",
    ],
    follows=["nvlink-down", "gpu-fell-off-bus", "gpu-ecc-error"],
    fixes=[
        Fix(
            "See which pairs of GPUs can, and how they are connected",
            "nvidia-smi topo -p2p rw; nvidia-smi topo -m",
        ),
        Fix(
            "Put all ranks of a machine into one container, with the host's shared memory",
            "docker run --gpus all --ipc=host IMAGE torchrun --nproc-per-node=N train.py",
        ),
        Fix(
            "Where accelerate stops over an RTX 4000 card: its launcher sets both variables that the message asks for",
            "accelerate launch --multi_gpu --num_processes=N train.py",
        ),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and what these commands print",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Switch PCIe access control off in the BIOS, and let the IOMMU pass through (kernel parameter iommu=pt)",
            kind=Kind.ADMIN,
        ),
        Fix(
            "Go through host memory instead; this is slower, and does not repair a broken link",
            "export NCCL_P2P_DISABLE=1  # accelerate on RTX 4000: NCCL_IB_DISABLE=1 too",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs 2 GPUs that cannot reach each other's memory",
)

NEAR = ("PIX", "PXB")
CONSUMER = ("GeForce", "TITAN")
REASONS = {
    "CNS": "the chipset does not support it",
    "GNS": "the GPU does not support it",
    "TNS": "the topology does not support it",
    "DR": "it was turned off by a setting of the driver (registry key)",
    "NS": "it is not supported",
}


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Tell the way through host memory, which peer copies have no part in, from these."""
    reason = sighting.groups.get("reason")
    if "transport/shm." in sighting.line:
        yield check.found(
            f"the ranks of this machine cannot share host memory by CUDA's own calls: {reason}",
            fixes=[BY_FILES],
        )
    else:
        said = "GPUs of this machine cannot reach each other's memory"
        yield check.found(f"{said}: {reason}" if reason else said)


@check.environment
def environment(gpus: Gpus, pci: Pci | None) -> Iterator[Finding]:
    """NVML denies peer access where NVLink, a board or a common PCIe switch joins two GPUs."""
    if gpus.error and not gpus.devices:
        if pci is not None and not pci.usable:
            return  # there is no GPU
        raise CannotTell(gpus.error)
    devices = {gpu.index: gpu for gpu in gpus.devices}
    if gpus.confidential or gpus.fabric_waits or any(gpu.mig for gpu in gpus.devices):
        return  # there peer access is off, and must be, or comes with the fabric
    denied = [pair for pair in gpus.pairs if pair.p2p in REASONS]
    board = {index for index, gpu in devices.items() if gpu.board}
    linked = [pair for pair in denied if pair.path.startswith("NV") or {pair.first, pair.second} <= board]
    turned_off = [pair for pair in denied if pair.p2p == "DR"]
    near = [
        pair
        for pair in denied
        if pair.path in NEAR
        and not any(
            word in devices[end].name
            for end in (pair.first, pair.second)
            if end in devices
            for word in CONSUMER
        )
    ]
    # a matrix alone, as somebody pastes it because copies between GPUs are the trouble
    alone = [pair for pair in denied if not pair.path and not devices.get(pair.first, Gpu(index=0)).name]
    for pairs, severity in (
        (linked, Severity.ERROR),
        (turned_off, Severity.WARNING),
        (near, Severity.NOTE),
        (alone, Severity.NOTE),
    ):
        if pairs:
            first = pairs[0]
            named = listed([f"GPU {pair.first} and GPU {pair.second}" for pair in pairs], 1, noun="pair")
            joined = f" are joined ({first.path})" if first.path else " are here"
            message = (
                f"{named}{joined}, and peer access is denied ({first.p2p}): "
                f"{REASONS[first.p2p]}. NCCL goes through host memory, or stops"
            )
            yield check.found(message, severity=severity)
            return

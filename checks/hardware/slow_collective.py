"""GPUs of one machine exchange data much slower than their links allow.

## What happens

Nothing fails. Training on eight GPUs is hardly faster than on four, and a profile shows time in `ncclDevKernel_AllReduce`.

## Why

- NVLinks are down, or the fabric manager has not set up the switches: NCCL goes over PCIe, which is many times slower.
- Variables that were left behind: `NCCL_P2P_DISABLE=1`, `NCCL_SHM_DISABLE=1`, `NCCL_NVLS_ENABLE=0`, `NCCL_ALGO`.
- Peer copies over PCIe go through the processor, because of access control (ACS) on the bridges or an IOMMU: 2 GB/s where
  the way through host memory gives 13 to 22.
- A container with little shared memory, or a virtual machine that hides how the GPUs are connected.

## How to tell

`gpudoctor check --deep` copies between every two GPUs and runs all-reduces by size. The bus bandwidth is counted as
nccl-tests does: 2 (n - 1) / n times the size over the time, so it compares with the speed of a link. At half a GiB and
more, eight GPUs of a board should give 228 (A100), 431 (H200) to 460 GB/s (H100) in Azure's checks; less than 65 % of that
is a finding, and so is less than half of what the NVLinks between the GPUs carry. Smaller messages are always slower.

`NCCL_DEBUG=INFO` shows what NCCL chose: `via P2P/CUMEM` and `NVLS`, or `via SHM`.

## See also

- [Azure's node health checks](https://github.com/Azure/azurehpc-health-checks): bus bandwidths by machine
- [NCCL: GPU troubleshooting](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/gpu_troubleshooting.html): ACS, and peer access
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, byte_size, count
from gpudoctor.facts import (
    Collective,
    Gpus,
    Launch,
    Measurements,
    PeerCopy,
    gpu_model,
    pcie_speed,
    siblings_median,
)

LINK_LEAST = 0.5
"""Of what the NVLinks between two GPUs carry: 80 % is usual (stas00/ml-engineering), and half is far below."""
HOST_LEAST = 0.1
"""Of the PCIe link, for a copy without NVLink: 13 to 22 of 31.5 GB/s through host memory are usual, 2 are broken."""
SIBLINGS = 0.4
"""Of the median of copies over links of the same kind."""
ENOUGH = 256 << 20
"""Bytes from which a payload tells of the links and not of latency."""
BOARD = 8
"""GPUs of a board for which the table's figures are meant."""
UNSET = {
    "NCCL_P2P_DISABLE": Fix(
        "Measure again with peer access, which was turned off by hand", "unset NCCL_P2P_DISABLE"
    ),
    "NCCL_SHM_DISABLE": Fix(
        "Measure again with shared memory, which was turned off by hand", "unset NCCL_SHM_DISABLE"
    ),
    "NCCL_ALGO": Fix("Measure again with NCCL's own choice of algorithms", "unset NCCL_ALGO"),
    "NCCL_NVLS_ENABLE": Fix("Measure again with NCCL's own choice of NVLS", "unset NCCL_NVLS_ENABLE"),
}

check = Check(
    severity=Severity.WARNING,
    follows=["nvlink-down", "fabric-state", "fabric-manager-down", "p2p-corruption", "pcie-link-degraded"],
    fixes=[
        Fix(
            "See how the GPUs are connected, and whether all NVLinks are up",
            "nvidia-smi topo -m && nvidia-smi nvlink -s",
        ),
        Fix(
            "See what NCCL chooses, and why",
            "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH torchrun --standalone --nproc-per-node=N train.py",
        ),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and what these print",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "On a board with NVSwitches: start the fabric manager",
            "sudo systemctl restart nvidia-fabricmanager",
            Kind.ADMIN,
        ),
        Fix(
            "Turn ACS off on every PCIe bridge above the GPUs; not where virtual machines are given GPUs",
            "sudo setpci -s BRIDGE ECAP_ACS+6.w=0000",
            Kind.ADMIN,
        ),
    ],
    no_reproduction="needs GPUs behind slow links",
)


@check.environment
def environment(measurements: Measurements, gpus: Gpus | None, launch: Launch | None) -> Iterator[Finding]:
    """Copies between two GPUs, or NCCL's all-reduce, are far below the links between the GPUs."""
    if len(measurements.gpus) == 1:
        return
    if gpus is not None and gpus.confidential:
        raise CannotTell("with confidential computing what GPUs exchange is encrypted: no figure is known")
    links = _Links(measurements, gpus)
    collectives = [c for c in measurements.collectives if c.backend == "nccl" and c.largest]
    copies = [copy for copy in measurements.copies if copy.speed]
    slow = [words for c in collectives if (words := _slow_collective(c, measurements, links))]
    slow += _slow_copies(copies, links)
    if slow:
        more = (
            f"; {count(len(slow) - 1, 'more measurement')} {'is' if len(slow) == 2 else 'are'} low, too"
            if len(slow) > 1
            else ""
        )
        message = f"{slow[0]}{more}: every step of the training waits for it"
        yield check.found(message, evidence=slow[:20] if len(slow) > 1 else [], fixes=_fixes(launch))
    elif failed := next((c.error for c in measurements.collectives if c.backend == "nccl" and c.error), None):
        raise CannotTell(f"NCCL's all-reduce did not come to its end: {failed}")
    elif not collectives and not copies:
        raise CannotTell(
            measurements.why("copies between GPUs")
            or measurements.why("GPU")
            or "no collective on GPUs was measured"
        )
    elif not links.known:
        raise CannotTell("how the GPUs are connected is not known, and no figures are known for their model")


class _Links:
    """What should be there between the GPUs that were measured."""

    def __init__(self, measurements: Measurements, gpus: Gpus | None) -> None:
        names = {device.name for device in measurements.gpus}
        self.model = gpu_model(next(iter(names))) if len(names) == 1 else None
        self.gpus = gpus
        known = {gpu.pci_address: gpu for gpu in gpus.devices if gpu.pci_address} if gpus else {}
        self.nvml = {d.ordinal: known[d.pci_address] for d in measurements.gpus if d.pci_address in known}

    @property
    def known(self) -> bool:
        """Whether there is anything to compare with."""
        return bool(self.nvml) or self.model is not None

    def path(self, first: int, second: int) -> str:
        """Return how two GPUs are connected, by torch's numbers: ``NV18``, ``PHB``; empty: not known."""
        ends = [self.nvml.get(first), self.nvml.get(second)]
        pair = self.gpus.pair(ends[0].index, ends[1].index) if self.gpus and ends[0] and ends[1] else None
        return pair.path if pair else ""

    def nvlink(self, path: str) -> float | None:
        """Return what the NVLinks of a path carry in one direction, in GB/s."""
        each = self.model.nvlink if self.model else None
        lanes = path.removeprefix("NV")
        return each * int(lanes) if each and path.startswith("NV") and lanes.isdecimal() else None

    def host(self, first: int, second: int) -> float | None:
        """Return what the slower of two PCIe links carries, in GB/s."""
        ends = [gpu for n in (first, second) if (gpu := self.nvml.get(n))]
        speeds = [speed for gpu in ends if (speed := pcie_speed(gpu.pcie_generation_max, gpu.pcie_width))]
        return min(speeds) if len(speeds) == 2 else None


def _slow_collective(collective: Collective, measurements: Measurements, links: _Links) -> str:
    """Return what is wrong with the bus bandwidth of the largest payload, in words."""
    payload = collective.largest
    if payload is None or payload.size < ENOUGH:
        return ""
    ordinals = [device.ordinal for device in measurements.gpus]
    paths = [links.path(a, b) for n, a in enumerate(ordinals) for b in ordinals[n + 1 :]]
    carried = [links.nvlink(path) for path in paths]
    usual = min((speed for speed in carried if speed), default=None) if all(carried) else None
    least = LINK_LEAST * usual if usual else None
    table = links.model.all_reduce if links.model else None
    if table is not None and collective.ranks == BOARD:
        least, usual = max(least or 0.0, table.least), table.usual
    if least is None or usual is None or payload.bus >= least:
        return ""
    share = 100 * payload.bus / usual
    return (
        f"all-reduce of {byte_size(payload.size)} over {collective.ranks} GPUs has a bus bandwidth of {payload.bus:.0f} GB/s, "
        f"{share:.0f} % of the {usual:.0f} that such links give"
    )


def _slow_copies(copies: list[PeerCopy], links: _Links) -> list[str]:
    """Return which copies are far below their link or below the others of their kind, in words."""
    kinds: dict[tuple[str, bool | None], list[PeerCopy]] = {}
    for copy in copies:
        kinds.setdefault((links.path(copy.source, copy.target), copy.peer_access), []).append(copy)
    found = []
    for (path, _), alike in kinds.items():
        for copy in alike:
            speed = copy.speed or 0.0
            nvlink, host = links.nvlink(path), links.host(copy.source, copy.target)
            carried = host if nvlink is None and not path.startswith("NV") else nvlink
            least = (LINK_LEAST if nvlink is not None else HOST_LEAST) * (carried or 0.0)
            others = siblings_median([other.speed or 0.0 for other in alike if other is not copy])
            name = f"GPU {copy.source} sends GPU {copy.target} {speed:.1f} GB/s"
            name += f" over {path}" if path else ""
            if carried is not None and speed < least:
                found.append(f"{name}, where its link carries {carried:.0f}")
            elif others is not None and speed < SIBLINGS * others:
                found.append(f"{name}, where pairs of the same kind reach {others:.0f}")
    return found


def _fixes(launch: Launch | None) -> list[Fix]:
    """Put first what was set by hand and slows NCCL down."""
    set_by_hand = launch.variables if launch else {}
    return [*(fix for name, fix in UNSET.items() if name in set_by_hand), *check.fixes]

"""The bus, the kernel log, NVLink and its fabric, topology and NUMA."""

from typing import Any

from msgspec.structs import replace

from gpudoctor.facts import AerErrors, Bridge, GpuPair, KernelEvent, NvLink, Raised
from gpudoctor.snapshot import Snapshot
from tests.scenarios.fault import Change, Fault, both, bus, edit, gpu, put, variables
from tests.scenarios.topics.pci import UPTIME

HOUR_AGO = UPTIME - 3600.0
WEEKS_AGO = UPTIME - 15 * 86_400.0
GPU_0 = "0000:0a:00.0"


def unplugged(*indices: int) -> Change:
    """Take GPUs off the bus, and with that out of every layer above."""

    def change(snapshot: Snapshot) -> Snapshot:
        pci: Any = snapshot.facts["pci"]
        gone = {pci.gpus[n].address for n in indices}
        kept = [d for d in pci.nvidia if d.address not in gone]
        return unlisted(*indices)(edit("pci", nvidia=kept)(snapshot))

    return change


def unlisted(*indices: int) -> Change:
    """Leave GPUs out of what NVML lists, and CUDA and torch."""

    def change(snapshot: Snapshot) -> Snapshot:
        gpus: Any = snapshot.facts["gpus"]
        left = [d for d in gpus.devices if d.index not in indices]
        pairs = [p for p in gpus.pairs if not {p.first, p.second} & set(indices)]
        return both(
            edit("gpus", devices=[replace(d, index=n) for n, d in enumerate(left)], pairs=pairs[: len(left)]),
            unstarted(*indices),
            edit("torch", device_count=len(left), devices=lambda old: old[: len(left)]),
        )(snapshot)

    return change


def unstarted(*indices: int) -> Change:
    """Have CUDA start fewer GPUs than NVML lists."""

    def change(snapshot: Snapshot) -> Snapshot:
        cuda: Any = snapshot.facts["cuda"]
        left = [d for d in cuda.devices if d.ordinal not in indices]
        return edit("cuda", count=len(left), devices=left)(snapshot)

    return change


def logged(kind: str, text: str, **fields: Any) -> Change:
    """Put an event into the kernel log, an hour ago where nothing else is said."""
    event = KernelEvent(kind=kind, text=text, **{"seconds": HOUR_AGO, **fields})
    return edit("kernel_log", events=lambda old: [*old, event])


def xid(number: int, rest: str, **fields: Any) -> Change:
    """Put an Xid of the first GPU into the kernel log."""
    text = f"NVRM: Xid (PCI:0000:0a:00): {number}, {rest}"
    return logged("xid", text, code=number, **{"pci_address": GPU_0, **fields})


def links(active: int, of: int = 18, **fields: Any) -> dict[str, Any]:
    """Return the fields of a GPU of whose links the first ones are up."""
    made = [NvLink(link=n, active=n < active, **(fields if n == 3 else {})) for n in range(of)]
    return {"nvlinks": made, "nvlinks_active": active}


def bridges(**fields: Any) -> Change:
    """Change every bridge above the GPUs."""
    return edit("pci", bridges=lambda old: [replace(bridge, **fields) for bridge in old])


def pairs(**fields: Any) -> Change:
    """Change how every two GPUs are connected."""
    return edit("gpus", pairs=lambda old: [replace(pair, **fields) for pair in old])


def apart(lonely: int) -> Change:
    """Have the matrix alone say that one GPU has no NVLink, as a pasted ``nvidia-smi topo -m`` does."""

    def path(pair: GpuPair) -> GpuPair:
        return replace(pair, path="SYS" if lonely in (pair.first, pair.second) else "NV18", p2p="")

    return both(
        gpu(nvlinks=[], nvlinks_active=None),
        edit("gpus", pairs=lambda old: [path(pair) for pair in old]),
    )


def bound(*cpus: range) -> Change:
    """Bind the process to some processors."""
    return edit("affinity", cpus=[n for span in cpus for n in span])


NOT_READY = both(
    edit("cuda", init=802, count=None, devices=[]),
    edit(
        "torch",
        cuda_available=False,
        device_count=8,
        devices=[],
        arch_list=[],
        cuda_error=Raised(
            type="RuntimeError",
            message="Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
        ),
    ),
)
"""CUDA as it is on an NVSwitch board without its fabric manager. CUDA's own check may speak, too."""
CUDA_TOO = ("cuda-init-failed",)
LOST = ("gpu-fell-off-bus",)

FAULTS = [
    # counts
    Fault("bus-7-of-8", "board-8xh100", unplugged(3), "gpu-missing", says="such a board has 8"),
    Fault("bus-6-of-8", "board-8xa100", unplugged(3, 5), "gpu-missing", says="2 GPUs did not come up"),
    Fault(
        "slurm-promises-more",
        "sbatch-shell",
        both(unplugged(7), variables(SLURM_GPUS_ON_NODE="8")),
        "gpu-missing",
        also=("slurm-gpu-binding", "launch-inconsistent"),
        says="Slurm gives this job 8 GPUs on this node, and the PCI bus has 7",
    ),
    Fault(
        "driver-left-one",
        "server-8xl40s",
        both(bus(2, driver=None, minor=None), unlisted(2)),
        "gpu-missing",
        says="holds 7 of 8 GPUs on the PCI bus and did not take 0000:2a:00.0",
    ),
    Fault(
        "driver-left-one-with-its-reason",
        "server-8xl40s",
        both(
            bus(2, driver=None, minor=None),
            unlisted(2),
            logged(
                "nvrm",
                "NVRM: GPU 0000:2a:00.0: RmInitAdapter failed! (0x22:0x56:894)",
                pci_address="0000:2a:00.0",
            ),
        ),
        "gpu-missing",
        also=LOST,
        says="did not take",
    ),
    Fault(
        "nvml-7-of-8",
        "board-8xh200",
        unlisted(6),
        "gpu-missing",
        also=("gpu-device-nodes",),
        says="the PCI bus has 8 GPUs and NVML lists 7: 0000:6a:00.0 is missing",
    ),
    Fault("nvml-1-of-2", "workstation-2x4090", unlisted(1), "gpu-missing", says="NVML lists 1"),
    Fault("cuda-7-of-8", "board-8xh100", unstarted(3), "gpu-missing", says="GPU 3 (0000:3a:00.0)"),
    Fault("cuda-7-of-8-a-rank", "torchrun-rank", unstarted(7), "gpu-missing", says="CUDA starts 7"),
    Fault(
        "torch-3-of-4",
        "server-4xt4",
        edit("torch", device_count=3, devices=lambda old: old[:3]),
        "gpu-missing",
        says="torch sees 3",
    ),
    Fault(
        "old-display-card",
        "workstation-4xa6000",
        both(bus(0, driver=None, device="0x128b"), unlisted(0)),
        "gpu-missing",
        note=True,
        says="of another model",
    ),
    # the kernel log
    Fault(
        "xid-46",
        "server-8xl40s",
        xid(46, "pid=4711, name=python, Ch 00000008"),
        "gpu-xid",
        says="last 1 hour ago: the GPU stopped processing",
    ),
    Fault("xid-62", "board-8xh100", xid(62, "0000(0000) 00000000 00000000"), "gpu-xid"),
    Fault("xid-119", "board-8xh100", xid(119, "pid=9, name=nvidia-smi, Timeout after 6s"), "gsp-firmware"),
    Fault("xid-120", "board-8xb200", xid(120, "GSP task exception"), "gsp-firmware"),
    Fault("xid-109", "workstation-4090", xid(109, "CTX SWITCH TIMEOUT, Info 0x58005"), "gpu-xid"),
    Fault("xid-32", "server-4xt4", xid(32, "Channel ID 00000000 intr 00004000"), "gpu-xid"),
    Fault("xid-unlisted", "board-8xh100", xid(170, "Interrupt seen in CC mode"), "gpu-xid"),
    Fault("xid-119-weeks-ago", "workstation-4090", xid(119, "GSP", seconds=WEEKS_AGO), "gsp-firmware"),
    Fault(
        "xid-31-now",
        "board-8xh100",
        xid(31, "pid=4711, name=python, MMU Fault", process="python"),
        "gpu-xid",
        says="this blames the program, not the GPU",
    ),
    Fault(
        "xid-13-then-45",
        "board-8xa100",
        both(xid(13, "Graphics SM Warp Exception"), xid(45, "Ch 00000010", count=8)),
        "gpu-xid",
        says="Xid 13",
    ),
    Fault("xid-43-without-a-time", "board-8xa100", xid(43, "Ch 00000010", seconds=None), "gpu-xid"),
    Fault(
        "xid-31-weeks-ago",
        "board-8xh100",
        xid(31, "MMU Fault", seconds=WEEKS_AGO),
        "gpu-xid",
        note=True,
        says="15 days ago",
    ),
    Fault(
        "xid-of-the-desktop", "workstation-4090", xid(13, "name=Xorg", process="Xorg"), "gpu-xid", note=True
    ),
    Fault(
        "sxid-fatal",
        "board-8xh100",
        logged(
            "sxid",
            "nvidia-nvswitch0: SXid (PCI:0000:c0:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
            code=20034,
            pci_address="0000:c0:00.0",
            fatal=True,
        ),
        "gpu-sxid",
        says="SXid 20034 of the switch at 0000:c0:00.0: fatal",
    ),
    Fault(
        "sxid-non-fatal",
        "board-8xh100",
        logged("sxid", "SXid (PCI:0000:c0:00.0): 12028, Non-fatal, Link 32", code=12028, fatal=False),
        "gpu-sxid",
        note=True,
    ),
    # PCIe
    Fault(
        "width-8-of-16",
        "board-8xh100",
        both(bus(4, link_width=8), gpu(4, pcie_width=8)),
        "pcie-link-degraded",
        says="8 of 16 PCIe lanes are in use",
    ),
    Fault(
        "width-on-the-bus-alone", "server-4xa100-pcie", bus(0, link_width=4), "pcie-link-degraded", says="1/4"
    ),
    Fault("width-in-nvml-alone", "cloud-a10", gpu(0, pcie_width=8), "pcie-link-degraded"),
    Fault(
        "width-in-a-slot-of-8",
        "server-4xl4-slots-of-8-lanes",
        both(bus(1, link_width=2), gpu(1, pcie_width=2)),
        "pcie-link-degraded",
        says="2 of 8",
    ),
    Fault(
        "width-without-the-bus",
        "server-8xl40s",
        both(put(pci=None), gpu(2, pcie_width=1)),
        "pcie-link-degraded",
    ),
    Fault(
        "generation-under-load",
        "board-8xa100",
        gpu(1, pcie_generation=1, utilization_percent=98, throttle_reasons=["sw_power_cap"]),
        "pcie-link-degraded",
        says="generation 1 of 4 while the GPU is 98 % busy",
    ),
    Fault(
        "aer-fatal",
        "server-8xl40s",
        bus(3, aer=AerErrors(correctable=40, fatal=2, kinds={"DLP": 2})),
        "pcie-errors",
        says="2 fatal PCIe errors (DLP 2)",
    ),
    Fault("aer-nonfatal", "workstation-4090", bus(0, aer=AerErrors(nonfatal=7)), "pcie-errors"),
    Fault(
        "aer-unsupported-requests",
        "workstation-4090",
        bus(0, aer=AerErrors(nonfatal=1, kinds={"UnsupReq": 1})),
        "pcie-errors",
        note=True,
    ),
    Fault(
        "aer-of-the-bridge", "workstation-4090", bridges(aer=AerErrors(fatal=1)), "pcie-errors", says="above"
    ),
    Fault(
        "aer-in-the-log",
        "workstation-5090",
        both(
            bus(0, aer=None),
            logged(
                "aer",
                "nvidia 0000:0a:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer",
                pci_address=GPU_0,
                fatal=True,
            ),
        ),
        "pcie-errors",
    ),
    Fault(
        "replays-of-one",
        "board-8xh100",
        gpu(5, pcie_replays=48_000),
        "pcie-errors",
        says="48,000 PCIe replays",
    ),
    Fault("replays-by-rate", "cloud-t4", gpu(0, pcie_replays=9_000_000), "pcie-errors", says="a minute"),
    # NVLink and its fabric
    Fault(
        "link-down",
        "board-8xh100",
        gpu(2, **links(17)),
        "nvlink-down",
        says="17 of its NVLinks are up (down: 17)",
    ),
    Fault("links-of-one-gpu-down", "board-8xa100", gpu(6, **links(0, 12)), "nvlink-down"),
    Fault("all-links-down", "board-8xa100", gpu(**links(0, 12)), "nvlink-down", says="all 8 GPUs are down"),
    Fault("link-down-in-a-guest", "cloud-8xh100-efa", gpu(1, **links(16)), "nvlink-down"),
    Fault("link-down-in-a-container-of-2", "container-2-of-8", gpu(1, **links(9)), "nvlink-down"),
    Fault("v100-link-down", "server-8xv100-cuda12", gpu(0, **links(5, 6)), "nvlink-down"),
    Fault(
        "bridge-lost-a-link",
        "workstation-2x3090-bridged",
        gpu(**links(3, 4)),
        "nvlink-down",
        says="come up together",
    ),
    Fault("matrix-alone", "board-8xh100", apart(4), "nvlink-down", says="GPU 4"),
    Fault(
        "link-recoveries",
        "board-8xh100",
        gpu(3, **links(18, recovery_errors=2, replay_errors=140)),
        "nvlink-errors",
        says="2 recovery errors (link 3 most)",
    ),
    Fault("link-crc", "server-2xh100-pcie-bridged", gpu(0, **links(18, crc_errors=800_000)), "nvlink-errors"),
    Fault(
        "link-few-replays", "board-8xh100", gpu(3, **links(18, replay_errors=2)), "nvlink-errors", note=True
    ),
    Fault("xid-74", "board-8xa100", xid(74, "NVLink: fatal error detected on link 14"), "nvlink-errors"),
    Fault(
        "xid-149-nonfatal",
        "board-8xb200",
        xid(149, "NETIR_LINK_EVT Nonfatal XC0 i0 Link 00"),
        "nvlink-errors",
        says="repaired",
    ),
    Fault(
        "fabric-of-one-gpu",
        "board-8xh100",
        gpu(5, fabric_state="in_progress", fabric_status=None),
        "fabric-state",
        says="while others have joined it",
    ),
    Fault("fabric-status", "board-8xh200", gpu(5, fabric_status=999), "fabric-state", says="NVML error 999"),
    Fault("fabric-degraded", "board-8xb200", gpu(1, fabric_health=["degraded_bandwidth"]), "fabric-state"),
    Fault(
        "fabric-misconfigured",
        "board-8xb200",
        gpu(1, fabric_health=["incorrect_configuration"]),
        "fabric-state",
    ),
    Fault(
        "fabric-waits",
        "board-8xh100",
        gpu(fabric_state="in_progress", fabric_status=None),
        "fabric-manager-down",
        says="no GPU of this board has joined",
    ),
    Fault(
        "fabric-not-started-and-links-down",
        "board-8xh100",
        gpu(fabric_state="not_started", fabric_status=None, **links(0)),
        "fabric-manager-down",
    ),
    Fault("cuda-802", "board-8xa100", NOT_READY, "fabric-manager-down", also=CUDA_TOO, says="802"),
    Fault(
        "cuda-802-links-down",
        "board-8xa100",
        both(NOT_READY, gpu(**links(0, 12)), edit("fabric", manager=False)),
        "fabric-manager-down",
        also=CUDA_TOO,
    ),
    Fault(
        "cuda-802-in-a-container",
        "pod-8",
        both(NOT_READY, put(cuda=None)),
        "fabric-manager-down",
        also=CUDA_TOO,
    ),
    Fault(
        "no-imex-channel",
        "board-8xb200",
        gpu(fabric_clique="c0ffee-1"),
        "imex-down",
        says="no channel is in /dev/nvidia-caps-imex-channels",
    ),
    Fault(
        "no-imex-daemon",
        "srun-rank",
        both(gpu(fabric_clique="c0ffee-1"), edit("fabric", imex_channels=1)),
        "imex-down",
        says="this job on 2 nodes",
    ),
    # how GPUs reach each other, and the processors
    Fault(
        "iommu",
        "workstation-4xa6000",
        edit("pci", nvidia=lambda old: [replace(d, iommu="DMA-FQ") for d in old]),
        "iommu-translating",
        says="type DMA-FQ",
    ),
    Fault(
        "iommu-strict",
        "server-4xa100-pcie",
        edit("pci", nvidia=lambda old: [replace(d, iommu="DMA") for d in old]),
        "iommu-translating",
    ),
    Fault(
        "iommu-page-faults",
        "server-8xl40s",
        both(
            edit("pci", nvidia=lambda old: [replace(d, iommu="DMA") for d in old]),
            logged("iommu", "nvidia 0000:0a:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT]", pci_address=GPU_0),
        ),
        "iommu-translating",
        also=("p2p-corruption",),
        says="1 refused transfer",
    ),
    Fault("acs", "server-8xl40s", bridges(acs=True), "acs-enabled", says="8 PCIe bridges"),
    Fault(
        "acs-on-one-switch",
        "server-4xa100-pcie",
        edit("pci", bridges=lambda old: [Bridge(address=old[0].address, acs=True), *old[1:]]),
        "acs-enabled",
    ),
    Fault(
        "rank-far-from-its-gpu",
        "torchrun-rank",
        bound(range(32, 64), range(96, 128)),
        "numa-remote-gpu",
        says="its GPU 3 (0000:3a:00.0) is attached to node 0",
    ),
    Fault(
        "task-far-from-its-gpu",
        "srun-one-gpu-per-task",
        both(bound(range(32, 64)), bus(0, numa_node=0, local_cpus="0-31,64-95")),
        "numa-remote-gpu",
        also=("cpus-per-rank", "omp-threads"),
    ),
    Fault(
        "shell-on-one-node",
        "board-8xh100",
        bound(range(32), range(64, 96)),
        "numa-affinity",
        says="none of which is near 4 of its 8 GPUs",
    ),
    Fault(
        "memory-of-one-node",
        "torchrun-rank",
        edit("affinity", memory_nodes=[1]),
        "numa-affinity",
        says="node 1 only",
    ),
    Fault(
        "rtx-40-old-driver",
        "workstation-2x4090",
        both(
            edit("gpus", driver_version="535.183.01"),
            edit("driver", version="535.183.01", module_version="535.183.01"),
        ),
        "pcie-p2p-driver",
        also=("cuda-driver-too-old",),
    ),
    Fault(
        "rtx-40-old-driver-worked-around",
        "workstation-2x4090",
        both(
            edit("gpus", driver_version="550.40.06"),
            variables(NCCL_P2P_DISABLE="1"),
        ),
        "pcie-p2p-driver",
        note=True,
    ),
    Fault("nvlink-without-peers", "board-8xa100", pairs(p2p="GNS"), "nccl-p2p", says="are joined (NV12)"),
    Fault("peers-turned-off", "workstation-4xa6000", pairs(p2p="DR"), "nccl-p2p", says="turned off"),
    Fault("switch-without-peers", "server-8xl40s", pairs(path="PIX", p2p="CNS"), "nccl-p2p", note=True),
    Fault(
        "lanes-in-sysfs-alone",
        "server-8xl40s",
        bus(3, link_width=1, upstream_width_max=None),
        "pcie-link-degraded",
        says="1 of 16",
    ),
    Fault(
        "errors-corrected-without-end",
        "board-8xh100",
        bus(2, aer=AerErrors(correctable=50_000_000), link_speed_max="32.0 GT/s PCIe", link_width_max=16),
        "pcie-errors",
        says="that were corrected",
    ),
    Fault(
        "power-limit-below-siblings",
        "board-8xh100",
        both(gpu(power_limit_default_watts=None), gpu(4, power_limit_watts=350.0)),
        "gpu-power-limited",
        says="of others of the same model",
    ),
]

"""What ``check --deep`` measures on a healthy machine: figures as such machines are reported to give."""

from gpudoctor.facts import Collective, DeviceSpeed, Disk, Measurements, Missing, Payload, PeerCopy
from tests.scenarios.machine import Machine, Model
from tests.scenarios.topics.gpus import _p2p, _path, address

# GB/s of the host's link and of the memory, TFLOPS of the type that is measured.
FIGURES = {
    "7.0": (12.1, 790, 95),
    "Tesla T4": (12.3, 240, 38),
    "NVIDIA A10": (24, 480, 98),
    "NVIDIA A100-SXM4-80GB": (24.5, 1700, 255),
    "NVIDIA A100 80GB PCIe": (24.1, 1650, 220),
    "NVIDIA L4": (24, 252, 85),
    "NVIDIA L40S": (25, 690, 215),
    "NVIDIA H100 80GB HBM3": (54, 2900, 640),
    "NVIDIA H100 PCIe": (52, 1750, 440),
    "NVIDIA H200": (54.5, 4200, 670),
    "NVIDIA B200": (55.2, 6700, 1480),
    "NVIDIA GH200 480GB": (370, 3500, 650),
    "NVIDIA GeForce RTX 2080 Ti": (12.4, 520, 88),
    "NVIDIA GeForce RTX 3090": (25.1, 840, 68),
    "NVIDIA GeForce RTX 4090": (25.2, 910, 160),
    "NVIDIA GeForce RTX 5090": (52, 1550, 205),
    "NVIDIA RTX A6000": (24.8, 650, 115),
}
SIZES = (1 << 20, 16 << 20, 256 << 20, 1 << 30)
BY_SIZE = (0.08, 0.46, 0.90, 0.96)
"""The share of the largest message's bandwidth (8 x H200, stas00/ml-engineering)."""


def facts(machine: Machine) -> Measurements:
    """Return what a healthy machine gives, a few per cent apart from GPU to GPU."""
    disk = Disk(folder="/home/user", file_system="ext4", size=256 << 20, write=1.9, read=3.1, wrong_bytes=0)
    no_master = Missing(
        what="connection to the rendezvous", why="MASTER_ADDR and MASTER_PORT are not both set"
    )
    shown = machine.visible if machine.visible is not None else len(machine.models)
    if not shown:
        return Measurements(
            devices=[
                DeviceSpeed(
                    ordinal=-1,
                    memory=28,
                    matrix_product=0.2,
                    matrix_type="float32",
                    wrong_elements=0,
                    checked_elements=65536,
                )
            ],
            collectives=[_gloo()],
            disks=[disk],
            missing=[no_master, Missing(what="GPUs and copies between them", why="torch can use none")],
        )
    ordinals = range(shown)
    several = shown > 1
    return Measurements(
        devices=[_device(machine, n) for n in ordinals],
        copies=[_copy(machine, a, b) for a in ordinals for b in ordinals if a != b],
        collectives=[_nccl(machine, shown) if several else _gloo()],
        disks=[disk],
        missing=[no_master]
        + ([] if several else [Missing(what="copies between GPUs and NCCL", why="there is one GPU")]),
    )


def _device(machine: Machine, n: int) -> DeviceSpeed:
    model = machine.models[n]
    link, memory, product = FIGURES.get(model.name) or FIGURES[model.capability]
    link *= (0.6 if machine.wsl else 1) * (0.85 if machine.virtual else 1)
    apart = 1 - 0.02 * (n % 4)
    share = 1 / machine.mig if machine.mig else 1
    return DeviceSpeed(
        ordinal=n,
        name=model.name + (" MIG 1g.10gb" if machine.mig else ""),
        pci_address=address(n),
        host_to_device=link * apart,
        device_to_host=link * 0.97 * apart,
        memory=memory * apart * share,
        matrix_product=product * apart * share,
        matrix_type="float16" if model.capability < "8" else "bfloat16",
        wrong_elements=0,
        checked_elements=262144,
        sm_clocks=[1980, 1755, 1710],
        sm_clock_max=1980,
        throttled={"sw_power_cap": 0.9},
        temperature_celsius=61,
        power_watts=model.watts * 0.98,
    )


def _links(machine: Machine, a: int, b: int) -> float | None:
    """Return what the NVLinks between two GPUs carry in one direction, in GB/s."""
    path = _path(machine, a, b)
    each = 50 if machine.model.capability.startswith("10") else 25
    return each * int(path[2:]) if path.startswith("NV") else None


def _host_path(model: Model) -> float:
    return {3: 12.5, 4: 25, 5: 52}[model.pcie]


def _copy(machine: Machine, a: int, b: int) -> PeerCopy:
    carried = _links(machine, a, b)
    slower = 0.35 if _path(machine, a, b) == "SYS" else 0.5
    speed = 0.85 * carried if carried else slower * _host_path(machine.models[a])
    return PeerCopy(
        source=a,
        target=b,
        speed=speed,
        peer_access=_p2p(machine) == "OK",
        wrong_elements=0,
        checked_elements=25165824,
    )


def _nccl(machine: Machine, ranks: int) -> Collective:
    carried = _links(machine, 0, ranks - 1)
    bus = 0.76 * carried if carried else 0.25 * _host_path(machine.model)
    return Collective(
        backend="nccl",
        ranks=ranks,
        initialised=0.4,
        first=1.9,
        payloads=[
            Payload(size=size, seconds=2 * (ranks - 1) / ranks * size / (bus * share * 1e9), bus=bus * share)
            for size, share in zip(SIZES, BY_SIZE, strict=True)
        ],
        checked=["float32", "float16", "bfloat16", "int32", "int64"],
    )


def _gloo() -> Collective:
    return Collective(
        backend="gloo",
        ranks=2,
        interface="lo",
        initialised=0.02,
        first=0.0006,
        payloads=[
            Payload(size=4096, seconds=0.0017, bus=0.0024),
            Payload(size=16 << 20, seconds=0.02, bus=0.8),
        ],
        checked=["float32", "float16", "bfloat16", "int32", "int64"],
    )

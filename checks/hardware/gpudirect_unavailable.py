"""GPUDirect RDMA is not available: adapters cannot reach the GPUs' memory.

## What happens

Nothing fails. With `NCCL_DEBUG=INFO` the lines "via NET/IB/0" lack "/GDRDMA" behind them, and traffic between nodes is
much slower than the ports allow, for each byte is copied into the host's memory and out again.

## Why

An adapter reaches a GPU's memory (GPUDirect RDMA) by one of two ways:

- DMA-BUF, part of Linux since 5.12, with NVIDIA's open kernel module;
- the module `nvidia_peermem` (before driver 470 `nv_peer_mem`), which is installed with the driver and has to be loaded.

With the closed kernel module and without `nvidia_peermem` there is neither. GeForce cards have no GPUDirect RDMA at all,
and Amazon's EFA has a way of its own.

## How to tell

`head -1 /proc/driver/nvidia/version` says "Open Kernel Module" or not, `lsmod | grep -E 'peermem|peer_mem'` whether the
other way is there.

## See also

- [GPUDirect RDMA with NVIDIA's operator](https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-rdma.html): DMA-BUF and nvidia-peermem, and what each needs
- [NCCL: networking troubleshooting](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/networking_troubleshooting.html): tests of the fabric
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Sighting
from gpudoctor.facts import (
    Driver,
    Gpus,
    Infiniband,
    Interfaces,
    Launch,
    Names,
    NcclConfiguration,
    Pci,
    gpus_served,
    nccl_variables,
    spans_nodes,
)

# Drivers whose adapters use nvidia_peermem.
PEERS = ("mlx5_core", "bnxt_en", "irdma", "ice")
CONSUMER = ("GeForce", "TITAN")

check = Check(
    severity=Severity.WARNING,
    otherwise="a note on one machine with fewer than four GPUs, and where NCCL alone says it",
    symptoms=[r"GPU Direct RDMA Disabled for HCA \d+ '(?P<adapter>[\w.-]{1,40})'"],
    message="NCCL finds no GPUDirect RDMA for <adapter>: traffic between nodes goes through the host's memory",
    fixes=[
        Fix(
            "See whether NCCL uses it: start with NCCL_DEBUG=INFO, and look whether the lines end in GDRDMA",
            "grep 'via NET' train.log",
        ),
        Fix(
            "On a cluster: ask the administrators for it, with what this prints on a node of the job",
            "head -1 /proc/driver/nvidia/version; grep -E 'peermem|peer_mem' /proc/modules",
        ),
        Fix(
            "Load the module, now and at each start; \"Invalid argument\" says that the adapters' driver is Linux's own, and the "
            "module needs NVIDIA's (DOCA-OFED), installed before the GPU's driver",
            "sudo modprobe nvidia_peermem && echo nvidia_peermem | sudo tee /etc/modules-load.d/nvidia_peermem.conf",
            Kind.ADMIN,
        ),
        Fix(
            "Or install NVIDIA's open kernel module, with which DMA-BUF works (Turing and newer)",
            kind=Kind.ADMIN,
        ),
    ],
    no_reproduction="needs an InfiniBand adapter",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Note what NCCL says of every adapter of a machine without it, whether that costs anything or not."""
    message = f"NCCL finds no GPUDirect RDMA for {sighting.groups['adapter']}: traffic between nodes goes through the host's memory"
    yield check.found(message, severity=Severity.NOTE)


@check.environment
def environment(
    infiniband: Infiniband,
    driver: Driver,
    gpus: Gpus | None,
    pci: Pci | None,
    launch: Launch | None,
    names: Names | None,
    interfaces: Interfaces | None,
    configuration: NcclConfiguration | None,
) -> Iterator[Finding]:
    """The kernel module is the closed one, nvidia_peermem is not loaded, and adapters for the GPUs are active."""
    served = gpus_served(gpus, pci)
    adapters = [d.name for d, _ in infiniband.carrying if d.driver in PEERS]
    if not adapters or not served or not infiniband.fabric(served) or not driver.description:
        return
    variables = nccl_variables(launch, configuration)
    if "Open Kernel Module" in driver.description or variables.get("NCCL_IB_DISABLE") == "1":
        return
    if gpus and gpus.devices and all(any(word in g.name for word in CONSUMER) for g in gpus.devices):
        return
    if infiniband.peermem is None:
        raise CannotTell("/sys/module is not readable here, so whether nvidia_peermem is loaded is not known")
    if infiniband.peermem:
        return
    meant = served >= 4 or spans_nodes(launch, names, interfaces)
    message = (
        f"NVIDIA's kernel module is the closed one and nvidia_peermem is not loaded: {', '.join(adapters[:8])} cannot reach the "
        "GPUs' memory, and traffic between nodes goes through the host's"
    )
    yield check.found(message, severity=None if meant else Severity.NOTE)

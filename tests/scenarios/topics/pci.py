"""What a healthy machine's PCI bus shows."""

from gpudoctor.facts import AerErrors, Bridge, Pci, PciDevice
from tests.scenarios.machine import Machine, Model
from tests.scenarios.topics.affinity import node_cpus
from tests.scenarios.topics.gpus import address

SPEED = {3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe"}
UPTIME = 2_000_000.0
"""Seconds: 23 days."""


def facts(machine: Machine) -> Pci:
    """Return the GPUs, their audio functions, RDMA adapters, and the NVSwitches of boards that have them."""
    if machine.wsl:
        return Pci(uptime_seconds=UPTIME)  # Windows' GPUs are on no bus of the guest's
    spare = max(machine.on_bus - len(machine.models), 0)
    models = [*machine.models, *[machine.models[0]] * spare] if machine.models else []
    found = [_gpu(machine, n, model, len(models)) for n, model in enumerate(models)]
    bridges = {
        address: Bridge(address=address, acs=False, aer=AerErrors()) for d in found for address in d.above
    }
    for n, model in enumerate(models):
        if model.display:
            sound = address(n)[:-1] + "1"
            found.append(PciDevice(address=sound, device_class="0x0403", driver="snd_hda_intel"))
    if models and models[0].switched and not machine.virtual:
        found += [
            PciDevice(
                address=f"0000:c{n}:00.0", device="0x22a3", device_class="0x0680", driver="nvidia-nvswitch"
            )
            for n in range(4)
        ]
    return Pci(
        nvidia=sorted(found, key=lambda d: d.address),
        nics=[_nic(machine, n) for n in range(machine.infiniband)],
        bridges=list(bridges.values()),
        uptime_seconds=UPTIME,
        cgroup="/" if machine.container else _cgroup(machine),
    )


def _cgroup(machine: Machine) -> str:
    if "SLURM_JOB_ID" in machine.variables:
        return "/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0"
    return "/user.slice/user-1000.slice/session-3.scope"


def _node(machine: Machine, n: int, all_of_them: int) -> int:
    return int(machine.sockets == 2 and n >= max(all_of_them // 2, 1))


def _gpu(machine: Machine, n: int, model: Model, all_of_them: int) -> PciDevice:
    node = _node(machine, n, all_of_them)
    lanes = machine.lanes
    # A virtual machine shows a flat bus: no bridges, no nodes, no error reporting.
    above = [] if machine.virtual else [f"0000:{0x09 + 0x10 * n:02x}:00.0"]
    if (
        model.switched and not machine.virtual
    ):  # two GPUs and two network adapters under one switch of a board
        above += [f"0000:{0x05 + 0x20 * (n // 2):02x}:00.0", f"0000:{0x04 + 0x20 * (n // 2):02x}:01.0"]
    return PciDevice(
        address=address(n),
        device=model.device,
        device_class="0x0300" if model.display else "0x0302",
        driver="nvidia",
        link_width=lanes,
        link_width_max=16,
        # An idle link of a card with a display falls back.
        link_speed="2.5 GT/s PCIe" if model.display else SPEED[model.pcie],
        link_speed_max=SPEED[model.pcie],
        upstream_width_max=None if machine.virtual else lanes,
        numa_node=None if machine.sockets == 1 or machine.virtual else node,
        local_cpus=f"0-{machine.cpus - 1}" if machine.virtual else node_cpus(machine, node),
        iommu="" if machine.virtual else machine.iommu,
        aer=None if machine.virtual else AerErrors(correctable=2),
        switch=next(iter(above), ""),
        above=above,
        root="pci0000:00"
        if machine.virtual or not model.switched
        else f"pci0000:{0x04 + 0x20 * (n // 2):02x}",
        minor=n,
        excluded=False,
    )


def _nic(machine: Machine, n: int) -> PciDevice:
    switch = [f"0000:{0x05 + 0x20 * (n // 2):02x}:00.0", f"0000:{0x04 + 0x20 * (n // 2):02x}:01.0"]
    above = [] if machine.virtual else [f"0000:{0x06 + 0x10 * n:02x}:08.0", *switch]
    return PciDevice(
        address=f"0000:{0x0B + 0x07 * n:02x}:00.0",
        device="0x1021",
        device_class="0x0207",
        driver="efa" if machine.efa else "mlx5_core",
        link_width=16,
        link_width_max=16,
        above=above,
        root="pci0000:00" if machine.virtual else f"pci0000:{0x04 + 0x20 * (n // 2):02x}",
        numa_node=None if machine.virtual else _node(machine, n, machine.infiniband),
        names=[f"mlx5_{n}" if not machine.efa else f"rdmap{n}s0"],
    )

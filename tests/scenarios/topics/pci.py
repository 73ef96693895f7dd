"""What a healthy machine's PCI bus shows."""

from gpudoctor.facts import AerErrors, Pci, PciDevice
from tests.scenarios.machine import Machine
from tests.scenarios.topics.gpus import address

SPEED = {3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe"}


def facts(machine: Machine) -> Pci:
    """Return the GPUs, their audio functions, and the NVSwitches of boards that have them."""
    if machine.wsl:
        return Pci()  # Windows' GPUs are on no bus of the guest's
    models = (
        [*machine.models, *[machine.models[0]] * max(machine.on_bus - len(machine.models), 0)]
        if machine.models
        else []
    )
    found = []
    for n, model in enumerate(models):
        kind = "0x0300" if model.display else "0x0302"
        idle = SPEED[model.pcie] if not model.display else "2.5 GT/s PCIe"
        # A virtual machine shows a flat bus: no nodes, no error reporting.
        found.append(
            PciDevice(
                address=address(n),
                device=model.device,
                device_class=kind,
                driver="nvidia",
                link_width=16,
                link_width_max=16,
                link_speed=idle,
                link_speed_max=SPEED[model.pcie],
                upstream_width_max=16,
                numa_node=None if machine.sockets == 1 else int(n >= max(len(models) // 2, 1)),
                local_cpus=f"0-{machine.cpus - 1}",
                iommu="" if machine.virtual else "identity",
                aer=None if machine.virtual else AerErrors(),
            )
        )
        if model.display:
            found.append(
                PciDevice(address=address(n)[:-1] + "1", device_class="0x0403", driver="snd_hda_intel")
            )
    if models and models[0].switched and not machine.virtual:
        found += [
            PciDevice(
                address=f"0000:c{n}:00.0", device="0x22a3", device_class="0x0680", driver="nvidia-nvswitch"
            )
            for n in range(4)
        ]
    return Pci(nvidia=sorted(found, key=lambda d: d.address))

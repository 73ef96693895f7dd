"""The NVIDIA driver of a healthy machine."""

from gpudoctor.facts import DeviceNode, Driver
from tests.scenarios.machine import Machine


def facts(machine: Machine) -> Driver:
    """Return the loaded module and its nodes; WSL has neither."""
    if machine.wsl:
        return Driver(dxg=True)
    if not machine.models:
        return Driver()
    names = [*range(len(machine.models)), "ctl", "-uvm", "-uvm-tools"]
    return Driver(
        version=machine.driver,
        module_version=machine.driver,
        description=f"NVIDIA UNIX Open Kernel Module for x86_64  {machine.driver}  Release Build",
        nodes=[DeviceNode(path=f"/dev/nvidia{name}", readable=True, writable=True) for name in names],
    )

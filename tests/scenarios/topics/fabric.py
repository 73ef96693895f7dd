"""The programs of NVLink fabrics on a healthy machine."""

from gpudoctor.facts import Fabric
from tests.scenarios.machine import Machine


def facts(machine: Machine) -> Fabric:
    """Return a fabric manager where NVSwitches want one; a container does not see it."""
    if machine.container or machine.wsl:
        return Fabric()
    wanted = bool(machine.models) and machine.model.switched and not machine.virtual
    return Fabric(manager=wanted, manager_installed=wanted, imex=False)

"""NCCL's plug-ins on a healthy machine: Amazon's images have one."""

from gpudoctor.facts import Plugins
from tests.scenarios.machine import Machine


def facts(machine: Machine) -> Plugins:
    """Return Amazon's plug-in where there is EFA."""
    return Plugins(found=["libnccl-net-ofi.so", "libnccl-tuner-ofi.so"] if machine.efa else [])

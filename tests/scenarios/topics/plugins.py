"""NCCL's plug-ins on a healthy machine: Amazon's images have one."""

from gpudoctor.facts import Plugins
from tests.scenarios.machine import Machine


def facts(machine: Machine) -> Plugins:
    """Return Amazon's plug-in where there is EFA."""
    if machine.variables.get("NCCL_NET") == "gIB":
        return Plugins(found=["libnccl-net.so"])  # of Google, in a folder of its own on LD_LIBRARY_PATH
    return Plugins(found=["libnccl-net-ofi.so", "libnccl-tuner-ofi.so"] if machine.efa else [])

"""NCCL's plug-ins on a healthy machine: the clouds' images have one."""

from gpudoctor.facts import Plugins
from tests.scenarios.machine import Machine


def facts(machine: Machine) -> Plugins:
    """Return the plug-in that the cloud's images bring."""
    if machine.variables.get("NCCL_NET") == "gIB":
        return Plugins(found=["libnccl-net.so"])  # of Google, in a folder of its own on LD_LIBRARY_PATH
    return Plugins(found=["libnccl-net-ofi.so", "libnccl-tuner-ofi.so"] if machine.efa else [])

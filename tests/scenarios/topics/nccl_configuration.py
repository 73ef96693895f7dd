"""NCCL's configuration files on a healthy machine."""

from gpudoctor.facts import NcclConfiguration
from tests.scenarios.machine import Machine


def facts(machine: Machine) -> NcclConfiguration:
    """Return no file: few machines have one."""
    return NcclConfiguration()

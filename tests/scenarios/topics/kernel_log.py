"""The kernel log of a healthy machine."""

from gpudoctor.facts import KernelLog
from tests.scenarios.machine import Machine
from tests.scenarios.topics.pci import UPTIME


def facts(machine: Machine) -> KernelLog:
    """Return a log with what the machine is described with: mostly nothing."""
    return KernelLog(source="/dev/kmsg", events=list(machine.kernel_events), uptime_seconds=UPTIME)

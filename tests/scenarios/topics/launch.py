"""The launch variables of a healthy machine."""

from gpudoctor.facts import Launch
from tests.scenarios.machine import Machine


def facts(machine: Machine) -> Launch:
    """Return the variables that the machine is described with."""
    return Launch.of(machine.variables)

"""A healthy machine has no proxy."""

from gpudoctor.facts import Proxies
from tests.scenarios.machine import Machine


def facts(machine: Machine) -> Proxies:
    """Return none."""
    return Proxies()

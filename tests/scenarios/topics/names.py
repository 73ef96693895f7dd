"""What names resolve to on a healthy machine."""

from gpudoctor.facts import Names, Resolution
from tests.scenarios.machine import Machine


def facts(machine: Machine) -> Names:
    """Return the own name's address, and that of MASTER_ADDR where it is set."""
    master = machine.variables.get("MASTER_ADDR")
    here = {"localhost": "127.0.0.1", "127.0.0.1": "127.0.0.1"}
    return Names(
        own=Resolution(name="node1", addresses=[machine.hosts_file], seconds=0.001),
        master=Resolution(name=master, addresses=[here.get(master, "10.0.0.4")]) if master else None,
    )

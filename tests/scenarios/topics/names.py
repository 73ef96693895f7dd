"""What names resolve to on a healthy machine."""

from gpudoctor.facts import Names, Resolution, Route
from tests.scenarios.machine import Machine

HERE = {"localhost": "127.0.0.1", "127.0.0.1": "127.0.0.1", "10.0.0.9": "10.0.0.9"}


def resolution(name: str, address: str) -> Resolution:
    """Return an answer, and the way to it; 10.0.0.4 is this machine."""
    source = address if address.startswith("127.") else "10.0.0.4"
    return Resolution(
        name=name, addresses=[address], seconds=0.001, routes=[Route(address=address, source=source)]
    )


def facts(machine: Machine) -> Names:
    """Return the own name's address, and that of MASTER_ADDR where it is set."""
    master = machine.variables.get("MASTER_ADDR")
    return Names(
        own=resolution("node1", machine.hosts_file),
        master=resolution(master, HERE.get(master, "10.0.0.4")) if master else None,
    )

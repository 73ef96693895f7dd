"""Who listens on a healthy machine."""

from gpudoctor.facts import Listener, Sockets
from tests.scenarios.machine import Machine


def facts(machine: Machine) -> Sockets:
    """Return an SSH server and a notebook."""
    return Sockets(
        listeners=[Listener(port=22, address="0.0.0.0"), Listener(port=8888, pid=7, command="jupyter-lab")]
    )

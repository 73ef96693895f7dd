"""The network interfaces of a healthy machine."""

from gpudoctor.facts import Interface, Interfaces
from tests.scenarios.machine import Machine


def facts(machine: Machine) -> Interfaces:
    """Return loopback and one Ethernet interface; bare metal has a spare one without a cable, and docker's bridge."""
    found = [
        Interface(name="lo", up=True, addresses=["127.0.0.1", "::1"], loopback=True, virtual=True, mtu=65536),
        Interface(
            name="eth0",
            up=True,
            addresses=["10.0.0.4", "fe80::20d:3aff:fe12:3456"],
            mtu=1500,
            speed_mbps=None if machine.virtual else 25000,
            virtual=machine.container is not None,  # a veth
        ),
    ]
    if machine.container is None and not machine.virtual:
        found.append(Interface(name="eth1", up=False, mtu=1500))
        found.append(Interface(name="docker0", up=False, addresses=["172.17.0.1"], virtual=True, mtu=1500))
    return Interfaces(all=found)

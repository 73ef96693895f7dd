"""The network interfaces of a healthy machine."""

from gpudoctor.facts import Interface, Interfaces
from tests.scenarios.machine import Machine


def facts(machine: Machine) -> Interfaces:
    """Return loopback and one Ethernet interface; bare metal has a spare one without a cable, and docker's bridge."""
    found = [
        Interface(
            name="lo",
            up=True,
            running=True,
            index=1,
            kind="loopback",
            operstate="unknown",
            addresses=["127.0.0.1", "::1"],
            loopback=True,
            virtual=True,
            mtu=65536,
        ),
        Interface(
            name="eth0",
            up=True,
            running=True,
            index=2,
            operstate="up",
            addresses=["10.0.0.4", "fe80::20d:3aff:fe12:3456%eth0"],
            mtu=1500,
            speed_mbps=None if machine.virtual else 25000,
            virtual=machine.container is not None,
            kind="veth" if machine.container else "ethernet",
            default_route=True,
        ),
    ]
    if machine.container is None and not machine.virtual:
        spare = Interface(
            name="eth1", up=True, running=False, operstate="down", kind="ethernet", mtu=1500, index=3
        )
        docker = Interface(
            name="docker0",
            up=True,
            running=False,
            operstate="down",
            kind="bridge",
            addresses=["172.17.0.1"],
            virtual=True,
            mtu=1500,
            index=4,
        )
        found += [spare, docker]
    rails = machine.infiniband if machine.roce else 0
    found += [
        Interface(
            name=f"eth{n + 2}",
            up=True,
            running=True,
            operstate="up",
            kind="ethernet",
            addresses=[f"10.1.{n}.4"],
            mtu=9000,
            speed_mbps=200000,
            index=n + 5,
        )
        for n in range(rails)
    ]
    return Interfaces(all=found, ipv6=True)

"""The packet filter of a healthy machine: read by root alone, and in the cloud docker's."""

from gpudoctor.facts import Filter, Firewall, Rule
from tests.scenarios.machine import Machine


def facts(machine: Machine) -> Firewall:
    """Return what a process sees that is not root; a virtual machine is looked at by root."""
    if machine.virtual:
        ssh = Rule(target="accept", ports=[(22, 22)])
        return Firewall(filters=[Filter(source="iptables", chains={"INPUT": [ssh]})], ufw=False)
    return Firewall(ufw=False if machine.container is None else None)

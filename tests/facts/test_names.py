"""Whether MASTER_ADDR is this machine."""

import pytest

from gpudoctor.facts import Interface, Interfaces, Names, Resolution

OWN = Resolution(name="node-1", addresses=["10.0.0.4"])
INTERFACES = Interfaces(
    all=[
        Interface(name="eth0", up=True, addresses=["10.0.0.4"]),
        Interface(name="ib0", up=False, addresses=["192.168.7.4", "fe80::4"]),
    ]
)


def master(*addresses: str, error: str | None = None) -> Names:
    return Names(own=OWN, master=Resolution(name="master", addresses=list(addresses), error=error))


@pytest.mark.parametrize(
    ("names", "here"),
    [
        (master("10.0.0.4"), True),
        (master("127.0.1.1"), True),
        (master("10.0.0.9", "192.168.7.4"), True),  # an interface that is down is this machine's too
        (master("10.0.0.9"), False),
        (master(), None),
        (master(error="Name or service not known"), None),
        (Names(own=OWN), None),
    ],
)
def test_master_is_here_where_one_of_its_addresses_is(names: Names, here: bool | None) -> None:
    assert names.master_is_here(INTERFACES) is here


def test_without_interfaces_only_loopback_is_known_to_be_here() -> None:
    assert master("127.0.0.1").master_is_here(None) is True
    assert master("10.0.0.4").master_is_here(None) is None


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "0.0.0.0", "::"])
def test_what_leads_back_to_this_machine_is_loopback(address: str) -> None:
    assert Resolution(name="master", addresses=[address]).loopback
    assert not Resolution(name="master", addresses=[address, "10.0.0.4"]).loopback


def test_the_own_name_counts_beside_the_interfaces() -> None:
    assert master("10.0.0.4").master_is_here(Interfaces()) is True

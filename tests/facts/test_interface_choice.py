"""What NCCL takes, by its own rules: prefixes, names, exceptions, families and the order of the kernel."""

import pytest

from gpudoctor.facts import Interface, Interfaces, gloo_names, means_nothing_elsewhere, nccl_choice


def up(name: str, index: int, *addresses: str, **fields: object) -> Interface:
    return Interface(name=name, up=True, running=True, index=index, addresses=list(addresses), **fields)  # type: ignore[arg-type]


LO = up("lo", 1, "127.0.0.1", "::1", loopback=True)
ETH0 = up("eth0", 2, "10.0.0.4", "fe80::1%eth0", default_route=True)
ETH1 = up("eth1", 3, "10.1.0.4")
DOCKER = up("docker0", 4, "172.17.0.1")
SIX = up("ens6", 5, "fd00::4")
IB0 = up("ib0", 6, "10.5.0.4")
DOWN = Interface(name="eth9", up=False, running=False, index=7, addresses=["10.9.0.4"])
ALL = [IB0, DOCKER, SIX, ETH1, ETH0, LO, DOWN]


@pytest.mark.parametrize(
    ("there", "variables", "taken"),
    [
        (ALL, {}, ["ib0"]),
        ([LO, ETH0, ETH1, DOCKER, SIX], {}, ["eth0", "eth1", "ens6"]),
        ([LO, DOCKER], {}, ["docker0"]),
        ([LO], {}, ["lo"]),
        ([], {}, []),
        (ALL, {"NCCL_SOCKET_IFNAME": "eth"}, ["eth0", "eth1"]),
        (ALL, {"NCCL_SOCKET_IFNAME": "=eth"}, []),
        (ALL, {"NCCL_SOCKET_IFNAME": "=eth1"}, ["eth1"]),
        (ALL, {"NCCL_SOCKET_IFNAME": "=eth1,ib0"}, ["eth1", "ib0"]),
        (ALL, {"NCCL_SOCKET_IFNAME": "^ib,docker,lo"}, ["eth0", "eth1", "ens6"]),
        (ALL, {"NCCL_SOCKET_IFNAME": "^=eth0,ib0"}, ["lo", "eth1", "docker0", "ens6"]),
        (ALL, {"NCCL_SOCKET_IFNAME": "ib0, eth1"}, ["ib0"]),
        (ALL, {"NCCL_SOCKET_IFNAME": "eth9"}, []),
        (ALL, {"NCCL_SOCKET_IFNAME": "eth1:1"}, ["eth1"]),
        (ALL, {"NCCL_SOCKET_IFNAME": "e"}, ["ib0"]),  # one letter is not heeded
        ([LO, ETH0, SIX], {"NCCL_SOCKET_FAMILY": "AF_INET6"}, ["eth0", "ens6"]),
        ([LO, ETH1], {"NCCL_SOCKET_FAMILY": "AF_INET6"}, []),
        ([LO, SIX], {"NCCL_SOCKET_FAMILY": "AF_INET"}, ["lo"]),
    ],
)
def test_what_nccl_takes(there: list[Interface], variables: dict[str, str], taken: list[str]) -> None:
    assert [i.name for i in nccl_choice(Interfaces(all=there), variables).interfaces] == taken


def test_what_gloo_is_told() -> None:
    assert gloo_names({"GLOO_SOCKET_IFNAME": "eth0,eth1"}) == ["eth0", "eth1"]
    assert gloo_names({"GLOO_SOCKET_IFNAME": ""}) == []
    assert gloo_names({}) == []


def test_whose_addresses_mean_nothing_elsewhere() -> None:
    assert [i.name for i in ALL if means_nothing_elsewhere(i)] == ["docker0", "lo"]
    assert not means_nothing_elsewhere(up("veth0", 2, "10.0.0.4", default_route=True))

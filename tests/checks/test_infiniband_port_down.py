"""infiniband-port-down: a port that the GPUs need."""

from typing import Any

from gpudoctor.facts import IbDevice, IbPort, Infiniband, Launch, Pci, PciDevice
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

MESSAGE = (
    "an InfiniBand or RoCE port is in state {}: what should go over it goes the long way round, or not at all"
)
EXAMPLES = {
    " Port number 1 state is Down": MESSAGE.format("Down"),
    "On that node two of the IB ports are down since the move.": MESSAGE.format("down"),
}
NOT_THIS = [
    " Port number 1 state is Active",
    "the IB port is up",
    "If the IB ports are down, NCCL takes TCP.",
]
CHECK = Registry().check("infiniband-port-down")
EIGHT = Pci(nvidia=[PciDevice(address=f"0000:{n:02x}:00.0", device_class="0x0302") for n in range(8)])
DOWN = {"state": "DOWN", "phys_state": "Polling", "rate_gbps": 10}


def device(number: int, **fields: Any) -> IbDevice:
    port = {
        "state": "ACTIVE",
        "phys_state": "LinkUp",
        "rate_gbps": 400,
        "lanes": 4,
        "speed": "NDR",
        "link_layer": "InfiniBand",
    }
    about = {name: fields.pop(name) for name in ("driver", "board", "virtual_function") if name in fields}
    return IbDevice(
        name=f"mlx5_{number}",
        pci_address=f"0000:{number + 16:02x}:00.0",
        ports=[IbPort(**{**port, **fields})],
        **{"driver": "mlx5_core", **about},
    )


def run(**facts: Any) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def board(*down: int, count: int = 8, **fields: Any) -> Infiniband:
    return Infiniband(devices=[device(n, **({**DOWN, **fields} if n in down else {})) for n in range(count)])


def test_one_of_eight() -> None:
    result, [finding] = run(infiniband=board(3), pci=EIGHT)
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith("mlx5_3 is down (Down, Polling), and 7 ports of its kind carry traffic")


def test_no_subnet_manager() -> None:
    waiting = [device(n, state="INIT") for n in range(8)]
    _, [finding] = run(infiniband=Infiniband(devices=waiting), pci=EIGHT)
    assert "no subnet manager has set it up" in finding.message
    assert "sudo systemctl start opensm" in [fix.command for fix in finding.fixes]


def test_all_are_down_where_nodes_must_talk() -> None:
    dark = board(*range(8))
    assert run(infiniband=dark, pci=EIGHT)[1][0].severity is Severity.NOTE
    two = Launch(variables={"WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"})
    assert run(infiniband=dark, pci=EIGHT, launch=two)[1][0].severity is Severity.ERROR


def test_the_one_that_was_asked_for() -> None:
    launch = Launch(variables={"NCCL_IB_HCA": "=mlx5_8:1"})
    spare = board(8, count=9)
    assert run(infiniband=spare, pci=EIGHT)[0].status is CheckStatus.PASSED
    assert run(infiniband=spare, pci=EIGHT, launch=launch)[1][0].severity is Severity.ERROR


def test_what_is_not_meant_to_be_up() -> None:
    for devices in (
        [*board().devices, device(9, board="storage", **DOWN)],
        [device(0, **DOWN)],
        [device(0), device(1, virtual_function=True, **DOWN)],
        [device(0), device(1, driver="", **DOWN)],
        [device(0, driver="efa", state="DOWN", link_layer="Unspecified")],
        [],
    ):
        assert run(infiniband=Infiniband(devices=devices), pci=EIGHT)[1] == []


def test_several_of_a_server_with_many_gpus_are_a_note() -> None:
    for up in (0, 2):
        ports = [device(n, **({} if n < up else DOWN)) for n in range(4)]
        _, [finding] = run(infiniband=Infiniband(devices=ports), pci=EIGHT)
        assert finding.severity is Severity.NOTE
        assert "Down" in finding.message


def test_the_second_port_of_a_card() -> None:
    halves = [
        IbDevice(
            name="mlx5_0", driver="mlx5_core", pci_address="0000:10:00.0", ports=[IbPort(state="ACTIVE")]
        ),
        IbDevice(name="mlx5_1", driver="mlx5_core", pci_address="0000:10:00.1", ports=[IbPort(**DOWN)]),
    ]
    two = Pci(nvidia=EIGHT.nvidia[:2])
    assert run(infiniband=Infiniband(devices=halves), pci=two)[0].status is CheckStatus.PASSED


def test_unknown() -> None:
    assert run()[0].reason == "infiniband: not in this report"


def test_one_of_two_where_no_gpu_is_known_is_a_note() -> None:
    """As in a ticket with the output of ibstat alone."""
    [finding] = run(infiniband=board(1, count=2))[1]
    assert finding.severity is Severity.NOTE
    assert run(infiniband=board(1, count=2, link_layer="Ethernet"))[1] == []


def test_one_of_which_a_text_tells_the_state_alone_is_a_note() -> None:
    """As ibv_devinfo does, of an adapter whose siblings were cut off."""
    alone = Infiniband(devices=[device(0, **(DOWN | {"phys_state": ""}))])
    assert [f.severity for f in run(infiniband=alone)[1]] == [Severity.NOTE]

"""infiniband-errors: links that make errors."""

from typing import Any

from gpudoctor.facts import IbDevice, IbPort, Infiniband, KernelEvent, KernelLog
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("infiniband-errors")


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


def counted(days: float | None = 1, **port: Any) -> Infiniband:
    return Infiniband(devices=[device(0, **port)], uptime_days=days)


def test_counters_that_grow() -> None:
    result, [finding] = run(infiniband=counted(counters={"symbol_error": 12}, growing={"symbol_error": 2}))
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("mlx5_0: 2 more symbol errors (12 now) within a moment")


def test_what_the_kernel_says_of_an_adapter() -> None:
    for text, severity in (
        (
            "mlx5_core 0000:10:00.0: Port module event[error]: module 0, Cable error, Bad or shorted cable",
            "warning",
        ),
        ("mlx5_core 0000:10:00.0: Detected insufficient power on the PCIe slot (27W).", "note"),
    ):
        event = KernelEvent(kind="mlx5", text=text, pci_address="0000:10:00.0")
        _, [finding] = run(infiniband=counted(), kernel_log=KernelLog(source="dmesg", events=[event]))
        assert finding.severity.value == severity
        assert "mlx5_0 (0000:10:00.0)" in finding.message
        assert finding.evidence[0].text == text


def test_many_since_the_start() -> None:
    flapping = {"link_downed": 25}
    assert run(infiniband=counted(counters=flapping))[0].status is CheckStatus.FOUND
    assert run(infiniband=counted(days=None, counters=flapping))[0].status is CheckStatus.FOUND
    assert run(infiniband=counted(days=30, counters=flapping))[0].status is CheckStatus.PASSED


def test_what_healthy_ports_count() -> None:
    for port in (
        {"counters": {"out_of_sequence": 10**6}, "growing": {"out_of_sequence": 40}},
        {"counters": {"symbol_error": 10, "port_xmit_discards": 5000}},
        {"counters": {"local_ack_timeout_err": 900}},
        {"state": "DOWN", "counters": {"symbol_error": 10**6}},
        {"driver": "efa", "counters": {"symbol_error": 10**6}},
    ):
        assert run(infiniband=counted(**port))[0].status is CheckStatus.PASSED


def test_unknown() -> None:
    assert run()[0].reason == "infiniband: not in this report"

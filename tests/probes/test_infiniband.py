"""RDMA adapters, read from trees as Linux shows them."""

import os
from pathlib import Path

import pytest

from gpudoctor.facts import Gid, Infiniband
from gpudoctor.probes import infiniband
from gpudoctor.probes.infiniband import probe


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infiniband, "PAUSE", 0.0)
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def adapter(
    root: Path,
    name: str,
    *,
    number: int = 0,
    driver: str | None = "mlx5_core",
    state: str = "4: ACTIVE",
    physical: str = "5: LinkUp",
    rate: str = "400 Gb/sec (4X NDR)",
    layer: str = "InfiniBand",
    **counters: int,
) -> Path:
    """Add an adapter with one port; return the port's folder."""
    folder = root / "sys/class/infiniband" / name
    if driver is not None:
        device = root / f"sys/devices/pci0000:00/0000:{0x10 + number:02x}:00.0"
        module = root / f"sys/bus/pci/drivers/{driver}"
        module.mkdir(parents=True, exist_ok=True)
        write(device / "numa_node", str(number // 4))
        (device / "driver").symlink_to(module)
        folder.mkdir(parents=True)
        (folder / "device").symlink_to(device)
    write(folder / "hca_type", "MT4129")
    write(folder / "board_id", "MT_0000000838")
    port = folder / "ports/1"
    for file, text in (("state", state), ("phys_state", physical), ("rate", rate), ("link_layer", layer)):
        write(port / file, text)
    for counter, value in counters.items():
        write(port / "counters" / counter, str(value))
    return port


def gid(port: Path, index: int, text: str, kind: str | None = None, interface: str = "") -> None:
    write(port / "gids" / str(index), text)
    if kind is not None:
        write(port / "gid_attrs/types" / str(index), kind)
        write(port / "gid_attrs/ndevs" / str(index), interface)


def test_a_board_of_eight_with_one_port_down(tmp_path: Path) -> None:
    for n in range(8):
        lost = {"state": "1: DOWN", "physical": "2: Polling", "rate": "10 Gb/sec (4X SDR)"} if n == 3 else {}
        adapter(tmp_path, f"mlx5_{n}", number=n, **lost)  # type: ignore[arg-type]
    facts = probe(tmp_path)
    assert [d.name for d in facts.devices] == [f"mlx5_{n}" for n in range(8)]
    first, lost_one = facts.devices[0], facts.devices[3]
    assert (first.driver, first.model, first.board) == ("mlx5_core", "MT4129", "MT_0000000838")
    assert (first.pci_address, first.numa_node, facts.devices[4].numa_node) == ("0000:10:00.0", 0, 1)
    port = first.ports[0]
    assert (port.number, port.state, port.phys_state, port.link_layer) == (
        1,
        "ACTIVE",
        "LinkUp",
        "InfiniBand",
    )
    assert (port.rate_gbps, port.lanes, port.speed) == (400, 4, "NDR")
    assert (lost_one.ports[0].state, lost_one.ports[0].phys_state) == ("DOWN", "Polling")
    assert len(facts.active) == 7
    assert facts.fabric(8)


def test_addresses_of_a_roce_port_keep_kind_and_type_alone(tmp_path: Path) -> None:
    port = adapter(tmp_path, "mlx5_0", layer="Ethernet", rate="200 Gb/sec (4X HDR)")
    gid(port, 0, "fe80:0000:0000:0000:0a00:27ff:fe8e:8aa8", "IB/RoCE v1", "ens1f0")
    gid(port, 1, "fe80:0000:0000:0000:0a00:27ff:fe8e:8aa8", "RoCE v2", "ens1f0")
    gid(port, 2, "0000:0000:0000:0000:0000:ffff:0a00:0004", "IB/RoCE v1", "ens1f0")
    gid(port, 3, "0000:0000:0000:0000:0000:ffff:0a00:0004", "RoCE v2", "ens1f0")
    gid(port, 4, "0000:0000:0000:0000:0000:0000:0000:0000")  # types/4 refuses with EINVAL there
    gid(port, 5, "2001:0db8:0000:0000:0000:0000:0000:0004", "RoCE v2", "ens1f0")
    assert probe(tmp_path).devices[0].ports[0].gids == [
        Gid(index=0, type="IB/RoCE v1", kind="link-local", interface="ens1f0"),
        Gid(index=1, type="RoCE v2", kind="link-local", interface="ens1f0"),
        Gid(index=2, type="IB/RoCE v1", kind="ipv4", interface="ens1f0"),
        Gid(index=3, type="RoCE v2", kind="ipv4", interface="ens1f0"),
        Gid(index=5, type="RoCE v2", kind="ipv6", interface="ens1f0"),
    ]


def test_amazons_adapter_has_no_link_layer(tmp_path: Path) -> None:
    adapter(tmp_path, "rdmap16s27", driver="efa", layer="Unspecified", rate="100 Gb/sec (4X EDR)")
    facts = probe(tmp_path)
    assert facts.devices[0].efa
    assert facts.active
    assert facts.carrying == []


@pytest.mark.parametrize(
    ("name", "driver"), [("mlx5_0", "mlx5_core"), ("bnxt_re0", "bnxt_en"), ("rxe0", ""), ("siw_eth0", "")]
)
def test_without_a_device_behind_it_the_name_tells_what_it_is(tmp_path: Path, name: str, driver: str) -> None:
    adapter(tmp_path, name, driver=None)
    assert probe(tmp_path).devices[0].driver == driver


def test_counters_that_grow_are_told_from_old_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = adapter(tmp_path, "mlx5_0", symbol_error=40, link_downed=2, port_xmit_wait=10**9)
    write(port / "hw_counters/local_ack_timeout_err", "7")
    write(port / "counters/port_rcv_errors", "0")
    monkeypatch.setattr(infiniband.time, "sleep", lambda _: write(port / "counters/symbol_error", "43"))
    found = probe(tmp_path).devices[0].ports[0]
    assert found.counters == {"symbol_error": 40, "link_downed": 2, "local_ack_timeout_err": 7}
    assert found.growing == {"symbol_error": 3}


def test_what_a_process_needs_to_use_them(tmp_path: Path) -> None:
    adapter(tmp_path, "mlx5_0")
    facts = probe(tmp_path)
    assert (facts.verbs, facts.libibverbs, facts.peermem) == ([], False, None)
    write(tmp_path / "dev/infiniband/uverbs0", "")
    write(tmp_path / "usr/lib/x86_64-linux-gnu/libibverbs.so.1", "")
    write(tmp_path / "sys/module/nvidia_peermem/version", "580.82.07")
    write(tmp_path / "proc/uptime", "172800.11 5000.00")
    facts = probe(tmp_path)
    assert (facts.verbs, facts.verbs_refused, facts.libibverbs) == (["uverbs0"], [], True)
    assert (facts.peermem, facts.uptime_days) == (True, 2)


def test_the_loaders_cache_knows_the_library(tmp_path: Path) -> None:
    adapter(tmp_path, "mlx5_0")
    write(tmp_path / "etc/ld.so.cache", "glibc-ld.so.cache1.1\0libibverbs.so.1\0/opt/rdma/libibverbs.so.1\0")
    assert probe(tmp_path).libibverbs


def test_nodes_that_may_not_be_opened(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may open all")
    write(tmp_path / "dev/infiniband/uverbs0", "")
    (tmp_path / "dev/infiniband/uverbs0").chmod(0)
    assert probe(tmp_path).verbs_refused == ["uverbs0"]


def test_a_machine_without_adapters_has_none(tmp_path: Path) -> None:
    assert probe(tmp_path) == Infiniband()


def test_a_port_that_tells_nothing_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "sys/class/infiniband/mlx5_0/ports/1").mkdir(parents=True)
    [device] = probe(tmp_path).devices
    assert (device.ports[0].state, device.ports[0].rate_gbps, device.ports[0].gids) == ("", None, [])
    assert not device.ports[0].active

"""The kernel log, from each of its sources and in each of its forms."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.facts import KernelEvent, KernelLog
from gpudoctor.kernel_lines import address, events, parse
from gpudoctor.probes import kernel_log

XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python3, GPU has fallen off the bus."


def read(*lines: str) -> list[KernelEvent]:
    return events(parse(line) for line in lines)


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        (f"3,1207,98765432,-;{XID}", 98.765432),
        (f"3,1207,98765432,-,caller=T12;{XID}", 98.765432),
        (f"[   98.765432] {XID}", 98.765432),
        (f"[   98.765432][  T812] {XID}", 98.765432),
        (f"<3>[   98.765432] {XID}", 98.765432),
        (f"[   98.765432] node1 kernel: {XID}", 98.765432),
        (f"Nov 22 10:00:00 node1 kernel: [   98.765432] {XID}", 98.765432),
        (f"2026-11-22T10:00:00.123456+00:00 node1 kernel: {XID}", None),
        (f"[Sun Nov 22 10:00:00 2026] {XID}", None),
        (XID, None),
    ],
)
def test_every_form_of_a_line(line: str, seconds: float | None) -> None:
    [event] = read(line)
    assert event.text == XID
    assert event.seconds == seconds
    assert (event.code, event.pci_address, event.process, event.pid) == (79, "0000:3b:00.0", "python3", 4711)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NVRM: Xid (0000:03:00): 31, Ch 00000003, engmask 00000101", {"kind": "xid", "code": 31}),
        ("NVRM: Xid (PCI:0019:01:00): 149, NETIR Fatal XC0", {"pci_address": "0019:01:00.0", "code": 149}),
        (
            "NVRM: Xid (PCI:0000:cb:00): 13, pid='<unknown>', name=<unknown>, Graphics",
            {"process": "", "pid": None},
        ),
        (
            "NVRM: Xid (PCI:0000:dc:00): 45, pid=18, name=python3, Ch 1 caused by previous Xid 149",
            {"code": 45},
        ),
        ("NVRM: GPU 0000:91:00.0: GPU has fallen off the bus.", {"code": 79, "pci_address": "0000:91:00.0"}),
        ("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30", {"kind": "sxid", "fatal": True}),
        (
            "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46",
            {"code": 28006, "fatal": False},
        ),
        ("NVRM: GPU 0000:09:00.0: RmInitAdapter failed! (0x22:0x56:894)", {"kind": "nvrm"}),
        (
            "Memory cgroup out of memory: Killed process 471 (python) total-vm:1kB",
            {"kind": "oom-kill", "pid": 471},
        ),
        ("Out of memory: Kill process 471 (python) score 900", {"process": "python"}),
        (
            "INFO: task python:4711 blocked for more than 120 seconds.",
            {"kind": "hung-task", "process": "python"},
        ),
        ("watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python:4711]", {"kind": "soft-lockup"}),
        (
            "pt_main_thread[25]: segfault at 7f ip 00 sp 00 error 4 in libnccl.so.2[7f+d3]",
            {"kind": "segfault"},
        ),
        (
            "NVRM: GPU6 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 8127 heartbeat 1899",
            {"kind": "gsp"},
        ),
        ("NVRM: GPU1 _kgspLogRpcTimeout: ****** GSP Timeout ******", {"kind": "gsp"}),
        ("worker[25]: segfault at 7f ip 00 sp 00 error 4 in libtorch_cuda.so[7f+d3]", {"process": "worker"}),
        ("nfs: server fs1 not responding, still trying", {"kind": "nfs", "process": "fs1"}),
        (
            "nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=x",
            {"kind": "aer", "fatal": True},
        ),
        ("pcieport 0000:00:01.0: AER: PCIe Bus Error: severity=Corrected, type=x", {"fatal": None}),
        (
            "mlx5_core 0000:5e:00.0: mlx5_pcie_event:3: Detected insufficient power on the PCIe slot",
            {"kind": "mlx5"},
        ),
        ("nvidia 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0", {"kind": "iommu"}),
        (
            "DMAR: [DMA Write NO_PASID] Request device [65:00.0] fault addr 0x1",
            {"pci_address": "0000:65:00.0"},
        ),
    ],
)
def test_every_kind_of_line(text: str, expected: dict[str, object]) -> None:
    [event] = read(text)
    assert {name: getattr(event, name) for name in expected} == expected


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.82.07",
        "nvidia 0000:3b:00.0: enabling device (0000 -> 0003)",
        "mlx5_core 0000:5e:00.0: Port module event: module 0, Cable plugged",
        "bash[12]: segfault at 0 ip 0 sp 0 error 4 in bash[55+1]",
        "audit: type=1400 apparmor process",
        "",
    ],
)
def test_other_lines_are_nothing(text: str) -> None:
    assert read(text) == []


def test_lines_alike_are_counted_and_the_newest_is_kept() -> None:
    [event] = read(f"[ 1.5] {XID}", f"[ 7.5] {XID}")
    assert (event.count, event.seconds) == (2, 7.5)


def test_two_lines_on_one_kill_are_one() -> None:
    [event] = read(
        "[ 5.1] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task_memcg=/a,task=python,pid=471,uid=0",
        "[ 5.2] Memory cgroup out of memory: Killed process 471 (python) total-vm:1kB",
    )
    assert event.count == 1


def test_a_server_that_answers_again_is_forgotten() -> None:
    assert read("nfs: server fs1 not responding, still trying", "nfs: server fs1 OK") == []


@given(
    st.text(),
    st.sampled_from(["", "4,1,2,-;", "[ 1.0] ", "NVRM: Xid (", "Killed process ", "PCIe Bus Error: "]),
)
def test_no_line_ends_the_reading(text: str, front: str) -> None:
    for event in read(front + text):
        assert event.text in front + text


@given(
    st.from_regex(r"(PCI:)?[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(\.[0-7])?", fullmatch=True),
    st.integers(1, 999),
)
def test_every_address_and_number_is_read(place: str, number: int) -> None:
    [event] = read(f"NVRM: Xid ({place}): {number}, pid=1, name=a")
    assert event.code == number
    assert event.pci_address == address(place.removeprefix("PCI:"))


def test_the_file_holds_this_boot_alone(tmp_path: Path) -> None:
    file = tmp_path / "var/log/kern.log"
    file.parent.mkdir(parents=True)
    before = "Nov 21 10:00:00 node1 kernel: [  9.5] NVRM: Xid (PCI:0000:3b:00): 31, Ch 1"
    start = "Nov 22 10:00:00 node1 kernel: [  0.0] Linux version 6.8.0"
    file.write_text(f"{before}\n{start}\nNov 22 10:00:01 node1 kernel: [  9.5] {XID}\n")
    log = kernel_log.probe(tmp_path)
    assert (log.source, [event.code for event in log.events]) == ("/var/log/kern.log", [79])


def test_a_log_of_everything_gives_the_kernels_lines(tmp_path: Path) -> None:
    file = tmp_path / "var/log/messages"
    file.parent.mkdir(parents=True)
    quoted = "Nov 22 10:00:00 node1 monitor[7]: saw NVRM: Xid (PCI:0000:3b:00): 31, Ch 1"
    file.write_text(f"{quoted}\nNov 22 10:00:01 node1 kernel: {XID}\n")
    assert [event.code for event in kernel_log.probe(tmp_path).events] == [79]


def test_the_device_comes_first_and_may_be_a_recorded_file(tmp_path: Path) -> None:
    device = tmp_path / "dev/kmsg"
    device.parent.mkdir()
    device.write_text(
        f"6,1,0,-;Linux version 6.8.0\n3,2,9000000,-;{XID}\n SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n"
    )
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/uptime").write_text("109.0 300.0\n")
    log = kernel_log.probe(tmp_path)
    assert log.source == "/dev/kmsg"
    assert [log.age(event) for event in log.events] == [100.0]


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[list[bytes | int]], KernelLog]:
    """Give a device that answers each read with a record, or with an error number."""
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kmsg").touch()

    def ask(answers: list[bytes | int]) -> KernelLog:
        left: Iterator[bytes | int] = iter(answers)

        def answer(device: int, most: int) -> bytes:
            given = next(left)
            if isinstance(given, int):
                raise OSError(given, os.strerror(given))
            return given

        with monkeypatch.context() as patched:
            patched.setattr(kernel_log.os, "read", answer)
            return kernel_log.probe(tmp_path)

    return ask


def test_one_read_gives_one_record_and_the_end_is_an_error(
    records: Callable[[list[bytes | int]], KernelLog],
) -> None:
    first, second = f"3,1,1000000,-;{XID}\n", f"3,9,2000000,-;{XID}\n"
    log = records([first.encode(), errno.EPIPE, second.encode(), errno.EAGAIN])
    assert [event.count for event in log.events] == [2]


def test_what_may_not_be_read_is_not_clean(records: Callable[[list[bytes | int]], KernelLog]) -> None:
    with pytest.raises(
        PermissionError, match=r"Operation not permitted.*sudo gpudoctor check --only gpu-xid"
    ):
        records([errno.EPERM])


def test_a_machine_without_any_log(tmp_path: Path) -> None:
    with pytest.raises(PermissionError, match="not readable here"):
        kernel_log.probe(tmp_path)


def test_an_empty_file_is_no_clean_log(tmp_path: Path) -> None:
    (tmp_path / "var/log").mkdir(parents=True)
    (tmp_path / "var/log/kern.log").touch()
    with pytest.raises(PermissionError):
        kernel_log.probe(tmp_path)


@pytest.mark.parametrize(
    ("program", "said", "source"),
    [
        ("journalctl", f"[   98.765432] node1 kernel: {XID}", "journalctl -k"),
        ("journalctl", f"Nov 22 10:00:00 node1 kernel: {XID}", "journalctl -k"),
        ("dmesg", f"[   98.765432] {XID}", "dmesg"),
        ("journalctl", "-- No entries --", None),
        ("dmesg", "", None),
    ],
)
def test_a_program_is_asked_where_the_device_may_not_be_read(
    program: str, said: str, source: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> list[object]:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(kernel_log, "_device", refuse)
    monkeypatch.setattr(kernel_log, "FILES", ())
    script = tmp_path / program
    script.write_text(f"#!/bin/sh\necho '{said}'\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}")
    if source is None:
        with pytest.raises(PermissionError):
            kernel_log.probe()
    else:
        log = kernel_log.probe()
        assert (log.source, [event.code for event in log.events]) == (source, [79])


def test_a_gpu_that_fell_off_the_bus_before_the_driver_was_loaded() -> None:
    """In one line, or in three: then the last one tells of it."""
    one = (
        "[ 18.3] NVRM: The NVIDIA GPU 0000:b3:00.0 (PCI ID: 10de:26b5) installed in this system has fallen off the "
        "bus and is not responding to commands."
    )
    three = (
        "[ 18.3] NVRM: The NVIDIA GPU 0000:b3:00.0",
        "NVRM: (PCI ID: 10de:26b5) installed in this system has",
    )
    last = "NVRM: fallen off the bus and is not responding to commands."
    assert [(e.kind, e.code, e.pci_address) for e in read(one)] == [("xid", 79, "0000:b3:00.0")]
    assert [(e.kind, e.code, e.pci_address) for e in read(*three, last)] == [("xid", 79, "")]

"""gpu-sxid: what the kernel log says of NVSwitches."""

import pytest

from gpudoctor.facts import KernelEvent, KernelLog
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-sxid")


def run(**facts: object) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))  # type: ignore[arg-type]


FATAL = KernelEvent(
    kind="sxid", code=20034, pci_address="0000:06:00.0", fatal=True, count=3,
    text="nvidia-nvswitch0: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
)  # fmt: skip
REPAIRED = KernelEvent(
    kind="sxid", code=12028, pci_address="0000:06:00.0", fatal=False, text="SXid 12028, Non-fatal"
)


def test_a_fatal_one_is_an_error():
    _, [finding] = run(kernel_log=KernelLog(source="/dev/kmsg", events=[REPAIRED, FATAL]))
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith("SXid 20034 of the switch at 0000:06:00.0, 3 times: fatal")
    assert finding.evidence[0].where == "/dev/kmsg"


def test_one_that_was_dealt_with_is_a_note():
    _, [finding] = run(kernel_log=KernelLog(events=[REPAIRED]))
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize("events", [[], [KernelEvent(kind="xid", code=31, text="")]])
def test_passes(events):
    assert run(kernel_log=KernelLog(events=events))[0].status is CheckStatus.PASSED


def test_a_log_that_may_not_be_read_is_not_clean():
    assert run()[0].status is CheckStatus.UNKNOWN

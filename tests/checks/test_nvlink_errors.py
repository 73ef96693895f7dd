"""nvlink-errors: seen in logs, in the links' counters and in the kernel log."""

import pytest

from gpudoctor.facts import Gpu, Gpus, KernelEvent, KernelLog, NvLink
from gpudoctor.guard import examine
from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("nvlink-errors")
MESSAGE = "NVLink lost data: the GPUs on it cannot go on"
UNCORRECTABLE = "[rank5]: RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution"
XID_74 = (
    "NVRM: Xid (PCI:0000:1b:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 14(0x0, 0x0, "
    "0x10000, 0x0, 0x0, 0x0, 0x0)"
)
XID_145 = (
    "NVRM: Xid (PCI:0000:1b:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x00000001)"
)
SXID = "nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
CRC = "\t Link 0: CRC Errors: 40"
EXAMPLES = {
    "* Xid 74: 12 times": "NVLink lost data (Xid 74): the GPUs on it cannot go on",
    "The kernel log has Xid errors of this node:\n  - `Xid 74`: on a card\n": (
        "NVLink lost data (Xid 74): the GPUs on it cannot go on"
    ),
    "Since today dmesg shows Xid 74 on one of them": "NVLink lost data (Xid 74): the GPUs on it cannot go on",
    UNCORRECTABLE: MESSAGE,
    "NCCL WARN Cuda failure 'Invalid access of peer GPU memory over nvlink or a hardware error'": MESSAGE,
    XID_74: "NVLink lost data (Xid 74, link 14, the GPU at 0000:1b:00): the GPUs on it cannot go on",
    XID_145: (
        "NVLink had errors that it repaired (Xid 145, link 13, the GPU at 0000:1b:00): where they grow, the "
        "link is failing"
    ),
    "NVRM: Xid (PCI:0000:1b:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x026001c6 0x00000000)": (
        "NVLink lost data (Xid 149, link 00, the GPU at 0000:1b:00): the GPUs on it cannot go on"
    ),
    "NVRM: Xid (PCI:0000:1b:00): 45, pid=4711, name=python3, Ch 0000000c caused by previous Xid 145": (
        "NVLink lost data (Xid 145): the GPUs on it cannot go on"
    ),
    "XidCriticalError: Xid=74 on Device=GPU-00000000-1111-2222-3333-444444444444, the device will go unhealthy.": (
        "NVLink lost data (Xid 74): the GPUs on it cannot go on"
    ),
    'DCGM_FI_DEV_XID_ERRORS{gpu="3",Hostname="node0"} 74': (
        "NVLink lost data (Xid 74): the GPUs on it cannot go on"
    ),
    SXID: "NVLink lost data (SXid 20034, link 30, the switch at 0000:04:00.0): the GPUs on it cannot go on",
    (
        "[Jul 03 2025 07:53:55] [ERROR] [tid 841] detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id "
        "00000000:86:00.0 physical id 3 port 33"
    ): "NVLink lost data (SXid 20034, link 33): the GPUs on it cannot go on",
    CRC: "NVLink had errors that it repaired (link 0): where they grow, the link is failing",
    "DCGM_FR_NVLINK_ERROR_CRITICAL": MESSAGE,
}
NOT_THIS = [
    "\t Link 0: CRC Errors: 0",
    "nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Non-fatal, Link 44 Minion Link DLREQ interrupt",
    "NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.",
    (
        "NVRM: Xid (PCI:0000:1b:00): 94, pid=1, name=x, Contained: SM (0x1). RST: No, D-RST: No\n"
        "CUDA error: Invalid access of peer GPU memory over nvlink or a hardware error"
    ),
]


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (UNCORRECTABLE, Severity.ERROR),
        (XID_74, Severity.ERROR),
        (XID_145, Severity.WARNING),
        (SXID, Severity.ERROR),
        (CRC, Severity.WARNING),
    ],
)
def test_what_was_repaired_is_a_warning(text, severity):
    (seen,) = matches(text, [CHECK])
    assert seen.finding.severity is severity


def run(**facts: object) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))  # type: ignore[arg-type]


def counted(**counters: int) -> Gpus:
    return Gpus(
        devices=[Gpu(index=0, nvlinks=[NvLink(link=0, active=True), NvLink(link=7, active=True, **counters)])]
    )


def logged(code: int, text: str = "NVRM: Xid", seconds: float | None = 1000.0) -> KernelLog:
    event = KernelEvent(kind="xid", code=code, text=text, pci_address="0000:0a:00.0", seconds=seconds)
    return KernelLog(source="/dev/kmsg", events=[event], uptime_seconds=1_000_000.0)


@pytest.mark.parametrize(
    ("facts", "severity", "says"),
    [
        ({"gpus": counted(recovery_errors=1)}, Severity.WARNING, "1 recovery errors (link 7 most)"),
        ({"gpus": counted(recoveries_failed=2)}, Severity.WARNING, "2 failed recovery errors (link 7 most)"),
        ({"gpus": counted(replay_errors=10)}, Severity.WARNING, "10 replay errors"),
        ({"gpus": counted(crc_errors=10_000)}, Severity.WARNING, "10,000 CRC errors"),
        ({"gpus": counted(replay_errors=9, crc_errors=4)}, Severity.NOTE, "few, and repaired"),
        ({"kernel_log": logged(74)}, Severity.ERROR, "Xid 74 of the GPU at 0000:0a:00.0: NVLink lost data"),
        ({"kernel_log": logged(149, "NETIR Nonfatal", 999_000.0)}, Severity.WARNING, "that it repaired"),
        ({"kernel_log": logged(149, "NETIR Nonfatal")}, Severity.NOTE, "that it repaired"),
    ],
)
def test_found_in_facts(facts, severity, says):
    _, [finding] = run(**facts)
    assert finding.severity is severity
    assert says in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        {"gpus": counted()},
        {"gpus": counted(crc_errors=0, recoveries_failed=0)},
        {"kernel_log": logged(31)},
        {"kernel_log": KernelLog()},
    ],
)
def test_passes(facts):
    result, findings = run(**facts)
    assert result.status is CheckStatus.PASSED, findings


@pytest.mark.parametrize("facts", [{}, {"gpus": Gpus(error="Driver Not Loaded")}])
def test_unknown(facts):
    assert run(**facts)[0].status is CheckStatus.UNKNOWN


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("* XID 74 - twice since yesterday, GPU-2", True),
        ("The kernel log shows these Xid events:\n  - `Xid 145`: a link\n", True),
        ("We would like support for these Xid events:\n  - `Xid 145`: a link\n", False),
        ("- Xid 74: NVLink error\n", False),
    ],
)
def test_a_list_of_what_happened(text: str, found: bool) -> None:
    assert bool(matches(text, [CHECK])) is found

"""gpu-xid: seen in logs, and in the kernel log."""

import pytest

from gpudoctor.facts import Gpu, Gpus, KernelEvent, KernelLog
from gpudoctor.guard import examine
from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-xid")
MMU_FAULT = (
    "[ 7201.55] NVRM: Xid (PCI:0000:17:00): 31, pid=4711, name=python3, Ch 00000010, intr 00000000. MMU Fault: ENGINE "
    "GRAPHICS GPCCLIENT_T1_8 faulted @ 0x7f00_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
)
GSP_TIMEOUT = (
    "NVRM: Xid (PCI:0000:17:00): 119, pid=4711, name=cache_mgr_main, Timeout after 6s of waiting for RPC response from "
    "GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20809004 0x608)."
)
CLEAN_UP = "NVRM: Xid (PCI:0000:17:00): 45, pid=4711, name=python3, Ch 00000008"
BAD_LINK = "NVRM: Xid (0000:01:00): 32, Channel ID 00000009 intr 00800000"
DESKTOP = "NVRM: Xid (PCI:0000:01:00): 109, pid=1500, name=Xorg, Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x58005"
UNKNOWN_XID = "NVRM: Xid (PCI:0000:01:00): 99"
KUBERNETES = "XidCriticalError: Xid=62 on Device=GPU-00000000-1111-2222-3333-444444444444, the device will go unhealthy."
EXAMPLES = {
    "- Xid 31 on GPU 2, three of them": (
        "Xid 31: a kernel or a copy used an address that is not mapped; this blames the program, not the GPU"
    ),
    "The kernel log has Xid errors of this node:\n  - `Xid 31`: some job\n": (
        "Xid 31: a kernel or a copy used an address that is not mapped; this blames the program, not the GPU"
    ),
    "Since today dmesg shows Xid 31 on one of them": (
        "Xid 31: a kernel or a copy used an address that is not mapped; this blames the program, not the GPU"
    ),
    MMU_FAULT: (
        "Xid 31 of the GPU at 0000:17:00 (python3, process 4711): a kernel or a copy used an address that is "
        "not mapped; this blames the program, not the GPU"
    ),
    (
        "Jan  9 12:00:41 node0 kernel: NVRM: Xid (PCI:0000:17:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp "
        "Exception on (GPC 1, TPC 2, SM 0): Out Of Range Address"
    ): (
        "Xid 13 of the GPU at 0000:17:00: a kernel broke a rule of the GPU, such as an address out of range or "
        "misaligned; this blames the program, not the GPU"
    ),
    GSP_TIMEOUT: (
        "Xid 119 of the GPU at 0000:17:00 (cache_mgr_main, process 4711): the GPU's own processor (GSP) did "
        "not answer in time; this blames the GPU or its driver"
    ),
    CLEAN_UP: (
        "Xid 45 of the GPU at 0000:17:00 (python3, process 4711): the driver removed a program's work: it was "
        "killed, or another fault ended it; this blames the program, not the GPU"
    ),
    BAD_LINK: (
        "Xid 32 of the GPU at 0000:01:00: commands arrived damaged at the GPU, which mostly means a bad PCIe link; this "
        "blames the GPU or its driver"
    ),
    DESKTOP: (
        "Xid 109 of the GPU at 0000:01:00 (Xorg, process 1500): work did not give way in time "
        "(context switch time-out); this is a program of the desktop, not the training"
    ),
    UNKNOWN_XID: "Xid 99 of the GPU at 0000:01:00: NVIDIA's catalogue says what it means",
    KUBERNETES: "Xid 62: the GPU's power management processor halted; this blames the GPU or its driver",
    'DCGM_FI_DEV_XID_ERRORS{gpu="3",Hostname="node0"} 13': (
        "Xid 13: a kernel broke a rule of the GPU, such as an address out of range or misaligned; this blames "
        "the program, not the GPU"
    ),
}
NOT_THIS = [
    "fix: skip Xid 31 in favor of the catalogue",
    "check dmesg for Xid 31",
    "dmesg has no Xid 31",
    "NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.",
    "NVRM: Xid (PCI:0000:17:00): 94, pid=7062, Contained: SM (0x1). RST: No, D-RST: No",
    "NVRM: Xid (PCI:0000:17:00): 74, pid=1, name=x, NVLink: fatal error detected on link 14(0x0, 0x0)",
    "nvidia-nvswitch0: SXid (PCI:0000:00:00.0): 11001, Fatal, ingress invalid command",
    "r8169 0000:03:00.0 eth0: RTL8125B, 00:00:00:00:00:00, XID 641, IRQ 51",
    'DCGM_FI_DEV_XID_ERRORS{gpu="3",Hostname="node0"} 0',
    "NVRM: Xid (PCI:0000:17:00): 45, pid=4711, name=python3, Ch 00000001 caused by previous Xid 145",
    (
        "NVRM: Xid (PCI:0000:17:00): 48, pid=1, name=x, An uncorrectable double bit error (DBE)\n"
        "NVRM: Xid (PCI:0000:17:00): 45, pid=4711, name=python3, Ch 00000008"
    ),
]


def finding(text):
    (seen,) = matches(text, [CHECK])
    return seen.finding


@pytest.mark.parametrize(
    ("text", "severity", "command"),
    [
        (MMU_FAULT, Severity.ERROR, "CUDA_LAUNCH_BLOCKING=1"),
        (GSP_TIMEOUT, Severity.ERROR, "--exclude=NODE"),
        (CLEAN_UP, Severity.WARNING, "CUDA_LAUNCH_BLOCKING=1"),
        (BAD_LINK, Severity.ERROR, "--exclude=NODE"),
        (DESKTOP, Severity.NOTE, "--exclude=NODE"),
        (UNKNOWN_XID, Severity.ERROR, "--exclude=NODE"),
        (KUBERNETES, Severity.ERROR, "--exclude=NODE"),
    ],
)
def test_the_number_tells_how_bad_it_is_and_what_helps_first(text, severity, command):
    found = finding(text)
    assert found.severity is severity
    assert command in found.fixes[0].command


@pytest.mark.parametrize(("xid", "commands"), [(8, ""), (109, "--gpu-reset"), (119, "sudo reboot")])
def test_the_action_is_nvidias(xid, commands):
    found = finding(f"NVRM: Xid (PCI:0000:17:00): {xid}, pid=4711, name=python3")
    assert any(commands in fix.command for fix in found.fixes)
    assert (found.fixes[0].summary.startswith("Start the job again")) == (xid == 8)


def test_of_a_fault_and_its_clean_up_the_fault_is_named():
    found = finding(CLEAN_UP + "\n" + MMU_FAULT)
    assert found.message.startswith("Xid 31 ")


def run(**facts: object) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))  # type: ignore[arg-type]


def event(code: int, seconds: float | None = 999_000.0, **fields: object) -> KernelEvent:
    made = {"pci_address": "0000:0a:00.0", "text": f"NVRM: Xid (PCI:0000:0a:00): {code}", **fields}
    return KernelEvent(kind="xid", code=code, seconds=seconds, **made)  # type: ignore[arg-type]


def kernel(*events: KernelEvent) -> KernelLog:
    return KernelLog(source="/dev/kmsg", events=list(events), uptime_seconds=1_000_000.0)


RESET_SINCE = Gpus(devices=[Gpu(index=0, pci_address="0000:0a:00.0", recovery_action="none")])
LOST = Gpus(
    devices=[Gpu(index=0, pci_address="0000:0a:00.0", recovery_action="none", errors=["name: GPU is lost"])]
)


@pytest.mark.parametrize(
    ("log", "severity", "says"),
    [
        (kernel(event(46)), Severity.ERROR, "Xid 46 of the GPU at 0000:0a:00.0, last 16 minutes ago"),
        (kernel(event(62, 1.0)), Severity.ERROR, "last 11 days ago: the GPU's power management"),
        (kernel(event(31, process="python", count=3)), Severity.WARNING, "(python), 3 times"),
        (kernel(event(31)), Severity.WARNING, "this blames the program, not the GPU"),
        (kernel(event(31, None)), Severity.WARNING, "not mapped"),
        (kernel(event(31, 1.0)), Severity.NOTE, "this blames the program"),
        (kernel(event(31, 995_000.0)), Severity.NOTE, "last 1 hour ago"),  # perhaps another user's job
        (kernel(event(13, process="Xorg")), Severity.NOTE, "a program of the desktop"),
        (kernel(event(14)), Severity.WARNING, "NVIDIA asks for nothing to be done"),
        (kernel(event(13), event(45)), Severity.WARNING, "Xid 13"),
        (kernel(event(31), event(62, 1.0)), Severity.ERROR, "Xid 62"),
        (kernel(event(999)), Severity.ERROR, "NVIDIA's catalogue says what it means; look it up"),
    ],
)
def test_found_in_the_kernel_log(log, severity, says):
    _, [finding] = run(kernel_log=log)
    assert finding.severity is severity
    assert says in finding.message
    assert finding.evidence[0].where == "/dev/kmsg"


def test_each_gpu_has_its_own():
    _, findings = run(kernel_log=kernel(event(46), event(31, pci_address="0000:1a:00.0")))
    assert len(findings) == 2


def test_what_nvml_says_now_is_the_verdict_and_the_line_evidence():
    _, [finding] = run(kernel_log=kernel(event(62)), gpus=RESET_SINCE)
    assert finding.severity is Severity.WARNING
    _, [finding] = run(kernel_log=kernel(event(62)), gpus=LOST)
    assert finding.severity is Severity.ERROR
    _, [finding] = run(kernel_log=kernel(event(119)))
    assert finding.severity is Severity.NOTE, "gsp-firmware"


CHANGED = (
    "NVRM: Xid (PCI:0000:0a:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
)


def test_a_recovery_that_nvml_is_too_old_to_tell_of():
    log = kernel(event(154, text=CHANGED))
    _, [finding] = run(kernel_log=log)
    assert finding.message.endswith("the driver asks for its recovery (GPU Reset Required)")
    assert run(kernel_log=log, gpus=RESET_SINCE)[1] == []
    back = event(154, text="154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)")
    assert run(kernel_log=kernel(back))[1] == []


@pytest.mark.parametrize(
    "log",
    [
        kernel(),
        kernel(event(79), event(45)),  # gpu-fell-off-bus
        kernel(event(63), event(94), event(48)),
        kernel(event(74)),
        kernel(event(154)),
        kernel(KernelEvent(kind="sxid", code=20034, text="")),
    ],
)
def test_passes(log):
    result, findings = run(kernel_log=log)
    assert result.status is CheckStatus.PASSED, findings


def test_a_log_that_may_not_be_read_is_not_clean():
    assert run()[0].status is CheckStatus.UNKNOWN

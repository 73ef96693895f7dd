"""gpu-xid: seen in logs."""

import pytest

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity
from gpudoctor.registry import Registry

CHECK = Registry().check("gpu-xid")
EXAMPLES = {
    (
        "[ 7201.55] NVRM: Xid (PCI:0000:17:00): 31, pid=4711, name=python3, Ch 00000010, intr 00000000. MMU Fault: ENGINE "
        "GRAPHICS GPCCLIENT_T1_8 faulted @ 0x7f00_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
    ): (
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
    (
        "NVRM: Xid (PCI:0000:17:00): 119, pid=4711, name=cache_mgr_main, Timeout after 6s of waiting for RPC response from "
        "GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20809004 0x608)."
    ): (
        "Xid 119 of the GPU at 0000:17:00 (cache_mgr_main, process 4711): the GPU's own processor (GSP) did "
        "not answer in time; this blames the GPU or its driver"
    ),
    "NVRM: Xid (PCI:0000:17:00): 45, pid=4711, name=python3, Ch 00000008": (
        "Xid 45 of the GPU at 0000:17:00 (python3, process 4711): the driver removed a program's work: it was "
        "killed, or another fault ended it; this blames the program, not the GPU"
    ),
    "NVRM: Xid (0000:01:00): 32, Channel ID 00000009 intr 00800000": (
        "Xid 32 of the GPU at 0000:01:00: commands arrived damaged at the GPU, which mostly means a bad PCIe link; this "
        "blames the GPU or its driver"
    ),
    "NVRM: Xid (PCI:0000:01:00): 109, pid=1500, name=Xorg, Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x58005": (
        "Xid 109 of the GPU at 0000:01:00 (Xorg, process 1500): work did not give way in time "
        "(context switch time-out); this is a program of the desktop, not the training"
    ),
    "NVRM: Xid (PCI:0000:01:00): 99": (
        "Xid 99 of the GPU at 0000:01:00: NVIDIA's catalogue says what it means"
    ),
    "XidCriticalError: Xid=62 on Device=GPU-00000000-1111-2222-3333-444444444444, the device will go unhealthy.": (
        "Xid 62: the GPU's power management processor halted; this blames the GPU or its driver"
    ),
    'DCGM_FI_DEV_XID_ERRORS{gpu="3",Hostname="node0"} 13': (
        "Xid 13: a kernel broke a rule of the GPU, such as an address out of range or misaligned; this blames "
        "the program, not the GPU"
    ),
}
TEXTS = list(EXAMPLES)
NOT_THIS = [
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
    ("number", "severity", "command"),
    [
        (0, Severity.ERROR, "CUDA_LAUNCH_BLOCKING=1"),
        (2, Severity.ERROR, "--exclude=NODE"),
        (3, Severity.WARNING, "CUDA_LAUNCH_BLOCKING=1"),
        (4, Severity.ERROR, "--exclude=NODE"),
        (5, Severity.NOTE, "--exclude=NODE"),
        (6, Severity.ERROR, "--exclude=NODE"),
        (7, Severity.ERROR, "--exclude=NODE"),
    ],
)
def test_the_number_tells_how_bad_it_is_and_what_helps_first(number, severity, command):
    found = finding(TEXTS[number])
    assert found.severity is severity
    assert command in found.fixes[0].command


@pytest.mark.parametrize(("xid", "commands"), [(8, ""), (109, "--gpu-reset"), (119, "sudo reboot")])
def test_the_action_is_nvidias(xid, commands):
    found = finding(f"NVRM: Xid (PCI:0000:17:00): {xid}, pid=4711, name=python3")
    assert any(commands in fix.command for fix in found.fixes)
    assert (found.fixes[0].summary.startswith("Start the job again")) == (xid == 8)


def test_of_a_fault_and_its_clean_up_the_fault_is_named():
    found = finding(TEXTS[3] + "\n" + TEXTS[0])
    assert found.message.startswith("Xid 31 ")

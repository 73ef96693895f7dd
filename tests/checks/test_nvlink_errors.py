"""nvlink-errors: seen in logs."""

import pytest

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity
from gpudoctor.registry import Registry

CHECK = Registry().check("nvlink-errors")
MESSAGE = "NVLink lost data: the GPUs on it cannot go on"
EXAMPLES = {
    "[rank5]: RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution": MESSAGE,
    "NCCL WARN Cuda failure 'Invalid access of peer GPU memory over nvlink or a hardware error'": MESSAGE,
    (
        "NVRM: Xid (PCI:0000:1b:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 14(0x0, 0x0, "
        "0x10000, 0x0, 0x0, 0x0, 0x0)"
    ): "NVLink lost data (Xid 74, link 14, the GPU at 0000:1b:00): the GPUs on it cannot go on",
    "NVRM: Xid (PCI:0000:1b:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x00000001)": (
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
    "nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 20034, Fatal, Link 30 LTSSM Fault Up": (
        "NVLink lost data (SXid 20034, link 30, the switch at 0000:04:00.0): the GPUs on it cannot go on"
    ),
    (
        "[Jul 03 2025 07:53:55] [ERROR] [tid 841] detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id "
        "00000000:86:00.0 physical id 3 port 33"
    ): "NVLink lost data (SXid 20034, link 33): the GPUs on it cannot go on",
    "\t Link 0: CRC Errors: 40": (
        "NVLink had errors that it repaired (link 0): where they grow, the link is failing"
    ),
    "DCGM_FR_NVLINK_ERROR_CRITICAL": MESSAGE,
}
TEXTS = list(EXAMPLES)
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
    ("number", "severity"),
    [
        (0, Severity.ERROR),
        (2, Severity.ERROR),
        (3, Severity.WARNING),
        (8, Severity.ERROR),
        (10, Severity.WARNING),
    ],
)
def test_what_was_repaired_is_a_warning(number, severity):
    (seen,) = matches(TEXTS[number], [CHECK])
    assert seen.finding.severity is severity

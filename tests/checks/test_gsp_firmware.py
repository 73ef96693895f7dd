"""gsp-firmware: seen in the kernel log."""

from gpudoctor.facts import Driver, Gpu, Gpus, KernelEvent, KernelLog
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gsp-firmware")
MESSAGE = "the driver could not start the GPU's firmware (GSP): it cannot use that GPU"
SILENT = "the GPU's firmware (GSP) stopped answering the driver: what runs there hangs"
EXAMPLES = {
    "NVRM: kgspWaitForGfwBootOk_TU102: failed to wait for GFW_BOOT: (progress 0x4)": "the driver could not start the GPU's firmware (GFW): it cannot use that GPU",
    "[  84.3] NVRM: GPU6 _kgspLogRpcTimeout: ************ GSP Timeout ************": SILENT,
    "[  24.3] NVRM: GPU6 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 8127": SILENT,
    "since the update: Timeout waiting for RPC from GSP! and nothing starts any more": SILENT,
    "[   88.582894] NVRM: GPU6 RmInitAdapter: Cannot initialize GSP firmware RM": MESSAGE,
    "nvidia 0000:01:00.0: loading /lib/firmware/nvidia/570.133.20/gsp_ga10x.bin failed with error -4": MESSAGE.replace(
        "GSP", "gsp_ga10x.bin"
    ),
}
NOT_THIS = ["NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.82.07"]


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


TEXT = "NVRM: Xid (PCI:0000:2a:00): 119, pid=9, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU2 GSP!"
LOG = KernelLog(events=[KernelEvent(kind="xid", code=119, pci_address="0000:2a:00.0", text=TEXT)])
ON = Gpu(index=0, name="A100", gsp_firmware=True)


def test_found():
    closed = Driver(version="525.60.13", description="NVIDIA UNIX x86_64 Kernel Module  525.60.13")
    _, [finding] = run(ON, kernel_log=LOG, driver=closed)
    assert "the GPU at 0000:2a:00.0 stopped answering the driver (Xid 119)" in finding.message
    assert any("NVreg_EnableGpuFirmware=0" in fix.command for fix in finding.fixes)
    opened = Driver(version="580.82.07", description="NVIDIA UNIX Open Kernel Module for x86_64  580.82.07")
    _, [finding] = run(ON, kernel_log=LOG, driver=opened)
    assert not any("NVreg_EnableGpuFirmware=0" in fix.command for fix in finding.fixes)


def test_an_error_unless_nvml_says_that_it_is_over():
    _, [finding] = run(ON, kernel_log=LOG)
    assert finding.severity is Severity.ERROR
    reset = Gpu(index=0, pci_address="0000:2a:00.0", recovery_action="none", gsp_firmware=True)
    _, [finding] = run(reset, kernel_log=LOG)
    assert finding.severity is Severity.WARNING


def test_the_drivers_own_words_without_an_xid():
    silent = KernelEvent(kind="gsp", text="NVRM: GPU6 _kgspLogRpcTimeout: **** GSP Timeout ****")
    _, [finding] = run(ON, kernel_log=KernelLog(events=[silent]))
    assert finding.message == (
        "the firmware of the GPU at an unknown address stopped answering the driver: what runs there hangs"
    )


def test_passes():
    other = KernelLog(events=[KernelEvent(kind="xid", code=31, text="NVRM: Xid 31")])
    for result, _ in (
        run(ON, kernel_log=other),
        run(ON, kernel_log=KernelLog()),
        run(Gpu(index=0, name="V100")),
    ):
        assert result.status is CheckStatus.PASSED


def test_unknown_without_the_kernel_log():
    result, _ = run(ON)
    assert result.status is CheckStatus.UNKNOWN
    assert "kernel log" in (result.reason or "")


def test_firmware_that_never_came_to_run():
    text = "NVRM: GPU 0000:2a:00.0: RmInitAdapter: Cannot initialize GSP firmware RM"
    event = KernelEvent(kind="gsp", text=text, pci_address="0000:2a:00.0")
    _, [finding] = run(kernel_log=KernelLog(events=[event]))
    assert finding.severity is Severity.ERROR
    assert "could not start the firmware of the GPU at 0000:2a:00.0" in finding.message

"""gpu-reset-required: seen in logs, and in what NVML tells."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Pci
from gpudoctor.guard import examine
from gpudoctor.model import Kind, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-reset-required")
MESSAGE = "the driver has closed the GPU until it is recovered: nothing can run on it"
EXAMPLES = {
    "[ 9120.33] NVRM: Xid (PCI:0000:4e:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)": (
        "the driver has closed the GPU at 0000:4e:00 until it is recovered (GPU Reset Required): nothing can "
        "run on it"
    ),
    "NVRM: Xid (PCI:0000:4e:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)": (
        "the driver has closed the GPU at 0000:4e:00 until it is recovered (Node Reboot Required): nothing can "
        "run on it"
    ),
    "    GPU Recovery Action                        : Drain and Reset": (
        "the driver has closed the GPU until it is recovered (Drain and Reset): nothing can run on it"
    ),
    "        Reset Required                        : Yes": MESSAGE,
    "slurmstepd: error: NVML: Failed to get usage(16): GPU requires reset": MESSAGE,
    "Unable to determine the device handle for GPU 0000:4E:00.0: GPU requires restart": MESSAGE,
    "pynvml.NVMLError_ResetRequired: GPU requires restart": MESSAGE,
    "NVRM: GPU0 nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000066)": MESSAGE,
    (
        "NVRM: _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP "
        "(the GPU is likely in a bad state and may need to be reset)"
    ): MESSAGE,
    "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot to recover.": (
        "the driver has closed the GPU until it is recovered (reboot): nothing can run on it"
    ),
    "The following GPUs could not be reset:": MESSAGE,
}
NOT_THIS = [
    "NVRM: Xid (PCI:0000:4e:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
    "    GPU Recovery Action                        : None",
    "        Reset Required                        : No",
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:525] Connection reset by peer",
]


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


@pytest.mark.parametrize(
    ("action", "words", "severity"),
    [
        ("gpu_reset", "needs a reset of the GPU: nothing can run there", Severity.ERROR),
        ("node_reboot", "needs a reboot of the node", Severity.ERROR),
        ("drain_p2p", "needs the jobs that use its peers to end", Severity.WARNING),
    ],
)
def test_found_by_the_recovery_action(action, words, severity):
    _, [finding] = run(Gpu(index=0, name="H100"), Gpu(index=1, name="H100", recovery_action=action))
    assert words in finding.message
    assert finding.severity is severity
    repair = next(fix for fix in finding.fixes if fix.kind is Kind.ADMIN)
    assert ("sudo reboot" in repair.command) == (action == "node_reboot")


def test_found_by_an_answer_of_nvml():
    gpu = Gpu(
        index=0,
        name="H100",
        reset_required=True,
        recovery_action="none",
        errors=["memory: GPU requires restart"],
    )
    _, [finding] = run(gpu)
    assert [e.text for e in finding.evidence] == ["GPU 0: memory: GPU requires restart"]


@pytest.mark.parametrize(
    ("modes", "words", "undo"),
    [
        ({"ecc": True, "ecc_pending": False}, "ECC was turned off for GPU 1 and is still on", "-e 1"),
        ({"mig": False, "mig_pending": True}, "MIG was turned on for GPU 1 and is still off", "-mig 0"),
    ],
)
def test_a_mode_that_waits_for_a_reset_is_a_note(modes, words, undo):
    settled = Gpu(index=0, name="H100", ecc=True, ecc_pending=True, mig=False, mig_pending=False)
    _, [finding] = run(settled, Gpu(index=1, name="H100", **modes))
    assert words in finding.message
    assert finding.severity is Severity.NOTE
    assert [fix.command for fix in finding.fixes] == [
        "sudo nvidia-smi --gpu-reset -i 1",
        f"sudo nvidia-smi -i 1 {undo}",
    ]


def test_a_mode_of_which_one_side_is_not_known_is_none():
    result, _ = run(Gpu(index=0, name="H100", ecc=True), Gpu(index=1, name="H100", mig_pending=True))
    assert result.status is CheckStatus.PASSED


def test_passes():
    gone = Gpu(index=1, lost=True, recovery_action="gpu_reset")  # which is gpu-fell-off-bus
    for some in ([Gpu(index=0, name="H100", recovery_action="none")], [Gpu(index=0, name="V100"), gone]):
        result, _ = run(*some)
        assert result.status is CheckStatus.PASSED


def test_unknown_where_nvml_says_nothing():
    for facts in ({}, {"gpus": Gpus(error="Unknown Error", error_code=999)}):
        result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
        assert result.status is CheckStatus.UNKNOWN


def test_passes_without_a_gpu_on_the_bus():
    result, _ = run(gpus=Gpus(error="NVML Shared Library Not Found", error_code=12), pci=Pci())
    assert result.status is CheckStatus.PASSED

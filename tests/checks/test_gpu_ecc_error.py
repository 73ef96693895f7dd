"""gpu-ecc-error: seen in logs, and in what NVML tells."""

import pytest

from gpudoctor.facts import Gpu, Gpus, KernelEvent, KernelLog, Pci, RemappedRows
from gpudoctor.guard import examine
from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-ecc-error")
MESSAGE = "the GPU's memory is failing; results computed on it cannot be trusted"
EXAMPLES = {
    "- XID 48 (DBE), once since Monday": "Xid 48 of the GPU: two bits of its memory flipped at once: the program was ended",
    "The kernel log has Xid errors of this node:\n  - `Xid 48`: on a card\n": (
        "Xid 48 of the GPU: two bits of its memory flipped at once: the program was ended"
    ),
    "Last night the node died with XID error: 48": (
        "Xid 48 of the GPU: two bits of its memory flipped at once: the program was ended"
    ),
    "RuntimeError: CUDA error: uncorrectable ECC error encountered": MESSAGE,
    "NVRM: Xid (PCI:0000:52:00): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected": (
        "Xid 48 of the GPU at 0000:52:00: two bits of its memory flipped at once: the program was ended"
    ),
    "NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping, reset gpu to activate.": (
        "Xid 63 of the GPU at 0000:10:1c: a failing memory row or page is taken out of use, from the next "
        "reset on; nothing was lost by this alone"
    ),
    "cuda call failed: CUDA_ERROR_ECC_UNCORRECTABLE": MESSAGE,
    "        Remapping Failure Occurred        : Yes": MESSAGE,
    "NVRM: Xid (PCI:0000:10:1c): 94, pid=7062, name=python, Contained: SM (0x1). RST: No, D-RST: No": (
        "Xid 94 of the GPU at 0000:10:1c: an error that was contained to one program: start it again, and "
        "reset the GPU when it is idle"
    ),
    "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9). RST: No, D-RST: No": (
        "Xid 94 of the GPU at 0000:01:00: an error that was contained to one program: start it again, and "
        "reset the GPU when it is idle"
    ),
    (
        "NVRM: Xid (PCI:0000:10:1c): 63, pid=1, Row Remapper: New row (0x00000001) marked for remapping\n"
        "NVRM: Xid (PCI:0000:10:1c): 95, pid=7062, name=python, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No"
    ): (
        "Xid 95 of the GPU at 0000:10:1c: an error that reached beyond one program: reset the GPU before "
        "anything else runs on it"
    ),
    "NVRM: Xid (PCI:0000:10:1c): 45, pid=7062, name=python, Ch 00000001 caused by previous Xid 95": (
        "Xid 95 of the GPU: an error that reached beyond one program: reset the GPU before anything else runs "
        "on it"
    ),
    "XidCriticalError: Xid=64 on Device=GPU-00000000-1111-2222-3333-444444444444, the device will go unhealthy.": (
        "Xid 64 of the GPU: a failing memory row or page could not be taken out of use: reset the GPU"
    ),
    'DCGM_FI_DEV_XID_ERRORS{gpu="3",Hostname="node0"} 94': (
        "Xid 94 of the GPU: an error that was contained to one program: start it again, and reset the GPU when "
        "it is idle"
    ),
    "Row Remapper: Failed to remap row": MESSAGE,
    "Dynamic Page Retirement: New retired page, reload the driver to activate. (0x0000000000012345)": (
        "the GPU: a failing memory row or page is taken out of use, from the next reset on; nothing was lost "
        "by this alone"
    ),
    "            SRAM Uncorrectable Parity     : 1": MESSAGE,
    "Detected 1 volatile double-bit ECC error(s) in GPU 2.": MESSAGE,
    "DCGM_FR_UNCONTAINED_ERROR": MESSAGE,
}
NOT_THIS = [
    "feat: handle XID 94",
    "| Volatile Uncorr. ECC |",
    "NVRM: Xid (PCI:0000:10:1c): 31, pid=1896, name=python, Ch 00000008, intr 10000000. MMU Fault",
    "        Remapping Failure Occurred        : No",
    "EDAC MC0: 1 CE memory read error on CPU_SrcID#0",
    "            SRAM Correctable              : 12",
    "            DRAM Uncorrectable            : 0",
    "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution",
    "pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received: 0000:01:00.0",
]


@pytest.mark.parametrize(
    ("words", "severity"),
    [
        ("uncorrectable ECC error encountered", Severity.ERROR),
        ("An uncorrectable double bit error", Severity.ERROR),
        ("63, pid=1896", Severity.NOTE),
        ("Uncontained: LTC TAG", Severity.ERROR),
        ("Dynamic Page Retirement", Severity.NOTE),
    ],
)
def test_what_lost_nothing_is_a_note(words, severity):
    text = next(text for text in EXAMPLES if words in text)
    (seen,) = matches(text, [CHECK])
    assert seen.finding.severity is severity


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


ADDRESS = "0000:10:1c.0"


def logged(xid, **gpu):
    event = KernelEvent(kind="xid", code=xid, pci_address=ADDRESS, text=f"NVRM: Xid {xid}")
    return run(Gpu(index=0, name="H100", pci_address=ADDRESS, **gpu), kernel_log=KernelLog(events=[event]))


def test_found_in_nvml_s_counters():
    _, [finding] = run(
        Gpu(index=0, name="H100", ecc_uncorrected=2), Gpu(index=1, name="H100", ecc_uncorrected=0)
    )
    assert finding.message.startswith("GPU 0: 2 memory errors that could not be corrected")
    assert finding.fixes[0].command == "export CUDA_VISIBLE_DEVICES=1"
    assert finding.severity is Severity.ERROR
    _, [finding] = run(Gpu(index=0, name="H100", sram_threshold_exceeded=True, sram_uncorrected_aggregate=12))
    assert "SRAM Threshold Exceeded, 12 in all" in finding.evidence[0].text
    assert finding.fixes[-1].summary.startswith("Have the card exchanged: ")
    _, [finding] = run(Gpu(index=0, name="A100", sram_uncorrected_aggregate=5))
    assert "SRAM errors: 5 in all" in finding.evidence[0].text


def test_found_in_the_kernel_log():
    _, [finding] = logged(95)
    assert (finding.severity, finding.message[:26]) == (Severity.ERROR, "Xid 95 of the GPU at 0000:")
    _, [finding] = logged(95, ecc_uncorrected=0)
    assert finding.severity is Severity.WARNING
    _, [finding] = logged(94)
    assert finding.severity is Severity.WARNING


def test_a_log_line_of_remapping_is_evidence_and_nvml_s_flag_the_verdict():
    for xid in (63, 64):
        result, _ = logged(xid, remapped_rows=RemappedRows())
        assert result.status is CheckStatus.PASSED
    assert logged(64)[0].status is CheckStatus.FOUND


def test_passes():
    for gpu in (
        Gpu(
            index=0,
            name="H100",
            ecc_uncorrected=0,
            ecc_uncorrected_aggregate=4,
            sram_threshold_exceeded=False,
        ),
        Gpu(index=0, name="RTX 4090"),
    ):
        result, _ = run(gpu)
        assert result.status is CheckStatus.PASSED


def test_unknown_where_nvml_says_nothing():
    for facts in ({}, {"gpus": Gpus(error="Unknown Error", error_code=999)}):
        result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
        assert result.status is CheckStatus.UNKNOWN


def test_passes_without_a_gpu_on_the_bus():
    result, _ = run(gpus=Gpus(error="NVML Shared Library Not Found", error_code=12), pci=Pci())
    assert result.status is CheckStatus.PASSED


def test_a_high_rate_of_corrected_errors_is_a_note():
    event = KernelEvent(kind="xid", code=92, pci_address="0000:1b:00", text="NVRM: Xid (PCI:0000:1b:00): 92")
    gpus = Gpus(devices=[Gpu(index=0, name="NVIDIA L4", ecc_uncorrected=0)])
    facts = {"gpus": gpus, "kernel_log": KernelLog(events=[event])}
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
    assert finding.severity is Severity.NOTE
    assert "Xid 92 of the GPU at 0000:1b:00: many errors of single bits" in finding.message

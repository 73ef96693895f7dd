"""From what NVML answers to what is found: the real pynvml above a stand-in library, the real probe, all its checks."""

import ctypes
from pathlib import Path

import pynvml
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.model import Severity
from gpudoctor.probes import gpus as probe_gpus
from gpudoctor.registry import Registry
from gpudoctor.report import ProbeResult, ProbeStatus
from gpudoctor.snapshot import Snapshot

HEALTHY = (
    "gpu name=NVIDIA H100 80GB HBM3 uuid=GPU-{n:08d}-1111-2222-3333-444444444444 capability=9.0 memory=85520809984"
    " used=536870912 reserved=536870912 pci=00000000:{n}A:00.0 width=16/16 gen=5/5 replays=0 nvlinks=18 links=18"
    " link_errors=0/0/0 mig=0 mode=0 persistence=1 temp=34 margin=53 memtemp=40 memmost=95 recovery=0 reasons=0x1"
    " util=0 power=70000 limit=700000 default=700000 most=700000 clock=345 maxclock=1980 ecc=1/1 corrected=0"
    " uncorrected=0 ever=0 dram=0 sram=0 sram_ever=0 threshold=0 rows=0/0/0/0 banks=640/0/0/0/0 unrepairable=0"
    " inforom=0 vbios=96.00.74.00.1A part=692-2G520-0200-000 gsp=1 fabric=3/0 processes="
)
CASES = [
    ("", "lost=0", "lost=1", "gpu-fell-off-bus"),
    ("", "lost=0", "lost=2", "gpu-fell-off-bus"),
    ("fail nvmlDeviceGetHandleByIndex 999 1", "", "", "gpu-fell-off-bus"),
    ("fail nvmlDeviceGetHandleByIndex 16 1", "", "", "gpu-reset-required"),
    ("fail nvmlDeviceGetUtilizationRates 16 1", "", "", "gpu-reset-required"),
    ("", "recovery=0", "recovery=1", "gpu-reset-required"),
    ("", "recovery=0", "reset=1", "gpu-reset-required"),
    ("", "recovery=0", "drain=1", "gpu-reset-required"),
    ("", "uncorrected=0", "uncorrected=3", "gpu-ecc-error"),
    ("fail nvmlDeviceGetTotalEccErrors 26", "dram=0", "dram=1", "gpu-ecc-error"),
    ("", "threshold=0", "threshold=1", "gpu-ecc-error"),
    ("", "rows=0/0/0/0", "rows=1/0/1/0", "gpu-row-remap-pending"),
    ("", "rows=0/0/0/0", "rows=0/8/0/1", "gpu-row-remap-failed"),
    ("", "banks=640/0/0/0/0", "banks=638/0/0/0/2", "gpu-row-remap-failed"),
    ("", "unrepairable=0", "retired=40/23 retired_pending=0", "gpu-retired-pages"),
    ("", "unrepairable=0", "retired=0/1 retired_pending=1", "gpu-retired-pages"),
    ("", "unrepairable=0", "unrepairable=1", "gpu-memory-unrepairable"),
    ("", "inforom=0", "inforom=14", "gpu-inforom-corrupt"),
    ("", "reasons=0x1", "reasons=0x48", "gpu-throttled"),
    ("fail nvmlDeviceGetCurrentClocksEventReasons 13", "reasons=0x1", "reasons=0x80", "gpu-throttled"),
    ("", "reasons=0x1", "reasons=0x20", "gpu-throttled"),
    ("", "margin=53", "margin=-1", "gpu-hot"),
    ("fail nvmlDeviceGetMarginTemperature 3", "temp=34", "temp=88 slowdown=87", "gpu-hot"),
    ("", "memtemp=40", "memtemp=96", "gpu-hot"),
    ("", "limit=700000", "limit=350000", "gpu-power-limited"),
    ("", "reasons=0x1 util=0", "reasons=0x2 util=90", "gpu-clocks-capped"),
    ("", "maxclock=1980", "maxclock=1980 appclock=1200 defclock=1980", "gpu-clocks-capped"),
    ("", "H100 80GB HBM3", "H200", "mixed-gpus"),
    ("", "mig=0", "mig=2", "mig-multi-gpu"),
    ("", "vbios=96.00.74", "vbios=96.00.61", "gpu-vbios-differs"),
    ("confidential 1 0", "", "", "gpu-confidential-mode"),
    ("confidential 1 1 0", "", "", "gpu-confidential-mode"),
    ("", "mode=0", "mode=2", "gpu-busy"),
    ("", "processes=", "processes=4194303:64424509440", "gpu-memory-held"),
    ("", "used=536870912", "used=64424509440", "gpu-memory-held"),
]


@pytest.fixture
def found(nvml_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: Registry):
    """Return what is found above a note on a machine whose NVML answers by a scenario."""
    monkeypatch.setattr(pynvml, "nvmlLib", ctypes.CDLL(str(nvml_library / "libnvidia-ml.so.1")))
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    monkeypatch.setattr(probe_gpus, "tell", lambda message: None)

    def look(scenario: str) -> list[str]:
        path = tmp_path / "scenario.txt"
        path.write_text(scenario + "\n")
        monkeypatch.setenv("NVML_SCENARIO", str(path))
        facts = {"gpus": probe_gpus.probe()}
        report = diagnose(
            Snapshot(facts, [ProbeResult(name="gpus", status=ProbeStatus.OK)]), registry.checks()
        )
        return [f.id for f in report.findings if f.severity is not Severity.NOTE]

    return look


def lines(order: str, old: str, new: str, gpus: int) -> str:
    """Return the scenario of equal GPUs, of which the second is changed."""
    second = HEALTHY.replace(old, new) if old in HEALTHY and old else f"{HEALTHY} {new}"
    return "\n".join([order, *((second if n == 1 else HEALTHY).format(n=n) for n in range(gpus))])


@pytest.mark.parametrize(("order", "old", "new", "expected"), CASES)
def test_a_fault_of_the_second_gpu_is_found(found, order: str, old: str, new: str, expected: str) -> None:
    ids = found(lines(order, old, new, 4))
    assert ids[:1] == [expected], ids


@pytest.mark.parametrize("gpus", [1, 4, 8])
def test_healthy_gpus_are_left_in_peace(found, gpus: int) -> None:
    assert found(lines("", "", "", gpus)) == []


@pytest.mark.parametrize("code", [3, 13, 25, 26])
def test_what_is_not_supported_is_no_fault(found, code: int) -> None:
    functions = """TotalEccErrors MemoryErrorCounter SramEccErrorStatus RemappedRows RowRemapperHistogram
        MarginTemperature CurrentClocksEventReasons CurrentClocksThrottleReasons EnforcedPowerLimit FieldValues
        GpuFabricInfoV MigMode ComputeRunningProcesses PersistenceMode ComputeMode VbiosVersion BoardPartNumber
        GspFirmwareMode EccMode""".split()
    orders = "\n".join([f"fail nvmlDeviceGet{name} {code}" for name in functions])
    assert found(lines(f"{orders}\nfail nvmlDeviceValidateInforom {code}", "", "", 4)) == []

"""The GPUs as NVML tells them: the real pynvml above a stand-in library that answers from a scenario."""

import ctypes
import ctypes.util
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pynvml
import pytest

from gpudoctor.facts import Gpus
from gpudoctor.probes import gpus as probe_gpus
from gpudoctor.report import ProbeStatus
from gpudoctor.snapshot import Snapshot

Ask = Callable[..., Snapshot]
Scenario = Callable[[str], None]

H100 = (
    "gpu name=NVIDIA H100 80GB HBM3 uuid=GPU-{n:08d}-0000-0000-0000-000000000000 capability=9.0 memory=85520809984"
    " used=1048576 pci=00000000:{n:X}B:00.0 width=16/16 gen=5/5 nvlinks=18 mig=0 mode=0 temp=34"
)
RTX3090 = (
    "gpu name=NVIDIA GeForce RTX 3090 uuid=GPU-3090 capability=8.6 memory=25438126080 used=0 pci=00000000:01:00.0"
    " width=8/16 gen=1/4 mode=3 temp=51"
)

FULL = (
    "gpu name=NVIDIA H100 80GB HBM3 uuid=GPU-{n} capability=9.0 memory=81920 used=4096 reserved=512"
    " pci=00000000:{n}:00.0 width=16/16 gen=5/5 replays=7 nvlinks={links} links={links} mig=0 mode=0 persistence=1"
    " temp=89 margin=-2 slowdown=87 memtemp=95 memmost=105 recovery=4 reasons=0x48 util=97 power=68500 limit=500000"
    " default=700000 most=700000 clock=345 maxclock=1980 appclock=1200 defclock=1980 ecc=1/0 corrected=12"
    " uncorrected=3 ever=9 dram=1 sram=1 sram_ever=5 threshold=1 rows=4/2/1/0 banks=600/0/1/1/2 retired=2/3"
    " retired_pending=1 unrepairable=1 inforom=14 vbios=96.00.74.00.1A part=692-2G520-0200-000 gsp=1 fabric=3/0"
    " health=0x511 clique=5 processes=4194303:1 remote=0000:05:00.0 link_errors=1/2/3"
    " link17_failed=4"
)
SOURCE = (Path(__file__).parent.parent / "nvml/nvml.c").read_text()
# The functions of the stand-in; a macro makes some of them.
CALLED = sorted(
    {
        name.partition("_v")[0]
        for name in re.findall(r"^int (nvml(?:Device|System)\w+[a-z\d])\(", SOURCE, re.MULTILINE)
    }
    | {f"nvmlDeviceGet{name}" for name in re.findall(r"^(?:NUMBER|TEXT|CLOCK)\((\w+),", SOURCE, re.MULTILINE)}
    | {"nvmlInit"}
)
# What is asked only where something else gives no answer, or of a GPU in MIG mode.
NOT_CALLED = (
    "nvmlDeviceGetCurrentClocksThrottleReasons",
    "nvmlDeviceGetMaxMigDeviceCount",
    "nvmlDeviceGetMigDeviceHandleByIndex",
)
BETWEEN = ("nvmlSystem", "nvmlDeviceGetTopologyCommonAncestor", "nvmlDeviceGetP2PStatus")


def of_a_gpu(function: str) -> bool:
    return function not in NOT_CALLED and not function.startswith(BETWEEN)


def gpus_of(snapshot: Snapshot) -> Gpus:
    assert [p.status for p in snapshot.probes] == [ProbeStatus.OK], snapshot.probes
    gpus = snapshot.get(Gpus)
    assert gpus is not None
    return gpus


def test_eight_equal_gpus_with_all_their_facts(ask: Ask, with_gpus: Scenario) -> None:
    with_gpus("driver 580.82.07\ncuda 13000\n" + "\n".join(H100.format(n=n) for n in range(1, 9)))
    gpus = gpus_of(ask("gpus"))
    assert (gpus.error, gpus.error_code) == (None, None)
    assert (gpus.driver_version, gpus.cuda_version) == ("580.82.07", "13.0")
    assert [gpu.index for gpu in gpus.devices] == list(range(8))
    assert len({gpu.uuid for gpu in gpus.devices}) == 8
    first = gpus.devices[0]
    assert first.name == "NVIDIA H100 80GB HBM3"
    assert first.uuid == "GPU-00000001-0000-0000-0000-000000000000"
    assert first.capability == "9.0"
    assert (first.memory_bytes, first.memory_used_bytes) == (85520809984, 1048576)
    assert first.pci_address == "0000:1b:00.0"
    assert (first.pcie_generation, first.pcie_generation_max) == (5, 5)
    assert (first.pcie_width, first.pcie_width_max) == (16, 16)
    assert first.nvlinks_active == 18
    assert (first.mig, first.mig_uuids) == (False, [])
    assert first.compute_mode == "default"
    assert first.temperature_celsius == 34
    assert first.errors == []


def test_mixed_gpus_keep_their_own_values_and_what_one_lacks_is_unknown_not_an_error(
    ask: Ask, with_gpus: Scenario
) -> None:
    with_gpus(f"driver 535.183.01\ncuda 12020\n{RTX3090}\n{H100.format(n=2)}")
    consumer, server = gpus_of(ask("gpus")).devices
    assert consumer.name == "NVIDIA GeForce RTX 3090"
    assert (consumer.capability, server.capability) == ("8.6", "9.0")
    assert (consumer.pcie_width, consumer.pcie_width_max) == (8, 16)
    assert (consumer.pcie_generation, consumer.pcie_generation_max) == (1, 4)
    assert consumer.compute_mode == "exclusive_process"
    assert (consumer.nvlinks_active, consumer.mig, consumer.errors) == (None, None, [])
    assert (server.nvlinks_active, server.mig) == (18, False)


def test_the_cuda_version_has_its_minor(ask: Ask, with_gpus: Scenario) -> None:
    with_gpus("driver 550.54.14\ncuda 12040")
    assert gpus_of(ask("gpus")).cuda_version == "12.4"


def test_some_nvlinks_down_are_counted(ask: Ask, with_gpus: Scenario) -> None:
    with_gpus("gpu name=NVIDIA A100-SXM4-40GB uuid=GPU-a nvlinks=11 links=12")
    assert gpus_of(ask("gpus")).devices[0].nvlinks_active == 11


def test_no_nvlink_active_is_zero_not_unknown(ask: Ask, with_gpus: Scenario) -> None:
    with_gpus("gpu name=NVIDIA A100-SXM4-40GB uuid=GPU-a nvlinks=0 links=12")
    assert gpus_of(ask("gpus")).devices[0].nvlinks_active == 0


@pytest.mark.parametrize(
    ("code", "words"), [(18, "version mismatch"), (9, "Driver Not Loaded"), (999, "Unknown Error")]
)
def test_a_library_that_cannot_be_initialised_is_a_fact_in_nvmls_words(
    ask: Ask, with_gpus: Scenario, code: int, words: str
) -> None:
    with_gpus(f"init {code}\n{H100.format(n=1)}")
    gpus = gpus_of(ask("gpus"))
    assert gpus.error_code == code
    assert words in (gpus.error or "")
    assert gpus.devices == []


def test_an_error_after_initialisation_is_a_fact_too(ask: Ask, with_gpus: Scenario) -> None:
    with_gpus("fail nvmlDeviceGetCount 999")
    gpus = gpus_of(ask("gpus"))
    assert (gpus.error_code, gpus.devices) == (999, [])


def test_a_failing_shutdown_loses_nothing(ask: Ask, with_gpus: Scenario) -> None:
    with_gpus(f"fail nvmlShutdown 999\n{H100.format(n=1)}")
    assert gpus_of(ask("gpus")).devices[0].name == "NVIDIA H100 80GB HBM3"


@pytest.mark.parametrize("lost", [1, 2], ids=["no-handle", "after-the-handle"])
def test_a_lost_gpu_says_so_and_hides_none_of_the_others(ask: Ask, with_gpus: Scenario, lost: int) -> None:
    with_gpus(f"{H100.format(n=1)}\n{H100.format(n=2)} lost={lost}\n{H100.format(n=3)}")
    first, second, third = gpus_of(ask("gpus")).devices
    assert second.index == 1
    assert any("GPU is lost" in error for error in second.errors)
    assert len(second.errors) == len(set(second.errors))
    assert (second.name, second.memory_bytes, second.mig) == ("", None, None)
    for healthy in (first, third):
        assert (healthy.name, healthy.errors) == ("NVIDIA H100 80GB HBM3", [])


def test_one_failing_call_is_named(ask: Ask, with_gpus: Scenario) -> None:
    with_gpus(f"fail nvmlDeviceGetMemoryInfo 999\n{H100.format(n=1)}")
    gpu = gpus_of(ask("gpus")).devices[0]
    assert gpu.errors == ["memory: Unknown Error"]
    assert (gpu.memory_bytes, gpu.name) == (None, "NVIDIA H100 80GB HBM3")


def test_mig_instances_are_listed(ask: Ask, with_gpus: Scenario) -> None:
    with_gpus(H100.format(n=1).replace("mig=0", "mig=3") + "\n" + H100.format(n=2))
    split, whole = gpus_of(ask("gpus")).devices
    assert split.mig is True
    assert split.mig_uuids == [f"MIG-{split.uuid}-{n}" for n in range(3)]
    assert split.errors == []
    assert (whole.mig, whole.mig_uuids) == (False, [])


def test_a_machine_without_the_library_says_that_it_was_not_found(ask: Ask) -> None:
    if ctypes.util.find_library("nvidia-ml"):
        pytest.skip("this machine has NVIDIA's own library")
    gpus = gpus_of(ask("gpus"))
    assert gpus.error_code == 12
    assert "Not Found" in (gpus.error or "")


def test_a_file_that_is_no_library_counts_as_none(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_text("not an ELF file\n" * 100)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert gpus_of(ask("gpus")).error_code == 12


def test_a_library_that_hangs_at_once_costs_its_deadline_and_nothing_else(
    ask: Ask, with_gpus: Scenario
) -> None:
    with_gpus(f"hang nvmlInit_v2\n{H100.format(n=1)}")
    begun = time.monotonic()
    snapshot = ask("gpus", "launch", timeout=3)
    assert time.monotonic() - begun < 4
    results = {p.name: p for p in snapshot.probes}
    assert results["gpus"].status is ProbeStatus.TIMEOUT
    assert results["gpus"].reason == "no answer in 3 s during nvmlInit"
    assert results["launch"].status is ProbeStatus.OK
    gpus = snapshot.get(Gpus)
    assert gpus is not None
    assert (gpus.error, gpus.hanging) == ("nvmlInit does not return", ["nvmlInit"])
    assert gpus.interrupted == "no answer in 3 s"
    assert gpus.devices == []


def test_a_call_that_hangs_in_the_middle_is_named_and_all_else_is_kept(ask: Ask, with_gpus: Scenario) -> None:
    with_gpus("hang nvmlDeviceGetNvLinkState 3\n" + "\n".join(H100.format(n=n) for n in range(1, 9)))
    snapshot = ask("gpus", timeout=4)
    assert snapshot.probes[0].reason == "no answer in 4 s during nvmlDeviceGetNvLinkState of GPU 3"
    gpus = snapshot.get(Gpus)
    assert gpus is not None
    assert gpus.hanging == ["nvmlDeviceGetNvLinkState of GPU 3"]
    assert [gpu.nvlinks_active for gpu in gpus.devices] == [18, 18, 18, None, 18, 18, 18, 18]
    assert [gpu.temperature_celsius for gpu in gpus.devices] == [34] * 8
    assert gpus.devices[3].errors == ["NVLink: no answer"]
    assert gpus.error is None


@pytest.mark.parametrize(
    "function", ["nvmlDeviceGetNvLinkErrorCounter", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetP2PStatus"]
)
def test_a_call_that_hangs_everywhere_takes_no_other_with_it(
    ask: Ask, with_gpus: Scenario, function: str
) -> None:
    with_gpus(f"hang {function}\n" + "\n".join(H100.format(n=n) for n in range(1, 9)))
    snapshot = ask("gpus", timeout=4)
    gpus = snapshot.get(Gpus)
    assert gpus is not None
    assert function in (snapshot.probes[0].reason or "")
    assert len(gpus.devices) == 8
    if function != "nvmlDeviceGetHandleByIndex":
        assert all(gpu.temperature_celsius == 34 and gpu.nvlinks_active == 18 for gpu in gpus.devices)


def test_a_slow_call_that_returns_is_no_hang(ask: Ask, with_gpus: Scenario) -> None:
    with_gpus(f"slow nvmlInit 1500\nslow nvmlDeviceGetTemperature 1500\n{RTX3090}")
    gpus = gpus_of(ask("gpus"))
    assert (gpus.hanging, gpus.interrupted, gpus.error) == ([], None, None)
    assert gpus.devices[0].temperature_celsius == 51


@pytest.mark.parametrize(("gpus", "most"), [(8, 2.2), (16, 3.0)])
def test_many_gpus_whose_calls_are_slow_are_read_at_once(
    ask: Ask, with_gpus: Scenario, gpus: int, most: float
) -> None:
    with_gpus("delay 20\n" + "\n".join(FULL.format(n=f"{n:02X}", links=36) for n in range(gpus)))
    for last in (False, False, True):  # a busy machine gets another try
        begun = time.monotonic()
        found = gpus_of(ask("gpus"))
        seconds = time.monotonic() - begun
        assert [len(gpu.nvlinks) for gpu in found.devices] == [36] * gpus
        assert [gpu.nvlinks[35].crc_errors for gpu in found.devices] == [3] * gpus
        if seconds < most:
            break
        assert not last, seconds


def test_every_fact_of_a_gpu(ask: Ask, with_gpus: Scenario) -> None:
    with_gpus(
        "confidential 1 1\npair 0 1 30 0 0\n"
        + FULL.format(n="01", links=18)
        + "\n"
        + FULL.format(n="02", links=18)
    )
    gpus = gpus_of(ask("gpus"))
    assert (gpus.confidential, gpus.confidential_multi_gpu) == (True, "protected_pcie")
    assert gpus.confidential_ready is True
    gpu = gpus.devices[0]
    assert (gpu.memory_bytes, gpu.memory_used_bytes, gpu.memory_reserved_bytes) == (81920, 4096, 512)
    assert gpu.pcie_replays == 7
    assert gpu.persistence is True
    assert (gpu.temperature_margin_celsius, gpu.temperature_slowdown_celsius) == (-2, 87)
    assert (gpu.memory_temperature_celsius, gpu.memory_temperature_max_celsius) == (95, 105)
    assert gpu.throttle_reasons == ["hw_slowdown", "hw_thermal_slowdown"]
    assert gpu.utilization_percent == 97
    assert (gpu.power_watts, gpu.power_limit_watts) == (68.5, 500)
    assert (gpu.power_limit_default_watts, gpu.power_limit_max_watts) == (700, 700)
    assert (gpu.sm_clock_mhz, gpu.sm_clock_max_mhz) == (345, 1980)
    assert (gpu.sm_clock_application_mhz, gpu.sm_clock_application_default_mhz) == (1200, 1980)
    assert (gpu.ecc, gpu.ecc_pending) == (True, False)
    assert (gpu.ecc_corrected, gpu.ecc_uncorrected, gpu.ecc_uncorrected_aggregate) == (12, 3, 9)
    assert (gpu.sram_uncorrected_aggregate, gpu.sram_threshold_exceeded) == (5, True)
    assert gpu.remapped_rows is not None
    rows = gpu.remapped_rows
    assert (rows.correctable, rows.uncorrectable, rows.pending, rows.failed) == (4, 2, True, False)
    assert (rows.banks_low, rows.banks_none) == (1, 2)
    assert (gpu.retired_pages, gpu.retired_pages_pending) == (5, True)
    assert gpu.memory_unrepairable is True
    assert gpu.recovery_action == "drain_and_reset"
    assert gpu.inforom == "corrupt"
    assert (gpu.vbios, gpu.board_part, gpu.gsp_firmware) == ("96.00.74.00.1A", "692-2G520-0200-000", True)
    assert (gpu.fabric_state, gpu.fabric_status) == ("completed", 0)
    assert gpu.fabric_health == ["degraded_bandwidth", "route_unhealthy", "incorrect_configuration"]
    assert gpu.fabric_clique.endswith(".5")
    link = gpu.nvlinks[17]
    assert (link.active, link.remote) == (True, "0000:05:00.0")
    assert (link.replay_errors, link.recovery_errors, link.crc_errors) == (1, 2, 3)
    assert [one.recoveries_failed for one in gpu.nvlinks] == [None] * 17 + [4]
    assert [(pair.path, pair.p2p) for pair in gpus.pairs] == [("NV18", "OK")]
    assert (gpu.lost, gpu.reset_required, gpu.handle_code) == (False, False, None)


def test_processes_are_told_by_name_and_by_whether_they_are_our_own(ask: Ask, with_gpus: Scenario) -> None:
    # Its parent is gone: it is no child of this process, which stands for gpudoctor here.
    shell = subprocess.run(
        ["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!"], capture_output=True, check=True
    )
    stranger = int(shell.stdout)
    try:
        with_gpus(f"{RTX3090} processes={stranger}:21474836480,{os.getpid()}:1048576,4194303:1")
        [gpu] = gpus_of(ask("gpus")).devices
    finally:
        os.kill(stranger, signal.SIGKILL)
    assert gpu.processes is not None
    first, here, unseen = gpu.processes
    assert (first.memory_bytes, first.name, first.own) == (21474836480, "sleep", False)
    assert here.own
    assert (unseen.name, unseen.own) == (None, False)


@pytest.mark.parametrize(
    ("level", "path"), [(10, "PIX"), (20, "PXB"), (30, "PHB"), (40, "NODE"), (50, "SYS")]
)
def test_a_pair_without_nvlink_has_its_place_on_the_bus(
    ask: Ask, with_gpus: Scenario, level: int, path: str
) -> None:
    with_gpus(f"pair 0 1 {level} 1 5\n{RTX3090}\n{RTX3090}")
    assert [(pair.path, pair.p2p) for pair in gpus_of(ask("gpus")).pairs] == [(path, "CNS")]


def test_links_between_two_gpus_are_counted(ask: Ask, with_gpus: Scenario) -> None:
    first = f"{RTX3090} nvlinks=4 links=4 remote=0000:02:00.0"
    second = RTX3090.replace("01:00.0", "02:00.0") + " nvlinks=4 links=4 remote=0000:01:00.0"
    with_gpus(f"pair 0 1 30 0 5\n{first}\n{second}")
    assert gpus_of(ask("gpus")).pairs[0].path == "NV4"


def test_a_gpu_that_is_not_ours_is_no_failure(ask: Ask, with_gpus: Scenario) -> None:
    with_gpus(f"fail nvmlDeviceGetHandleByIndex 4 0\n{RTX3090}\n{RTX3090}")
    hidden, seen = gpus_of(ask("gpus")).devices
    assert (hidden.errors, hidden.handle_code, hidden.gone) == ([], 4, False)
    assert seen.name == "NVIDIA GeForce RTX 3090"


def test_a_gpu_that_needs_a_reset_keeps_what_else_it_tells(ask: Ask, with_gpus: Scenario) -> None:
    with_gpus(
        "\n".join([*(f"fail {f} 16 1" for f in CALLED if "MemoryInfo" in f or "Temp" in f), RTX3090, RTX3090])
    )
    well, ill = gpus_of(ask("gpus")).devices
    assert (well.reset_required, ill.reset_required) == (False, True)
    assert len(ill.errors) == 1
    assert "GPU requires restart" in ill.errors[0]
    assert (ill.name, ill.lost) == ("NVIDIA GeForce RTX 3090", False)


@pytest.fixture
def library(nvml_library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pynvml in this process see the stand-in: a probe of its own for each of 1,500 cases would take minutes."""
    monkeypatch.setattr(pynvml, "nvmlLib", ctypes.CDLL(str(nvml_library / "libnvidia-ml.so.1")))
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    monkeypatch.setattr(probe_gpus, "tell", lambda message: None)
    monkeypatch.setattr(probe_gpus, "THREADS", 1)  # which takes half the time where no call is slow


@pytest.mark.parametrize("code", [*range(1, 28), 999])
def test_no_code_of_no_call_crashes_and_not_supported_is_no_fault(
    library: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    scenario = tmp_path / "scenario.txt"
    monkeypatch.setenv("NVML_SCENARIO", str(scenario))
    for function in CALLED:
        order = f"fail {function} {code}"
        scenario.write_text(f"{order}\n{FULL.format(n='01', links=2)}\n{FULL.format(n='02', links=2)}\n")
        gpus = probe_gpus.probe()
        if function in ("nvmlInit", "nvmlDeviceGetCount"):
            assert gpus.error_code == code
            continue
        assert gpus.error is None, order
        assert len(gpus.devices) == 2, order
        for gpu in gpus.devices:
            # Each of these functions is called without a fault that is put in, so its failure must be the one.
            assert gpu.lost == (code == 15 and of_a_gpu(function)), (order, gpu)
            assert gpu.reset_required == (code == 16 and of_a_gpu(function)), order
            if code in (2, 3, 4, 6, 13, 21, 22, 24, 25, 26):
                assert gpu.errors == ["InfoROM: Corrupted infoROM"] or (
                    gpu.errors == []
                    and function in ("nvmlDeviceValidateInforom", "nvmlDeviceGetHandleByIndex")
                ), order


def test_what_an_older_pynvml_lacks_is_not_known(
    library: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = tmp_path / "scenario.txt"
    scenario.write_text(FULL.format(n="01", links=2) + "\n")
    monkeypatch.setenv("NVML_SCENARIO", str(scenario))
    for name in (
        "nvmlDeviceGetMarginTemperature",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetUnrepairableMemoryFlag_v1",
        "c_nvmlGpuFabricInfo_v3_t",
        "c_nvmlEccSramErrorStatus_v1_t",
        "c_nvmlSystemConfComputeSettings_v1_t",
        "nvmlMemory_v2",
    ):
        monkeypatch.delattr(pynvml, name)
    [gpu] = probe_gpus.probe().devices
    assert gpu.temperature_margin_celsius == 87 - 89  # computed from the threshold
    assert gpu.throttle_reasons == ["hw_slowdown", "hw_thermal_slowdown"]  # by the function's older name
    assert (gpu.memory_unrepairable, gpu.sram_threshold_exceeded, gpu.memory_reserved_bytes) == (
        None,
        None,
        None,
    )
    assert (gpu.fabric_state, gpu.ecc_uncorrected) == ("completed", 3)
    assert gpu.errors == ["InfoROM: Corrupted infoROM"]


def test_a_library_that_crashes_takes_nothing_with_it(ask: Ask, with_gpus: Scenario) -> None:
    with_gpus("crash nvmlInit_v2")
    snapshot = ask("gpus", "launch", "pci")
    results = {p.name: p for p in snapshot.probes}
    assert results["gpus"].status is ProbeStatus.CRASHED
    assert "SIGSEGV" in (results["gpus"].reason or "")
    assert results["launch"].status is ProbeStatus.OK
    assert snapshot.get(Gpus) is None

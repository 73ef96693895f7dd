"""The GPUs as NVML tells them: the real pynvml above a stand-in library that answers from a scenario."""

import ctypes.util
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.facts import Gpus
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


@pytest.mark.parametrize("function", ["nvmlInit_v2", "nvmlDeviceGetTemperature"])
def test_a_driver_that_hangs_costs_its_deadline_and_nothing_else(
    ask: Ask, with_gpus: Scenario, function: str
) -> None:
    with_gpus(f"hang {function}\n{H100.format(n=1)}")
    begun = time.monotonic()
    snapshot = ask("gpus", "launch", timeout=3)
    assert time.monotonic() - begun < 4
    results = {p.name: p for p in snapshot.probes}
    assert results["gpus"].status is ProbeStatus.TIMEOUT
    assert results["gpus"].reason == "no answer in 3 s"
    assert results["launch"].status is ProbeStatus.OK
    assert snapshot.get(Gpus) is None
    assert snapshot.reason(Gpus) == "gpus: no answer in 3 s"


def test_a_library_that_crashes_takes_nothing_with_it(ask: Ask, with_gpus: Scenario) -> None:
    with_gpus("crash nvmlInit_v2")
    snapshot = ask("gpus", "launch", "pci")
    results = {p.name: p for p in snapshot.probes}
    assert results["gpus"].status is ProbeStatus.CRASHED
    assert "SIGSEGV" in (results["gpus"].reason or "")
    assert results["launch"].status is ProbeStatus.OK
    assert snapshot.get(Gpus) is None

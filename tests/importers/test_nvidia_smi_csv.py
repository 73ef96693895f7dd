"""What ``nvidia-smi --query-gpu=... --format=csv`` prints, as facts."""

import pytest

from gpudoctor.facts import GpuProcess, Gpus
from gpudoctor.importers import machine_text, nvidia_smi
from gpudoctor.registry import Registry

COMMAND = (
    "$ nvidia-smi --query-gpu=index,name,pci.bus_id,driver_version,compute_cap,ecc.mode.current,ecc.mode.pending,"
    "ecc.errors.uncorrected.volatile.total,remapped_rows.pending,remapped_rows.failure,temperature.gpu,"
    "power.draw,clocks_event_reasons.active,memory.total,memory.used,gpu_recovery_action --format=csv"
)
HEADER = (
    "index, name, pci.bus_id, driver_version, compute_cap, ecc.mode.current, ecc.mode.pending, "
    "ecc.errors.uncorrected.volatile.total, remapped_rows.pending, remapped_rows.failure, temperature.gpu, "
    "power.draw [W], clocks_event_reasons.active, memory.total [MiB], memory.used [MiB], gpu_recovery_action"
)
WELL = (
    "0, NVIDIA H100 80GB HBM3, 00000000:1B:00.0, 580.82.07, 9.0, Enabled, Enabled, 0, No, No, 34, 71.20 W, "
    "0x0000000000000001, 81559 MiB, 4 MiB, None"
)
ILL = (
    "1, NVIDIA H100 80GB HBM3, 00000000:43:00.0, 580.82.07, 9.0, Enabled, Disabled, 3, Yes, No, 88, 650.00 W, "
    "0x0000000000000048, 81559 MiB, 60000 MiB, GPU Reset"
)
LOST = f"2, {', '.join(['[GPU is lost]'] * 15)}"


def devices(*lines):
    return nvidia_smi.read_csv(lines).devices


def test_the_columns_are_named_by_the_first_line():
    well, ill = devices(HEADER, WELL, ILL)
    assert (well.index, well.name, well.capability) == (0, "NVIDIA H100 80GB HBM3", "9.0")
    assert (well.pci_address, well.memory_bytes) == ("0000:1b:00.0", 81559 << 20)
    assert (well.throttle_reasons, well.ecc_uncorrected, well.recovery_action) == (["gpu_idle"], 0, "none")
    assert ill.throttle_reasons == ["hw_slowdown", "hw_thermal_slowdown"]
    assert (ill.ecc, ill.ecc_pending, ill.ecc_uncorrected) == (True, False, 3)
    assert ill.remapped_rows is not None
    assert (ill.remapped_rows.pending, ill.remapped_rows.failed) == (True, False)
    assert (ill.temperature_celsius, ill.power_watts, ill.recovery_action) == (88, 650.0, "gpu_reset")
    assert (ill.persistence, ill.pcie_width, ill.mig) == (None, None, None)


def test_or_by_the_command_above_where_that_line_was_left_out():
    without_units = ILL.replace(" MiB", "").replace(" W", "")
    assert devices(f"{COMMAND},noheader,nounits", without_units) == devices(HEADER, ILL)


def test_a_gpu_that_is_lost_has_no_name():
    *_, lost = devices(HEADER, WELL, LOST)
    assert (lost.index, lost.name, lost.lost) == (2, "", True)


def test_of_a_gpu_that_is_listed_again_the_last_line_counts():
    later = WELL.replace(", 34,", ", 71,")
    assert [gpu.temperature_celsius for gpu in devices(HEADER, WELL, ILL, later, ILL)] == [71, 88]


def test_reasons_are_known_where_all_that_harm_are_there():
    some = "index, name, clocks_throttle_reasons.hw_slowdown"
    [gpu] = devices(some, "0, Tesla T4, Not Active")
    assert gpu.throttle_reasons is None
    [gpu] = devices(some, "0, Tesla T4, Active")
    assert gpu.throttle_reasons == ["hw_slowdown"]


@pytest.mark.parametrize(
    "lines",
    [
        ["index, name, value", "0, foo, 3"],
        ["name, uuid", "someone, 17"],
        ["step, loss, memory.total", "0, 1.5, 3"],
        ["0, NVIDIA H100 80GB HBM3, 00000000:1B:00.0"],
        [HEADER, "and then, nothing"],
    ],
)
def test_what_only_looks_alike_is_no_gpu(lines):
    assert devices(*lines) == []


def test_the_processes_are_given_to_their_gpus():
    rows = ["0, GPU-0a, 00000000:1B:00.0, 60000 MiB", "1, GPU-0b, 00000000:43:00.0, 4 MiB"]
    gpus = "\n".join(["index, uuid, pci.bus_id, memory.used [MiB]", *rows])
    apps = "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\nGPU-0a, 4711, /usr/bin/python3, 59000 MiB"
    snapshot = machine_text.read(f"{gpus}\n{apps}\n", Registry().topics)
    assert snapshot is not None
    first, second = snapshot.facts["gpus"].devices
    assert first.processes == [GpuProcess(pid=4711, memory_bytes=59000 << 20, name="python3")]
    assert second.processes == []
    by_bus = apps.replace("gpu_uuid", "gpu_name, gpu_bus_id").replace(
        "GPU-0a", "NVIDIA H100, 00000000:1B:00.0"
    )
    first, second = nvidia_smi.read_processes(by_bus.split("\n"), devices(*gpus.split("\n")))
    assert [process.pid for process in first.processes] == [4711]
    assert devices(*by_bus.split("\n")) == []
    assert nvidia_smi.read_processes([], [first]) == [first]


def test_found_in_a_ticket():
    text = f"Our node is slow:\n\n```\n{COMMAND}\n{HEADER}\n{WELL}\n{ILL}\n```\nWhat now?\n"
    snapshot = machine_text.read(text, Registry().topics)
    assert snapshot is not None
    gpus = snapshot.facts["gpus"]
    assert isinstance(gpus, Gpus)
    assert (len(gpus.devices), gpus.driver_version) == (2, "580.82.07")

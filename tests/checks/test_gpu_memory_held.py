"""gpu-memory-held: seen in logs, and in what NVML tells."""

import pytest
from msgspec.structs import replace

from gpudoctor.facts import Gpu, GpuProcess, Gpus, Launch, Pci
from gpudoctor.guard import examine
from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-memory-held")
# The line of the exception itself is cuda-oom's too; these are what follows where it was wrapped.
TWO_PROCESSES = (
    "GPU 0 has a total capacity of 79.15 GiB of which 14.25 MiB is free. Process 4711 has 60.12 GiB memory in use. "
    "Process 4712 has 18.00 GiB memory in use. Including non-PyTorch memory, this process has 612.00 MiB memory in use. "
    "Of the allocated memory 80.00 MiB is allocated by PyTorch, and 20.00 MiB is reserved by PyTorch but unallocated."
)
EXAMPLES = {
    "The program is over and the GPU memory is still occupied, while nvidia-smi lists no process": "memory of a GPU stays taken where nvidia-smi shows no process: one is left that it cannot see",
    TWO_PROCESSES: (
        "78.1 GiB of GPU 0 are held by other processes (most by 4711), 612 MiB by this one: the memory is "
        "another process's"
    ),
    (
        "Process 4711 has 60.12 GiB memory in use. Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is "
        "reserved by PyTorch but unallocated."
    ): (
        "60.1 GiB are held by other processes (most by 4711), 0 B by this one: the memory is another "
        "process's"
    ),
    (
        "(GPU 2; 31.75 GiB total capacity; 612.00 MiB already allocated; 3.50 MiB free; 640.00 MiB reserved in total by "
        "PyTorch)"
    ): (
        "31.1 GiB of GPU 2 are held by other processes, 640 MiB by this one: the memory is another process's"
    ),
    (
        "ValueError: Free memory on device cuda:0 (2.77/22.05 GiB) on startup is less than desired GPU memory utilization "
        "(0.9, 19.84 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes."
    ): "2.77 of 22.05 GiB of GPU 0 were free when this process started: the memory is another process's",
    (
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
        "NumCudaDevices() that might have already set an error? Error 2: out of memory"
    ): "the GPU had no memory left to start CUDA in: the memory is another process's",
}
NOT_THIS = [
    # there was room for what was asked
    (
        "CUDA out of memory. Tried to allocate 2.26 GiB (GPU 0; 6.00 GiB total capacity; 781.59 MiB already allocated; "
        "3.03 GiB free; 1.24 GiB reserved in total by PyTorch)"
    ),
    # what is not its tensors is its own context
    (
        "(GPU 0; 1.96 GiB total capacity; 1.24 GiB already allocated; 2.88 MiB free; 1.25 GiB reserved in total by PyTorch)"
    ),
    (
        "GPU 0 has a total capacity of 79.15 GiB of which 1.19 GiB is free. Including non-PyTorch memory, this process has "
        "77.95 GiB memory in use."
    ),
    # in a container, its own number is the host's
    (
        "GPU 0 has a total capacity of 79.15 GiB of which 1.19 GiB is free. Process 4711 has 77.95 GiB memory in use. Of the "
        "allocated memory 70.10 GiB is allocated by PyTorch, and 6.80 GiB is reserved by PyTorch but unallocated."
    ),
    # four ranks of one launch on one GPU
    (
        "GPU 0 has a total capacity of 79.15 GiB of which 1.19 GiB is free. Process 4711 has 19.40 GiB memory in use. Process "
        "4712 has 19.50 GiB memory in use. Process 4713 has 19.40 GiB memory in use. Including non-PyTorch memory, this "
        "process has 19.50 GiB memory in use."
    ),
    "(GPU 0; 10.76 GiB total capacity; 9.50 GiB already allocated; 14.75 MiB free; 9.62 GiB reserved in total by PyTorch)",
]


def test_names_the_process():
    (seen,) = matches(TWO_PROCESSES, [CHECK])
    assert seen.finding.fixes[0].command.endswith("-p 4711")


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


GIB = 1 << 30


def one(used, *processes, index=0, total=80, reserved=GIB // 2):
    return Gpu(
        index=index,
        name="H100",
        memory_bytes=total * GIB,
        memory_used_bytes=int(used * GIB),
        memory_reserved_bytes=reserved,
        processes=list(processes),
    )


def test_found_in_the_facts():
    _, [finding] = run(one(60, GpuProcess(pid=7, memory_bytes=59 * GIB, name="python")))
    assert finding.message.startswith("59.0 GiB of GPU 0 is held by other processes")
    assert finding.evidence[0].text == "GPU 0: 59.0 GiB of 80.0 GiB, process 7 (python)"
    assert finding.fixes[0].command == "ps -o user,ppid,lstart,cmd -p 7; kill 7"
    _, [finding] = run(one(40))
    assert "no process of this PID namespace" in finding.evidence[0].text
    _, [finding] = run(one(9, GpuProcess(pid=7)))
    assert finding.message.startswith("8.5 GiB")


@pytest.mark.parametrize(
    ("percents", "severity"), [((98, 40), "note"), ((98, 0), "warning"), ((98, None), "warning")]
)
def test_gpus_that_are_all_at_work_are_a_note(percents, severity):
    devices = [replace(one(60, index=n), utilization_percent=percent) for n, percent in enumerate(percents)]
    _, [finding] = run(*devices)
    assert finding.severity.value == severity
    assert ("which are at work" in finding.message) == (severity == "note")


def test_a_part_that_nobody_shows_is_a_note():
    _, [finding] = run(one(10))
    assert (finding.severity.value, finding.message[:8]) == ("note", "9.5 GiB ")
    assert run(one(4))[0].status is CheckStatus.PASSED


def test_passes():
    chosen = {"launch": Launch(variables={"CUDA_VISIBLE_DEVICES": "0"})}
    busy = one(60, GpuProcess(pid=7, memory_bytes=59 * GIB), index=1)
    for result, _ in (
        run(one(0.7, reserved=None)),
        run(one(3, total=24)),
        run(one(0.8, GpuProcess(pid=7, memory_bytes=300 << 20, name="nv-hostengine"))),
        run(one(70, GpuProcess(pid=7, memory_bytes=69 * GIB, own=True))),
        run(one(0.5), busy, **chosen),
    ):
        assert result.status is CheckStatus.PASSED


def test_unknown_without_memory():
    result, _ = run(Gpu(index=0, name="H100"))
    assert result.status is CheckStatus.UNKNOWN


def test_unknown_where_nvml_says_nothing():
    for facts in ({}, {"gpus": Gpus(error="Unknown Error", error_code=999)}):
        result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
        assert result.status is CheckStatus.UNKNOWN


def test_passes_without_a_gpu_on_the_bus():
    result, _ = run(gpus=Gpus(error="NVML Shared Library Not Found", error_code=12), pci=Pci())
    assert result.status is CheckStatus.PASSED

"""resource-limit: address space, data, file size and CPU time."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Host, Limit
from gpudoctor.guard import examine
from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("resource-limit")
GIB = 1 << 30
EIGHT = Gpus(devices=[Gpu(index=n, memory_bytes=80 * GIB) for n in range(8)])
SIZE = "a file became larger than the limit allows"
TIME = "the process used up the CPU time that it is allowed"
ADDRESSES = "the process may have no more addresses: "
EXAMPLES = {
    "job.sh: line 4:  4711 File size limit exceeded(core dumped) python train.py": SIZE
    + ": File size limit exceeded",
    "Filesize limit exceeded": SIZE + ": Filesize limit exceeded",
    "[1]    4711 file size limit exceeded  python train.py": SIZE + ": file size limit exceeded",
    "OSError: [Errno 27] File too large: '/out/last.ckpt'": SIZE + ": [Errno 27] File too large",
    "safetensors_rust.SafetensorError: Error while serializing: I/O error: File too large (os error 27)": (
        SIZE + ": (os error 27)"
    ),
    "RuntimeError: unable to resize file </torch_301_77_0> to the right size: File too large (27)": (
        SIZE + ": File too large (27)"
    ),
    "tee: train.log: File too large": SIZE + ": : File too large",
    "  exitcode  : -25 (pid: 4711)": SIZE + ": -25",
    "srun: error: node0: task 1: Exited with exit code 153": SIZE + ": 153",
    "  traceback : Signal 25 (SIGXFSZ) received by PID 4711": SIZE + ": SIGXFSZ",
    "E0304 torch/distributed/elastic/multiprocessing/api.py:826] failed (exitcode: -24) local_rank: 0 (pid: 4711) of binary": (
        TIME + ": -24"
    ),
    "job.sh: line 4:  4711 CPU time limit exceeded python train.py": TIME + ": CPU time limit exceeded",
    "Cputime limit exceeded": TIME + ": Cputime limit exceeded",
    "ImportError: libtorch_cpu.so: failed to map segment from shared object: Cannot allocate memory": (
        ADDRESSES + "Cannot allocate memory"
    ),
    "ImportError: libtorch_cuda.so: failed to map segment from shared object": (
        ADDRESSES + "failed to map segment from shared object"
    ),
    "OpenBLAS error: Memory allocation still failed after 10 retries, giving up.": (
        ADDRESSES + "Memory allocation still failed"
    ),
    "RuntimeError: unable to mmap 29764 bytes from file </torch_10182_3020184674_63991>: Cannot allocate memory (12)": (
        ADDRESSES + "Cannot allocate memory"
    ),
    "virtual memory exhausted: Cannot allocate memory": ADDRESSES + "virtual memory exhausted",
}
NOT_THIS = [
    "ImportError: /tmp/ext/op.so: failed to map segment from shared object",
    "ImportError: /tmp/ext/op.so: failed to map segment from shared object: Operation not permitted",
    "OSError: [Errno 28] No space left on device",
    "413 Request Entity Too Large: file too large to upload",
    "slurmstepd: error: *** JOB 4711 ON node0 CANCELLED AT 2026-03-04T05:06:07 DUE TO TIME LIMIT ***",
    "  exitcode  : -9 (pid: 4711)",
]


def run(limits, **facts):
    host = Host(memory_bytes=512 * GIB, limits={name: Limit(soft=soft) for name, soft in limits.items()})
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"host": host, **facts}))


@pytest.mark.parametrize(
    ("limits", "facts", "severity", "says"),
    [
        (
            {"as": 4 * GIB},
            {},
            Severity.ERROR,
            "4.0 GiB of address space (ulimit -v), and `import torch` alone",
        ),
        ({"as": 64 * GIB}, {"gpus": EIGHT}, Severity.WARNING, "of all GPUs, 1.1 TiB here: it may not start"),
        ({"data": 2 * GIB}, {}, Severity.ERROR, "2.0 GiB of data (ulimit -d)"),
        ({"fsize": GIB}, {}, Severity.WARNING, "may write 1.0 GiB into a file (ulimit -f)"),
        ({"cpu": 7200}, {}, Severity.WARNING, "may use 2.0 hours of CPU time"),
        ({"cpu": 600}, {}, Severity.WARNING, "may use 600 seconds of CPU time"),
    ],
)
def test_found(limits, facts, severity, says):
    _, [finding] = run(limits, **facts)
    assert finding.severity is severity
    assert says in finding.message


@pytest.mark.parametrize(
    ("limits", "facts"),
    [
        ({"as": None, "data": None, "fsize": None, "cpu": None}, {"gpus": EIGHT}),
        ({"as": 64 * GIB}, {}),
        ({"as": 2048 * GIB}, {"gpus": EIGHT}),
        ({"nofile": 1024}, {}),
    ],
)
def test_passed(limits, facts):
    result, found = run(limits, **facts)
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_unknown():
    assert run({})[0].status is CheckStatus.UNKNOWN


def test_too_many_mappings_have_a_limit_of_their_own():
    text = "RuntimeError: unable to mmap 24 bytes from file </torch_7_8_9>: Cannot allocate memory (12)"
    fixes = matches(text, [CHECK])[0].finding.fixes
    assert "one tensor for all of them" in fixes[0].summary
    assert "vm.max_map_count" in fixes[1].command
    other = "ImportError: libtorch_cpu.so: failed to map segment from shared object: Cannot allocate memory"
    assert not any("max_map_count" in fix.command for fix in matches(other, [CHECK])[0].finding.fixes)

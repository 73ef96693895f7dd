"""shm-too-small: /dev/shm is a container's default, or full."""

import pytest

from gpudoctor import explain
from gpudoctor.facts import Gpu, Gpus, Host, Launch
from gpudoctor.guard import examine
from gpudoctor.model import Kind, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("shm-too-small")
MESSAGE = "/dev/shm had no room: data loaders and NCCL put what they share there"
EXAMPLES = {
    "gpu-03:811:902 [2] misc/shmutils.cc:99 NCCL WARN Error: failed to create shared memory file /dev/shm/nccl-aB3xYz, error No space left on device (28)": (
        "/dev/shm had no room for the segment /dev/shm/nccl-aB3xYz: data loaders and NCCL put what they share there"
    ),
    "joblib/_multiprocessing_helpers.py:44: UserWarning: [Errno 28] No space left on device.  joblib will operate in serial mode": MESSAGE,
    (
        "ERROR: Unexpected bus error encountered in worker. This might be caused by "
        "insufficient shared memory (shm)."
    ): MESSAGE,
    (
        "RuntimeError: DataLoader worker (pid 46794) is killed by signal: Bus error. It is "
        "possible that dataloader's workers are out of shared memory. Please try to raise "
        "your shared memory limit."
    ): MESSAGE,
    "RuntimeError: DataLoader worker (pid 13) is killed by signal: Bus error.": MESSAGE,
    (
        "RuntimeError: unable to allocate shared memory(shm) for file "
        "</torch_11758_4062842025_0>: No space left on device (28)"
    ): (
        "/dev/shm had no room for /torch_11758_4062842025_0: data loaders and NCCL put what they share there"
    ),
    "RuntimeError: unable to write to file </torch_1234_567890_12>: No space left on device (28)": MESSAGE,
    "RuntimeError: unable to resize file </torch_29919_1396182366> to the right size": MESSAGE,
    "RuntimeError: unable to open shared memory object </torch_30997_2076642173> in read-write mode": MESSAGE,
    (
        "node1:93:937 [0] include/shm.h:48 NCCL WARN Error while creating shared memory "
        "segment nccl-shm-recv-18-0-2-3 (size 9637888)"
    ): (
        "/dev/shm had no room for the segment nccl-shm-recv-18-0-2-3, 9637888 bytes: data loaders and NCCL put "
        "what they share there"
    ),
    (
        "node1:93:937 [0] misc/shmutils.cc:72 NCCL WARN Error while creating shared memory "
        "segment /dev/shm/nccl-PXpqTq (size 9637888), error: No space left on device (28)"
    ): (
        "/dev/shm had no room for the segment /dev/shm/nccl-PXpqTq, 9637888 bytes: data loaders and NCCL put "
        "what they share there"
    ),
    "node1:93:937 [0] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device": MESSAGE,
    "OSError: [Errno 28] No space left on device: '/dev/shm/psm_2fb3a2c1'": MESSAGE,
    "Bus error (core dumped)": MESSAGE,
    (
        "node1:14937:69361 [0] misc/shmutils.cc:129 NCCL WARN Error while attaching to shared memory segment "
        "/dev/shm/nccl-glnlGK (size 14156128), error: No such file or directory (2)"
    ): (
        "a rank found nothing at /dev/shm/nccl-glnlGK, where another one was to share its memory with it: that one could "
        "not make it, runs in a container with another /dev/shm, or shares memory in another way"
    ),
    "misc/shmutils.cc:71 NCCL WARN Error: failed to extend /dev/shm/nccl-fjwOOB to 5967876 bytes": (
        "/dev/shm had no room, 5967876 bytes: data loaders and NCCL put what they share there"
    ),
    "_multiprocessing.SemLock(OSError: [Errno 28] No space left on device": MESSAGE,
    '  File "/venv/lib/python3.8/multiprocessing/queues.py", line 336, in __init__\n    self._rlock = ctx.Lock()\nOSError: [Errno 28] No space left on device': MESSAGE,
}
NOT_THIS = [
    (
        "RuntimeError: unable to open shared memory object </torch_30997_2076642173> in "
        "read-write mode: Too many open files (24)"
    ),
    "OSError: [Errno 28] No space left on device: '/scratch/checkpoint.pt'",
    "RuntimeError: DataLoader worker (pid 13) is killed by signal: Killed.",
    "RuntimeError: DataLoader worker (pid 13) is killed by signal: Segmentation fault.",
    "RuntimeError: CUDA error: out of memory",
]
MIB = 1 << 20


def host(size, free=None, container="docker"):
    return Host(
        system="Linux",
        shm_bytes=size * MIB,
        shm_free_bytes=None if free is None else free * MIB,
        container=container,
    )


def gpus(count):
    return Gpus(devices=[Gpu(index=index) for index in range(count)])


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_a_containers_default_is_a_warning():
    _, [finding] = run(host=host(64, 64), gpus=gpus(1))
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("/dev/shm is 64.0 MiB, a container's default")
    assert finding.fixes[0].command == "docker run --shm-size=8g IMAGE"
    assert finding.fixes[-1].kind is Kind.MITIGATION


def test_an_error_where_nccl_of_several_gpus_does_not_fit():
    _, [finding] = run(host=host(64, 64), gpus=gpus(2))
    assert finding.severity is Severity.ERROR
    assert "NCCL may need 73.5 MiB for 2 ranks" in finding.message


def test_one_that_takes_no_files_whatever_its_size():
    closed = Host(system="Linux", shm_bytes=8 << 30, shm_free_bytes=8 << 30, shm_writable=False)
    _, [finding] = run(host=closed)
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith("this process may not make files in /dev/shm")
    assert "remount,rw,mode=1777" in finding.fixes[1].command
    full = Host(
        system="Linux", shm_bytes=8 << 30, shm_free_bytes=8 << 30, shm_writable=True, shm_inodes_free=0
    )
    _, [finding] = run(host=full)
    assert finding.message.startswith("/dev/shm takes no more files")
    assert finding.fixes[0].command.startswith("df -i /dev/shm")


def test_there_is_none_at_all():
    _, [finding] = run(host=Host(system="Linux", shm_missing=True))
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith("there is no /dev/shm:")
    assert run(host=Host(system="Darwin", shm_missing=True))[0].status is CheckStatus.PASSED


def test_a_large_file_system_that_is_full():
    _, [finding] = run(host=host(8192, 12, container=None), gpus=gpus(4))
    assert finding.severity is Severity.ERROR
    assert "/dev/shm is 8.0 GiB, 12.0 MiB of it free" in finding.message
    assert finding.fixes[0].command == "sudo mount -o remount,size=8G /dev/shm"


def test_one_that_is_nearly_full_is_a_warning_for_one_rank():
    _, [finding] = run(host=Host(shm_bytes=1 << 30, shm_free_bytes=13 << 20))
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("/dev/shm is 1.0 GiB, 13.0 MiB of it free: ")
    assert finding.fixes[0].command == "ls -lS /dev/shm | head"


def test_one_of_which_little_is_free_is_a_warning():
    _, [finding] = run(host=Host(shm_bytes=1 << 30, shm_free_bytes=142 << 20))
    assert finding.severity is Severity.WARNING
    assert run(host=Host(shm_bytes=64 << 30, shm_free_bytes=300 << 20))[1] == []
    assert run(host=Host(shm_bytes=512 << 20, shm_free_bytes=200 << 20))[1] == []


def test_less_than_nccls_guide_asks_for_is_a_warning_for_several_ranks():
    launch = Launch(variables={"LOCAL_WORLD_SIZE": "4"})
    _, [finding] = run(host=host(512, 512), launch=launch)
    assert finding.severity is Severity.WARNING
    assert "4 ranks" in finding.message


@pytest.mark.parametrize(
    ("container", "command"),
    [
        ("podman", "podman run --shm-size=8g IMAGE"),
        ("kubernetes", "volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 8Gi}}]"),
        ("lxc", "sudo mount -o remount,size=8G /dev/shm"),
    ],
)
def test_the_fix_fits_the_container(container, command):
    _, [finding] = run(host=host(64, container=container))
    assert finding.fixes[0].command.startswith(command)


@pytest.mark.parametrize(
    "facts",
    [
        {"host": host(1024, 1024), "gpus": gpus(8)},
        {"host": host(512, 512), "gpus": gpus(1)},  # a small machine
        {"host": Host(system="Darwin")},
        {"host": Host(system="Windows")},
    ],
)
def test_passes(facts):
    result, findings = run(**facts)
    assert result.status is CheckStatus.PASSED, findings


def test_unknown():
    assert run()[0].reason == "host: not in this report"
    assert run(host=Host(system="Linux"))[0].status is CheckStatus.UNKNOWN


def test_few_files_are_left():
    host = Host(
        system="Linux", shm_bytes=8 << 30, shm_free_bytes=8 << 30, shm_writable=True, shm_inodes_free=12
    )
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot({"host": host}))
    assert "/dev/shm takes 12 more files (inodes)" in finding.message


def test_pandarallel_passes_its_data_through_shared_memory():
    text = (
        'Traceback (most recent call last):\n  File "clean.py", line 9, in <module>\n    rows.parallel_apply(clean)\n'
        '  File "/venv/lib/python3.9/site-packages/pandarallel/core.py", line 200, in closure\n    dump(part, file)\n'
        "OSError: [Errno 28] No space left on device\n"
    )
    assert explain(text).verdict.primary == "shm-too-small"

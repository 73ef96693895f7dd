"""thread-limit: no further thread can be started."""

from gpudoctor.facts import Gpu, Gpus, Host, Launch, Limit, Processes
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("thread-limit")
REST = ": the limit of the user, container or job is reached"
MESSAGE = f"no further thread or process could be started{REST}"
EXAMPLES = {
    "RuntimeError: can't start new thread": MESSAGE,
    "OpenBLAS blas_thread_init: pthread_create failed for thread 2 of 64: Resource temporarily unavailable": (
        f"no further thread or process could be started (number 2 of 64 in this process){REST}"
    ),
    "OpenBLAS blas_thread_init: pthread_create: Resource temporarily unavailable": MESSAGE,
    "libgomp: Thread creation failed: Resource temporarily unavailable": MESSAGE,
    "OMP: Error #34: System unable to allocate necessary resources for OMP thread:": MESSAGE,
    "bash: fork: retry: Resource temporarily unavailable": MESSAGE,
    (
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/python3.11/multiprocessing/popen_fork.py", line 66, in _launch\n'
        "    self.pid = os.fork()\n"
        "BlockingIOError: [Errno 11] Resource temporarily unavailable"
    ): MESSAGE,
    "  what():  Resource temporarily unavailable": MESSAGE,
    "kernel: cgroup: fork rejected by pids controller in /docker/4f1c": MESSAGE,
    "F tensorflow/core/platform/default/env.cc:72] Check failed: ret == 0 (11 vs. 0)Thread creation via pthread_create() failed.": MESSAGE,
    "Check failed: res == 0 (11 vs. 0) pthread_create failed": MESSAGE,
    "BlockingIOError: [Errno 11] Resource temporarily unavailable": "no further thread or process could be started: the limit of the user, container or job is reached",
}
NOT_THIS = [
    "h5py: unable to lock file, errno = 11, error message = 'Resource temporarily unavailable'",
    "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default",
]
HOST = Host(system="Linux", cpus_usable=128, limits={"nproc": Limit(soft=512, hard=4096)})
EIGHT = Gpus(devices=[Gpu(index=i, name="H100") for i in range(8)])


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_a_thread_for_each_core_in_each_rank_beyond_the_limit_is_a_warning():
    result, [finding] = run(host=HOST, gpus=EIGHT)
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.WARNING
    assert "8 x 128 threads of OpenMP are 1024" in finding.message


def test_what_the_user_has_already_counts():
    facts = {"launch": Launch(variables={"OMP_NUM_THREADS": "1"}), "processes": Processes(user_threads=500)}
    _, [finding] = run(host=HOST, **facts)
    assert "may have 512 threads and processes and has 500" in finding.message


def test_passes():
    set_by_torchrun = Launch(variables={"OMP_NUM_THREADS": "1"})
    for facts in (
        {"host": HOST},
        {"host": HOST, "gpus": EIGHT, "launch": set_by_torchrun},
        {"host": Host(cpus_usable=128, limits={"nproc": Limit()}), "gpus": EIGHT},
    ):
        assert run(**facts)[0].status is CheckStatus.PASSED, facts


def test_unknown_without_the_host_or_its_limits():
    assert run(host=Host(cpus_usable=128), gpus=EIGHT)[0].status is CheckStatus.UNKNOWN
    assert run(gpus=EIGHT)[0].status is CheckStatus.UNKNOWN

"""No further thread or process can be started: a limit is reached.

## What happens

"RuntimeError: can't start new thread", "OpenBLAS blas_thread_init: pthread_create failed for thread 2 of 64: Resource
temporarily unavailable", "libgomp: Thread creation failed", bash's "fork: retry: Resource temporarily unavailable". It
comes often with the import of numpy, long before the training.

## Why

Threads count like processes, all of one user's together (`ulimit -u`), and all of a container's or job's (pids.max).

- OpenBLAS, OpenMP and MKL start a thread for each core, in each process: eight ranks and 32 loader workers on 128 cores
  want some 5,000. torchrun sets OMP_NUM_THREADS=1 for the ranks; mp.spawn and plain Python do not.
- Login nodes, and shared nodes, allow few processes to each user.
- Docker's `--pids-limit`, Kubernetes' `podPidsLimit`, a job's control group.
- What an earlier run left behind still counts.

## How to tell

`ulimit -u` is the limit, `ps -u $(id -u) -L --no-headers | wc -l` how many there are. In a container
`cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids.current`; a Slurm job has these files in
`/sys/fs/cgroup$(cut -d: -f3- /proc/self/cgroup)` and the folders above.

## See also

- [getrlimit(2)](https://man7.org/linux/man-pages/man2/getrlimit.2.html): RLIMIT_NPROC counts threads
- [OpenBLAS#1668](https://github.com/OpenMathLib/OpenBLAS/issues/1668): pthread_create fails in a batch job
- [docker run --pids-limit](https://docs.docker.com/reference/cli/docker/container/run/): how many processes a container may have
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Symptom, count
from gpudoctor.facts import Gpus, Host, Launch, Processes
from gpudoctor.wordings import A_FRAME

FEWER = Fix(
    "One thread for each process that computes",
    "export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1",
)
RAISE = Fix("Raise the limit as far as you may", "ulimit -u $(ulimit -Hu)")

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning in facts",
    symptoms=[
        r"can't start new thread",
        r"pthread_create failed for thread (?P<thread>\d+) of (?P<threads>\d+)",
        r"blas_thread_init: (?:pthread_create: Resource|ensure that your address space)",
        r"Thread creation failed: Resource temporarily unavailable",
        r"\(11 vs\. 0\).{0,80}\bpthread_create\b",  # TensorFlow, TensorBoard, MediaPipe
        r"OMP: Error #34|System unable to allocate necessary resources for OMP thread",
        r"\bfork: (?:retry: )?(?:Resource temporarily unavailable|retry: No child processes)",
        Symptom(
            r"BlockingIOError: \[Errno 11\] Resource temporarily unavailable",
            near=r"os\.fork\(|_fork_exec|fork_exec\(|popen_fork|spawnv_passfds",
        ),
        r"(?:std::system_error|what\(\)): +Resource temporarily unavailable",
        r"cgroup: fork rejected by pids controller",
        Symptom(
            r"^\W{0,3}BlockingIOError: \[Errno 11\] Resource temporarily unavailable\W{0,3}$", unless=A_FRAME
        ),
    ],
    message="no further thread or process could be started[ (number <thread> of <threads> in this process)]: the limit of the "
    "user, container or job is reached",
    fixes=[
        FEWER,
        RAISE,
        Fix(
            "Fewer loader workers in each rank",
            "DataLoader(dataset, num_workers=2)",
            Kind.EDIT,
            proof="num_workers=2)",
        ),
        Fix(
            "End what an earlier run left behind: look first whose it is",
            "ps -u $(id -u) -o pid,lstart,nlwp,args --sort=-nlwp | head",
        ),
        Fix(
            "In docker: raise the container's limit", "docker run --pids-limit=-1 --gpus all --ipc=host IMAGE"
        ),
        Fix(
            "For good: a line in /etc/security/limits.conf, or TasksMax of the user's slice",
            "USER - nproc 65536",
            Kind.ADMIN,
        ),
    ],
)


# A rank was seen with 8 threads besides OpenMP's (torch on CPU); CUDA and NCCL add about a dozen.
THREADS_PER_RANK = 20


@check.environment
def environment(
    host: Host, launch: Launch | None, gpus: Gpus | None, processes: Processes | None
) -> Iterator[Finding]:
    """What the ranks start, with what this user has already, is more than the user may have."""
    limit = host.limits.get("nproc")
    if limit is None or host.cpus_usable is None:
        raise CannotTell("how many threads this user may have is not known")
    if limit.soft is None:
        return
    omp = launch.number("OMP_NUM_THREADS") if launch else None
    ranks = max(1, len(gpus.devices) if gpus else 0, (launch.ranks_here if launch else None) or 0)
    computing = omp if omp is not None and omp > 0 else host.cpus_usable
    need = ranks * max(computing, THREADS_PER_RANK)
    # Root's own are not counted against it (getrlimit(2)); a training may run as somebody else.
    has = 0 if host.root else (processes.user_threads if processes else None) or 0
    if need <= limit.soft - has:
        return
    front = f"this user may have {limit.soft} threads and processes"
    if need > limit.soft and omp is None:
        message = f"{front}, and {ranks} x {host.cpus_usable} threads of OpenMP are {need}: the ranks may not even start"
        if computing < THREADS_PER_RANK:
            message = f"{front}, and {count(ranks, 'rank')} may need {need}: they may not even start"
    else:
        message = (
            f"{front} and has {has}: there is no room for the {need} that {count(ranks, 'rank')} may need"
        )
    yield check.found(message, severity=Severity.WARNING, fixes=[FEWER, RAISE])

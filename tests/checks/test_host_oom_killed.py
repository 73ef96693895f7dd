"""host-oom-killed: in logs and in facts."""

from gpudoctor.facts import Cgroup, Host, KernelEvent, KernelLog, Kubernetes
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

TABLE = """Root Cause (first observed failure):
[0]:
  time      : 2026-10-02_13:10:01
  host      : node0
  rank      : 5 (local_rank: 1)
  exitcode  : -9 (pid: 149)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 149"""
MESSAGE = "a process was killed (-9) without a reason, which mostly means that the host's memory ran out: confirm it"
EXAMPLES = {
    "step 40 of 900\n已杀死": "a process was killed (已杀死) without a reason, which mostly means that the host's memory ran out: confirm it",
    "step 40 of 900\nGetötet": "a process was killed (Getötet) without a reason, which mostly means that the host's memory ran out: confirm it",
    "OSError: [WinError 8] Not enough memory resources are available to process this command": (
        "a process got no more of the host's memory: OSError: [WinError 8]"
    ),
    "   JobState=OUT_OF_MEMORY Reason=OutOfMemory Dependency=(null)": "a process was killed because the host's memory ran out: OUT_OF_MEMORY",
    "On my node one rank always ends with signal 9 after an hour": "a process was killed (signal 9) without a reason, which mostly means that the host's memory ran out: confirm it",
    "While my data is read the host memory fills up and all stops": "a process was killed because the host's memory ran out: host memory fills up",
    "Hello, in each epoch the CPU memory usage kept increasing, until all was over": "a process was killed because the host's memory ran out: CPU memory usage kept increasing",
    "CPU memory utilization grows with each epoch and in the end causes OOM with more than one worker.": "a process was killed because the host's memory ran out: CPU memory utilization grows",
    "[launch] exit codes: {0: 0, 1: -9}": "a process was killed (-9) without a reason, which mostly means that the host's memory ran out: confirm it",
    "[launch] rank 0 exited with code -9": "a process of rank 0 was killed (-9) without a reason, which mostly means that the host's memory ran out: confirm it",
    "Killedg in train batch: 127687 / 263115": "a process was killed (Killed) without a reason, which mostly means that the host's memory ran out: confirm it",
    "After some minutes I see simply 'Killed' and no more": "a process was killed (Killed) without a reason, which mostly means that the host's memory ran out: confirm it",
    "Refer to the documentation on how to address the out of memory issue: https://docs.ray.io/en/latest/oom.html.": (
        "a process was killed because the host's memory ran out: out of memory issue"
    ),
    "=   EXIT CODE: 9": "a process was killed (9) without a reason, which mostly means that the host's memory ran out: confirm it",
    "Running it results in return code = -9": "a process was killed (-9) without a reason, which mostly means that the host's memory ran out: confirm it",
    (
        "was 12.49GB / 13.15GB (0.950003), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: "
        "79a553ea91fe46f95e83) because it was the most recently scheduled task"
    ): "a process was killed because the host's memory ran out: exceeds the memory usage threshold",
    (
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=191.batch cgroup. Some of your processes may have been "
        "killed by the cgroup out-of-memory handler."
    ): "a process was killed because the host's memory ran out: Detected 1 oom-kill event(s)",
    "[2026-09-21T10:00:00.123] error: Detected 2 oom_kill events in StepId=4711.13. Some of the step tasks have been OOM Killed.": (
        "a process was killed because the host's memory ran out: Detected 2 oom_kill events"
    ),
    "Process 0 exit with status code 137.": (
        "a process was killed (137) without a reason, which mostly means that the host's memory ran out: confirm it"
    ),
    "srun: error: node107: task 3: Out Of Memory": (
        "a process of rank 3 on node107 was killed because the host's memory ran out: Out Of Memory"
    ),
    "slurmstepd: error: StepId=7.batch exceeded memory limit (734003200 > 52428800), being killed": (
        "a process was killed because the host's memory ran out: exceeded memory limit (734003200 > 52428800), "
        "being killed"
    ),
    "slurmstepd: error: Exceeded job memory limit": (
        "a process was killed because the host's memory ran out: Exceeded job memory limit"
    ),
    "4711.0   python  OUT_OF_ME+  0:125": "a process was killed because the host's memory ran out: OUT_OF_ME+",
    "[Mon Sep 21 10:00:00 2026] Out of memory: Killed process 4711 (python) total-vm:123456kB, anon-rss:65536kB, file-rss:0kB": (
        "a process (python) was killed because the host's memory ran out: Out of memory"
    ),
    "kernel: Memory cgroup out of memory: Kill process 4711 (python3) score 912 or sacrifice child": (
        "a process (python3) was killed because the host's memory ran out: out of memory"
    ),
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=docker,mems_allowed=0,task=python,pid=4711,uid=1000": (
        "a process (python) was killed because the host's memory ran out: oom-kill:constraint=CONSTRAINT_MEMCG"
    ),
    "python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0": (
        "a process (python) was killed because the host's memory ran out: invoked oom-killer"
    ),
    "oom_reaper: reaped process 4711 (python), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB": (
        "a process (python) was killed because the host's memory ran out: oom_reaper: reaped"
    ),
    "train.service: A process of this unit has been killed by the OOM killer.": (
        "a process was killed because the host's memory ran out: killed by the OOM killer"
    ),
    "train.service: Failed with result 'oom-kill'.": (
        "a process was killed because the host's memory ran out: Failed with result 'oom-kill'"
    ),
    "systemd-oomd[801]: Killed /user.slice/user-1000.slice due to memory pressure for /user.slice": (
        "a process was killed because the host's memory ran out: Killed /user.slice/user-1000.slice due to memory "
        "pressure"
    ),
    "    Reason:       OOMKilled": "a process was killed because the host's memory ran out: OOMKilled",
    '            "OOMKilled": true,': "a process was killed because the host's memory ran out: OOMKilled",
    "The node was low on resource: memory. Container trainer was using 12Gi, which exceeds its request of 8Gi.": (
        "a process was killed because the host's memory ran out: The node was low on resource: memory"
    ),
    "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.": (
        "a process was killed because the host's memory ran out: TERM_MEMLIMIT: job killed"
    ),
    "=>> PBS: job killed: mem 34359738368kb exceeded limit 33554432kb": (
        "a process was killed because the host's memory ran out: PBS: job killed: mem 34359738368kb exceeded limit"
    ),
    "Job has gone over memory limit of 8192 megabytes.": (
        "a process was killed because the host's memory ran out: Job has gone over memory limit"
    ),
    "OutOfMemoryError: Container killed due to memory usage": (
        "a process was killed because the host's memory ran out: Container killed due to memory usage"
    ),
    "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.": (
        "a process was killed because the host's memory ran out: killed due to the node running low on memory"
    ),
    TABLE: (
        "a process of rank 5 was killed (-9) without a reason, which mostly means that the host's memory ran "
        "out: confirm it"
    ),
    "  traceback : Signal 9 (SIGKILL) received by PID 20724": (
        "a process was killed (Signal 9) without a reason, which mostly means that the host's memory ran out: "
        "confirm it"
    ),
    "E0202 14:00:27 3957034 torch/distributed/elastic/multiprocessing/api.py:984] failed (exitcode: -9) local_rank: 4 (pid: 7) of binary: python": (
        "a process of local rank 4 was killed (-9) without a reason, which mostly means that the host's memory ran "
        "out: confirm it"
    ),
    "[launch.py:434:sigkill_handler] ['python', '-u', 'main.py', '--local_rank=3'] exits with return code = -9": MESSAGE,
    "torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with signal SIGKILL": (
        "a process of rank 0 was killed (SIGKILL) without a reason, which mostly means that the host's memory "
        "ran out: confirm it"
    ),
    "subprocess.CalledProcessError: Command '['python', 'train.py']' died with <Signals.SIGKILL: 9>.": (
        "a process was killed (SIGKILL) without a reason, which mostly means that the host's memory ran out: "
        "confirm it"
    ),
    "subprocess.CalledProcessError: Command '['bash', 'run.sh']' returned non-zero exit status 137.": (
        "a process was killed (137) without a reason, which mostly means that the host's memory ran out: "
        "confirm it"
    ),
    "[rank: 2] Child process with PID 4711 terminated with code -9. Forcefully terminating all other processes": MESSAGE,
    "mpirun noticed that process rank 1 with PID 4711 on node node1 exited on signal 9 (Killed).": (
        "a process was killed (9) without a reason, which mostly means that the host's memory ran out: confirm "
        "it"
    ),
    "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)": (
        "a process was killed (signal 9) without a reason, which mostly means that the host's memory ran out: "
        "confirm it"
    ),
    "srun: error: node01: tasks 0-3: Killed": (
        "a process of rank 0 on node01 was killed (Killed) without a reason, which mostly means that the "
        "host's memory ran out: confirm it"
    ),
    "srun: error: node01: task 2: Exited with exit code 137": (
        "a process of rank 2 on node01 was killed (137) without a reason, which mostly means that the host's "
        "memory ran out: confirm it"
    ),
    "Process finished with exit code 137 (interrupted by signal 9:SIGKILL)": (
        "a process was killed (137) without a reason, which mostly means that the host's memory ran out: "
        "confirm it"
    ),
    "      Exit Code:    137": (
        "a process was killed (137) without a reason, which mostly means that the host's memory ran out: "
        "confirm it"
    ),
    "Killed": (
        "a process was killed (Killed) without a reason, which mostly means that the host's memory ran out: "
        "confirm it"
    ),
    (
        "job.sh: line 28:  8157 Killed                  python3 main.py\n"
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.batch cgroup."
    ): "a process was killed because the host's memory ran out: Detected 1 oom-kill event(s)",
    "train.sh: line 28:  8156 Killed                  python3 main.py --lr 0.1": (
        "a process was killed (Killed) without a reason, which mostly means that the host's memory ran out: "
        "confirm it"
    ),
    "[1]    4711 killed     python train.py": (
        "a process was killed (killed) without a reason, which mostly means that the host's memory ran out: "
        "confirm it"
    ),
    (
        "RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
        "allocate 40000000000 bytes. Error code 12 (Cannot allocate memory)"
    ): "a process asked for 40000000000 bytes of the host's memory and did not get it",
    "RuntimeError: $ Torch: not enough memory: you tried to allocate 8GB. Buy new RAM!": (
        "a process asked for 8GB of the host's memory and did not get it"
    ),
    "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 12.0 GiB for an array with shape (1610612736,) and data type float64": (
        "a process asked for 12.0 GiB of the host's memory and did not get it"
    ),
    "OSError: [Errno 12] Cannot allocate memory": (
        "a process got no more of the host's memory: OSError: [Errno 12] Cannot allocate memory"
    ),
    "MemoryError": "a process got no more of the host's memory: MemoryError",
    "[rank3]: MemoryError: ": "a process got no more of the host's memory: MemoryError",
    "ERROR: Training failed with exit code -9": MESSAGE,
    "torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9).": MESSAGE,
    "ray.memory_monitor.RayOutOfMemoryError: More than 95% of the memory on node n1 is used (11.8 / 12.3 GB).": (
        "a process was killed because the host's memory ran out: More than 95% of the memory on node"
    ),
    "zsh: killed     python3 fit.py": "a process was killed (killed) without a reason, which mostly means that the host's memory ran out: confirm it",
    "Your session crashed after using all available RAM.": "a process was killed because the host's memory ran out: Your session crashed after using all available RAM",
    "Your notebook tried to allocate more memory than is available. It has restarted.": "a process was killed because the host's memory ran out: Your notebook tried to allocate more memory than is available",
    "读大文件的时候内存不足，进程没了": "a process was killed because the host's memory ran out: 内存不足",
    "My process gets killed after the third epoch without any message, why?": "a process was killed (killed) without a reason, which mostly means that the host's memory ran out: confirm it",
}
NOT_THIS = [
    "job.sh: line 9: 28875 Killed                  sleep 300",
    "[launch] exit codes: [3, -9, -9]",
    "    return getattr(self._store, store_op)(*args, **kwargs)\nMemoryError: std::bad_alloc",
    "RuntimeError: DataLoader worker (pid 1562937) is killed by signal: Killed. ",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB of which 1.19 GiB is free.",
    # torchrun itself killed what would not end
    "Unable to shutdown process 149 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL\n  exitcode  : -9 (pid: 149)",
    # another rank failed first
    (
        "[1]:\n  rank      : 1 (local_rank: 1)\n  exitcode  : -9 (pid: 149)\nRoot Cause (first observed failure):\n[0]:\n"
        "  rank      : 0 (local_rank: 0)\n  exitcode  : 1 (pid: 148)"
    ),
    "slurmstepd: error: *** STEP 7.0 ON node01 CANCELLED AT 2026-09-21T10:00:00 DUE TO TIME LIMIT ***\nsrun: error: node01: task 0: Killed",
    "run.sh: line 4:  7220 Killed                  timeout -s KILL 8 python train.py",
    '            "OOMKilled": false,',
    "slurmstepd: error: *** STEP 7.0 ON node01 CANCELLED AT 2026-09-21T10:00:00 ***\nsrun: error: node01: tasks 0-1: Killed",
    "srun: error: node01: task 0: Exited with exit code 1",
    "CUDA error: CUDA_ERROR_OUT_OF_MEMORY",
]


EXAMPLES["The node's log says Memory cgroup out of memory, at night."] = (
    "a process was killed because the host's memory ran out: Memory cgroup out of memory"
)


def run(**facts):
    return examine(Registry().check("host-oom-killed"), Source.ENVIRONMENT, Snapshot(facts))


def log(process="python", seconds=None):
    event = KernelEvent(kind="oom-kill", text=f"oom-kill:task={process}", process=process, seconds=seconds)
    return KernelLog(source="/dev/kmsg", events=[event])


def test_killed_in_this_control_group():
    _, [finding] = run(
        host=Host(cgroup=Cgroup(version=2, oom_kills=2, memory_max_bytes=8 << 30), container="docker")
    )
    assert finding.severity is Severity.WARNING
    assert "killed 2 processes of this container or job, which may use 8.0 GiB" in finding.message


def test_a_control_groups_limit_is_not_the_hosts_memory():
    words = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/job7,task=python3,pid=7,uid=0"
    event = KernelEvent(kind="oom-kill", text=words, process="python3")
    _, [finding] = run(kernel_log=KernelLog(source="/dev/kmsg", events=[event]))
    assert "its control group (a job's or a container's) was at its limit on memory" in finding.message
    assert "because memory ran out" not in finding.message


def test_the_kernel_log_within_an_hour_and_before():
    _, [finding] = run(kernel_log=log(seconds=909_000.0), host=Host(uptime_seconds=910_000.0))
    assert finding.severity is Severity.WARNING
    _, [finding] = run(kernel_log=log(seconds=900_000.0), host=Host(uptime_seconds=910_000.0))
    assert "killed python because memory ran out, 3 h ago" in finding.message
    assert finding.severity is Severity.NOTE


def test_another_program_in_a_log_that_somebody_sent():
    event = KernelEvent(kind="oom-kill", text="Killed process 63214 (uwsgi)", process="uwsgi")
    _, [finding] = run(kernel_log=KernelLog(source="the text", events=[event]))
    assert finding.severity is Severity.NOTE
    assert "the kernel killed uwsgi" in finding.message
    assert "no process of a training" in finding.message


def test_passes():
    for facts in (
        {"host": Host(cgroup=Cgroup(version=2, oom_kills=0))},
        {"host": Host(), "kernel_log": log("firefox")},
        {"kernel_log": KernelLog()},
    ):
        assert run(**facts)[0].status is CheckStatus.PASSED, facts


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
    assert run(host=Host())[0].status is CheckStatus.UNKNOWN


def test_a_container_that_kubernetes_calls_killed():
    snapshot = Snapshot({"kubernetes": Kubernetes(oom_killed=["trainer"])})
    _, [finding] = examine(Registry().check("host-oom-killed"), Source.ENVIRONMENT, snapshot)
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("Kubernetes says OOMKilled of the container trainer: ")


def test_a_container_that_ended_by_sigkill_without_a_reason():
    for runs, severity in ((False, Severity.WARNING), (True, Severity.NOTE)):
        snapshot = Snapshot({"kubernetes": Kubernetes(sigkilled={"trainer": runs})})
        _, [finding] = examine(Registry().check("host-oom-killed"), Source.ENVIRONMENT, snapshot)
        assert finding.severity is severity
        assert finding.message.startswith("the container trainer ended with exit code 137, by SIGKILL")

"""child-failed: seen in logs."""

EXAMPLES = [
    """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-10-02_13:10:01
  host      : node0
  rank      : 2 (local_rank: 2)
  exitcode  : 85 (pid: 149)
  error_file: <N/A>""",
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
    "E0202 14:00:27.983 3957034 torch/distributed/elastic/multiprocessing/api.py:984] failed (exitcode: 1) local_rank: 0 "
    "(pid: 3957105) of binary: /usr/bin/python3",
    "subprocess.CalledProcessError: Command '['python', '-u', 'train.py', '--local_rank=0']' returned non-zero exit status 1.",
    "[2024-05-01 10:00:00,000] [ERROR] [launch.py:321:sigkill_handler] ['python', 'train.py'] exits with return code = 1",
    "srun: error: node1: tasks 0-3: Exited with exit code 1",
    "torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with exit code 3",
    "Primary job  terminated normally, but 1 process returned",
    "[rank: 1] Child process with PID 4711 terminated with code 1. Forcefully terminating all other processes to avoid zombies",
]
NOT_THIS = [
    "E0202 14:00:27 3957034 torch/distributed/elastic/multiprocessing/api.py:984] failed (exitcode: -9) local_rank: 0 (pid: 7) of binary: python",
    "[launch.py:321:sigkill_handler] ['python', 'train.py'] exits with return code = -11",
    "RuntimeError: DataLoader worker (pid(s) 123) exited unexpectedly",
]
SAYS = {
    EXAMPLES[0]: "a worker (rank 2) ended with exit code 85; what it died of is not in the launcher's words",
    EXAMPLES[
        5
    ]: "a worker (rank 0) on node1 ended with exit code 1; what it died of is not in the launcher's words",
}

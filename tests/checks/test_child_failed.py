"""child-failed: seen in logs."""

TABLE = """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
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
  error_file: <N/A>"""
MESSAGE = "a worker ended; what it died of is not in the launcher's words"
EXAMPLES = {
    "Failed. Reason: AlgorithmError: Exit Code: 3": (
        "a worker ended with exit code 3; what it died of is not in the launcher's words"
    ),
    "Failed. Reason: AlgorithmError: ExecuteUserScriptError:": "a worker ended; what it died of is not in the launcher's words",
    "Error: failed to run torchrun --nproc_per_node=2 --nnodes=1 fit.py on 127.0.0.1": (
        "a worker ended; what it died of is not in the launcher's words"
    ),
    "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 2) local_rank: 5 (pid: 31)": (
        "a worker (local rank 5) ended with exit code 2; what it died of is not in the launcher's words"
    ),
    "INFO Pod: team.segment-worker-3 exited with code 2": (
        "a worker on team.segment-worker-3 ended with exit code 2; what it died of is not in the launcher's words"
    ),
    "research   segment-worker-3   1/2   CrashLoopBackOff   14 (2m9s ago)   1h": (
        "a worker on segment-worker-3 ended; what it died of is not in the launcher's words"
    ),
    "Warning  BackOff  8s (x9 over 4m)  kubelet  Back-off restarting failed container trainer": (
        "a worker ended; what it died of is not in the launcher's words"
    ),
    "AbortedError (see above for traceback): Horovod has been shut down. This was ca": "a worker ended; what it died of is not in the launcher's words",
    'Killing subprocess 81\n  File "/env/lib/python3.8/site-packages/torch/distributed/launch.py", line 326, in main': "a worker ended; what it died of is not in the launcher's words",
    "W0301 10:11:12.130000 71 torch/distributed/elastic/multiprocessing/api.py:908] Sending process 77 closing signal SIGTERM": "a worker ended; what it died of is not in the launcher's words",
    "(raylet) Failed to connect to GCS within 90 seconds. GCS may have been killed.": "a worker ended; what it died of is not in the launcher's words",
    "node 7f3a with address 10.2.0.9 has been marked dead because the detector has missed too many heartbeats from it.": "a worker ended; what it died of is not in the launcher's words",
    "UNAVAILABLE: Task /job:jax_worker/replica:0/task:2 heartbeat timeout. This indicates that the remote task has failed": "a worker ended; what it died of is not in the launcher's words",
    "F0301 10:11:12.130001 71 client.h:80] Terminating. This most likely indicates that another task died; see its log.": "a worker ended; what it died of is not in the launcher's words",
    "ValueError: TP rank 3 could finish the model loading, but there are other ranks that didn't finish loading.": "a worker ended; what it died of is not in the launcher's words",
    "[2026-03-01 10:11:12] Received sigquit from a child process. It usually means the child failed.": "a worker ended; what it died of is not in the launcher's words",
    "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}": "a worker ended; what it died of is not in the launcher's words",
    "Exception: WorkerProc initialization failed due to an exception in a background process.": "a worker ended; what it died of is not in the launcher's words",
    "\"CalledProcessError: Command '['/env/bin/python3.11', '-m', 'torch.distributed.run', '--nproc_per_node', '4', \"": "a worker ended; what it died of is not in the launcher's words",
    "ERROR:composer.cli.launcher:Rank 6 crashed with exit code 3": "a worker (rank 6) ended with exit code 3; what it died of is not in the launcher's words",
    "fit.py FAILED\n------------------------\nFailures:\n  <NO_OTHER_FAILURES>": "a worker ended; what it died of is not in the launcher's words",
    "  error_file: <N/A>\n  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html": "a worker ended; what it died of is not in the launcher's words",
    "CalledProcessError: Command '['C:\\\\Users\\\\me\\\\Kohya SS\\\\venv\\\\Scripts\\\\python.exe',\n'train_network.py', '--enable_bucket',": "a worker ended; what it died of is not in the launcher's words",
    "subprocess.CalledProcessError: Command 'accelerate\nlaunch\ntrain.py\n--max_train_steps=600' returned non-zero exit status 1.": "a worker ended; what it died of is not in the launcher's words",
    "CalledProcessError: Command '['/usr/bin/python3', 'train_network.py', ": "a worker ended; what it died of is not in the launcher's words",
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: main.py FAILED": "a worker ended; what it died of is not in the launcher's words",
    '{"name": "torchelastic.worker.status.FAILED", "source": "WORKER", "timestamp": 0, "metadata": {"run_id": "none", "global_rank": 3}}': "a worker ended; what it died of is not in the launcher's words",
    "DEBUG events Error pod pytorch-simple-worker-0 container pytorch exitCode: 1 terminated message:": "a worker ended with exit code 1; what it died of is not in the launcher's words",
    "ERROR 07-04 23:23:23 multiproc_worker_utils.py:120] Worker VllmWorkerProcess pid 3283517 died, exit code: -15": (
        "a worker ended with exit code -15 (SIGTERM); what it died of is not in the launcher's words"
    ),
    "The actor is dead because its owner has died. Owner Id: 01f Owner worker exit type: SYSTEM_ERROR": "a worker ended; what it died of is not in the launcher's words",
    "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR": "a worker ended; what it died of is not in the launcher's words",
    "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.": (
        "a worker ended; what it died of is not in the launcher's words"
    ),
    "2026-10-02 11:38:09,990\tWARNING worker.py:2058 -- A worker died or was killed while executing a task by an unexpected system error. To troubleshoot": (
        "a worker ended; what it died of is not in the launcher's words"
    ),
    "(raylet) A worker died or was killed while executing a task by an unexpected system error.": (
        "a worker ended; what it died of is not in the launcher's words"
    ),
    '[2026-10-02 08:32:07,153] [INFO] [launch.py:131:sigkill_handler] Killing subprocess 4711\nTraceback (most recent call last):\n  File "/opt/venv/lib/python3.11/site-packages/deepspeed/launcher/launch.py", line 167, in main': (
        "a worker ended; what it died of is not in the launcher's words"
    ),
    (
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n====\ntools/train.py FAILED\n----\nFailures:\n[1]:\n"
        "  time      : 2022-04-07_18:08:41\n  host      : node001\n  rank      : 1 (local_rank: 1)\n  exitcode  : 2 (pid: 56773)"
    ): "a worker (rank 1) ended with exit code 2; what it died of is not in the launcher's words",
    TABLE.replace(": 85 (pid: 149)", ": -10 (pid: 149) (SIGUSR1)"): (
        "a worker (rank 2) ended with exit code -10 (SIGUSR1); what it died of is not in the launcher's words"
    ),
    "srun: error: n7: task 3: Exited with exit code 142": (
        "a worker (rank 3) on n7 ended with exit code 142 (128 + SIGALRM); what it died of is not in the launcher's words"
    ),
    TABLE.replace(": 85 (pid: 149)", ": -14 (pid: 149)"): (
        "a worker (rank 2) ended with exit code -14 (SIGALRM); what it died of is not in the launcher's words"
    ),
    TABLE: "a worker (rank 2) ended with exit code 85; what it died of is not in the launcher's words",
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ": MESSAGE,
    (
        "E0202 14:00:27.983 3957034 torch/distributed/elastic/multiprocessing/api.py:984] failed (exitcode: 1) local_rank: 0 "
        "(pid: 3957105) of binary: /usr/bin/python3"
    ): "a worker (local rank 0) ended with exit code 1; what it died of is not in the launcher's words",
    "subprocess.CalledProcessError: Command '['python', '-u', 'train.py', '--local_rank=0']' returned non-zero exit status 1.": (
        "a worker ended with exit code 1; what it died of is not in the launcher's words"
    ),
    "[2024-05-01 10:00:00,000] [ERROR] [launch.py:321:sigkill_handler] ['python', 'train.py'] exits with return code = 1": (
        "a worker ended with exit code 1; what it died of is not in the launcher's words"
    ),
    "srun: error: node1: tasks 0-3: Exited with exit code 1": (
        "a worker (rank 0) on node1 ended with exit code 1; what it died of is not in the launcher's words"
    ),
    "torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with exit code 3": (
        "a worker (rank 0) ended with exit code 3; what it died of is not in the launcher's words"
    ),
    "Primary job  terminated normally, but 1 process returned": MESSAGE,
    "mpirun detected that one or more processes exited with non-zero status, thus causing": MESSAGE,
    "[rank: 1] Child process with PID 4711 terminated with code 1. Forcefully terminating all other processes to avoid zombies": (
        "a worker ended with exit code 1; what it died of is not in the launcher's words"
    ),
    # as torch 1.9 wrote it
    "Root Cause:\n[0]:\n  time: 2021-09-02_13:10:01\n  rank: 1 (local_rank: 1)\n  exitcode: 1 (pid: 149)\n  error_file: <N/A>": (
        "a worker (rank 1) ended with exit code 1; what it died of is not in the launcher's words"
    ),
    "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -15) local_rank: 3 (pid: 19414) of binary: python": (
        "a worker (local rank 3) ended with exit code -15 (SIGTERM); what it died of is not in the launcher's words"
    ),
    (
        "[default0]:E1120 12:05:04.378 20812 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) "
        "local_rank: 0 (pid: 7) of fn: main (start_method: spawn)"
    ): "a worker (local rank 0) ended with exit code 1; what it died of is not in the launcher's words",
    "subprocess.CalledProcessError: Command '['python', 'train.py']' died with <Signals.SIGTERM: 15>.": (
        "a worker ended by SIGTERM; what it died of is not in the launcher's words"
    ),
    "pdsh@node0: node1: ssh exited with exit code 1": (
        "a worker ended with exit code 1; what it died of is not in the launcher's words"
    ),
    "slurmstepd: error: *** JOB 4711 ON node1 FAILED (non-zero exit code or other failure mode) ***": (
        "a worker on node1 ended; what it died of is not in the launcher's words"
    ),
    "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGTERM": (
        "a worker (rank 1) ended by SIGTERM; what it died of is not in the launcher's words"
    ),
    "torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with signal SIGALRM": (
        "a worker (rank 0) ended by SIGALRM; what it died of is not in the launcher's words"
    ),
    "subprocess.CalledProcessError: Command '['python', 'fit.py']' died with <Signals.SIGUSR1: 10>.": (
        "a worker ended by SIGUSR1; what it died of is not in the launcher's words"
    ),
    "srun: error: n4: task 1: User defined signal 2": (
        "a worker (rank 1) on n4 ended by User defined signal 2; what it died of is not in the launcher's words"
    ),
    "mpirun noticed that process rank 1 with PID 0 on node n4 exited on signal 14 (Alarm clock).": (
        "a worker ended by Alarm clock; what it died of is not in the launcher's words"
    ),
    "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD": (
        "a worker (rank 3) ended; what it died of is not in the launcher's words"
    ),
    "=   EXIT CODE: 1": "a worker ended with exit code 1; what it died of is not in the launcher's words",
    "Process 0 exit with status code 1.": (
        "a worker (rank 0) ended with exit code 1; what it died of is not in the launcher's words"
    ),
    "WARNING:torch.distributed.elastic.agent.server.api:[default] Worker group FAILED. 3/3 attempts left; will restart worker group": MESSAGE,
    "PyTorchJob bert is failed because 1 Worker replica(s) failed.": MESSAGE,
    "ray.train.base_trainer.TrainingFailedError: The Ray Train run failed.": MESSAGE,
    (
        "RuntimeError: Horovod detected that one or more processes exited with non-zero status, thus causing the job to be "
        "terminated. The first process to do so was:"
    ): MESSAGE,
    "W tensorflow/core/framework/op_kernel.cc:1767] OP_REQUIRES failed at mpi_ops.cc:412 : Unknown: Horovod has been shut down. This was caused by an exception on one of the ranks or an attempt to allreduce, allgather or broadcast a tensor after one of the ranks finished execution.": MESSAGE,
    "ExecuteUserScriptError: ExitCode 3": "a worker ended; what it died of is not in the launcher's words",
    "command terminated with exit code 1": "a worker ended with exit code 1; what it died of is not in the launcher's words",
    "ray.exceptions.WorkerCrashedError: The worker died unexpectedly while executing this task.": "a worker ended; what it died of is not in the launcher's words",
}
NOT_THIS = [
    "segment-worker-3   0/1   OOMKilled   2   11m",
    "segment-worker-3   0/1   Init:CrashLoopBackOff   2   11m",
    "Warning  BackOff  8s (x9 over 4m)  kubelet  Back-off restarting failed container init-data",
    "INFO Pod: team.segment-worker-3 exited with code 0",
    "subprocess.CalledProcessError: Command '['git', 'rev-parse']",
    "make' returned non-zero exit status 2.",
    "=   EXIT CODE: 9",
    '{"name": "torchelastic.worker.status.SUCCEEDED", "source": "WORKER"}',
    "subprocess.CalledProcessError: Command '['/venv/bin/python', '-c', 'import check']' returned non-zero exit status 4.",
    "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.",
    "subprocess.CalledProcessError: Command '['which', 'c++']' returned non-zero exit status 1.",
    "E0202 14:00:27 3957034 torch/distributed/elastic/multiprocessing/api.py:984] failed (exitcode: -9) local_rank: 0 (pid: 7) of binary: python",
    "[launch.py:321:sigkill_handler] ['python', 'train.py'] exits with return code = -11",
    "RuntimeError: DataLoader worker (pid(s) 123) exited unexpectedly",
    "srun: error: node1: task 0: Exited with exit code 137",
    TABLE.replace(": 85 (", ": -9 ("),
    TABLE.replace(": 85 (", ": 139 ("),
    "subprocess.CalledProcessError: Command '['python', 'train.py']' died with <Signals.SIGKILL: 9>.",
    "torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with signal SIGINT",
]

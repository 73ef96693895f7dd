"""child-segfault: seen in logs."""

TABLE = """Root Cause (first observed failure):
[0]:
  time      : 2026-10-02_13:10:01
  host      : node0
  rank      : 5 (local_rank: 1)
  exitcode  : -11 (pid: 149)  (SIGSEGV)
  error_file: <N/A>
  traceback : Signal 11 (SIGSEGV) received by PID 149"""
EXAMPLES = [
    TABLE,
    "  exitcode  : -6 (pid: 149)",
    "  traceback : Signal 7 (SIGBUS) received by PID 20653",
    "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -11) local_rank: 0 (pid: 28773) of binary: python",
    "[launch.py:434:sigkill_handler] ['python', '-u', 'main.py', '--local_rank=3'] exits with return code = -11",
    "torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with signal SIGSEGV",
    "subprocess.CalledProcessError: Command '['python', 'train.py']' died with <Signals.SIGABRT: 6>.",
    "subprocess.CalledProcessError: Command '['bash', 'run.sh']' returned non-zero exit status 139.",
    "[rank: 2] Child process with PID 4711 terminated with code -11. Forcefully terminating all other processes",
    "srun: error: node01: task 2: Exited with exit code 134",
    "Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)",
    "Process finished with exit code -1073741819 (0xC0000005)",
    "mpirun noticed that process rank 1 with PID 4711 on node node1 exited on signal 11 (Segmentation fault).",
    "srun: error: node01: task 3: Segmentation fault (core dumped)",
    "srun: error: nid00036: task 1: Bus error",
    "Segmentation fault (core dumped)",
    "Aborted (core dumped)",
    "Illegal instruction",
    "train.sh: line 3: 4711 Segmentation fault      (core dumped) python train.py",
    "train.sh: line 3:  4711 Aborted                 python train.py",
    "[1]    4711 segmentation fault (core dumped)  python train.py",
    "Fatal Python error: Segmentation fault",
    "[rank3]: Fatal Python error: Bus error",
    "!!!!!!! Segfault encountered !!!!!!!",
    "*** SIGSEGV received at time=1700000000 on cpu 3 ***",
    "*** SIGSEGV (@0x0) received by PID 4711 (TID 0x7f0000000700) from PID 0; stack trace: ***",
    "[node01:4711:0:4711] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x8)",
    "[node01:04711] Signal: Segmentation fault (11)",
    "kernel: python[4711]: segfault at 8 ip 00007f00deadbeef sp 00007ffc00000000 error 4 in libtorch_cuda.so[7f0000000000+1000]",
    "traps: python[4711] general protection fault ip:7f0000000000 sp:7ffc00000000 error:0",
    "terminate called without an active exception",
    "terminate called after throwing an instance of 'c10::Error'",
    "double free or corruption (!prev)",
    "free(): invalid pointer",
    "malloc(): corrupted top size",
    "*** stack smashing detected ***: terminated",
]
NOT_THIS = [
    "RuntimeError: DataLoader worker (pid 22761) is killed by signal: Segmentation fault. ",
    "RuntimeError: DataLoader worker (pid 22761) is killed by signal: Aborted. ",
    "ERROR: Unexpected segmentation fault encountered in worker.",
    "Bus error (core dumped)",
    "  exitcode  : -9 (pid: 149)",
    "srun: error: node01: task 2: Exited with exit code 1",
    "terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  NCCL error: remote process exited",
    "Aborted!",
]
SAYS = {
    TABLE: "a worker (rank 5) crashed in native code: SIGSEGV, exit code -11",
    EXAMPLES[9]: "a worker (rank 2) on node01 crashed in native code, exit code 134",
    EXAMPLES[28]: "a worker crashed in native code: segfault, in libtorch_cuda.so",
}

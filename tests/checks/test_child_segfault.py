"""child-segfault: seen in logs, and in the kernel log."""

import pytest

from gpudoctor.facts import Host, KernelEvent, KernelLog, Limit
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("child-segfault")

TABLE = """Root Cause (first observed failure):
[0]:
  time      : 2026-10-02_13:10:01
  host      : node0
  rank      : 5 (local_rank: 1)
  exitcode  : -11 (pid: 149)  (SIGSEGV)
  error_file: <N/A>
  traceback : Signal 11 (SIGSEGV) received by PID 149"""
MESSAGE = "a worker crashed in native code: Segmentation fault"
EXAMPLES = {
    "malloc_consolidate(): invalid chunk size": "a worker crashed in native code: malloc_consolidate(): invalid",
    "corrupted double-linked list": "a worker crashed in native code: corrupted double-linked list",
    "段错误 (核心已转储)": "a worker crashed in native code: 段错误",
    "Speicherzugriffsfehler (Speicherabzug geschrieben)": "a worker crashed in native code: Speicherzugriffsfehler",
    "PIL._imaging, scipy.linalg._fblas, torch._C._sparse (total: 52)": "a worker crashed in native code",
    "ERROR:composer.cli.launcher:Rank 5 crashed with exit code -7.": "a worker (rank 5) crashed in native code, exit code -7 (SIGBUS)",
    "==== backtrace (tid:  81220) ====": "a worker crashed in native code",
    "Extension modules: numpy.random.mtrand, torch._C, torch._C._nn (total: 31)": "a worker crashed in native code",
    "After two epochs I see a segfault on every node": "a worker crashed in native code: segfault",
    "# <Signals.SIGSEGV: 11> on two nodes": "a worker crashed in native code: SIGSEGV",
    "it met a Bus error: nonexistent physical address": "a worker crashed in native code: Bus error",
    "# Core dump when two cards are used": "a worker crashed in native code: Core dump",
    "# Segmentation fault in the middle of an epoch": "a worker crashed in native code: Segmentation fault",
    "DeepSpeed ends at once: return code -11 and status 245": "a worker crashed in native code, exit code -11 (SIGSEGV)",
    "return codes: [0, -11]": "a worker crashed in native code, exit code -11 (SIGSEGV)",
    "worker 2 (pid 4711) died with exit code -11 (SIGSEGV)": "a worker (rank 2) crashed in native code, exit code -11 (SIGSEGV)",
    "Windows fatal exception: access violation": "a worker crashed in native code: Windows fatal exception",
    "Unhandled exception caught in c10/util/AbortHandler.h": "a worker crashed in native code: Unhandled exception",
    "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)": "a worker crashed in native code: Segmentation fault",
    "=   EXIT CODE: 139": "a worker crashed in native code, exit code 139 (128 + SIGSEGV)",
    "=   EXIT CODE: 11": "a worker crashed in native code",
    "Child process unexpectedly failed with exitcode=134. pid=1926765": "a worker crashed in native code, exit code 134 (128 + SIGABRT)",
    'I get a "segmentation fault error (core dumped)"': "a worker crashed in native code: segmentation fault",
    "the launcher ends with an exit code of -11": (
        "a worker crashed in native code, exit code -11 (SIGSEGV)"
    ),
    TABLE: "a worker (rank 5) crashed in native code: SIGSEGV, exit code -11",
    "  exitcode  : -6 (pid: 149)": "a worker crashed in native code, exit code -6 (SIGABRT)",
    "  traceback : Signal 7 (SIGBUS) received by PID 20653": "a worker crashed in native code: SIGBUS",
    "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -11) local_rank: 0 (pid: 28773) of binary: python": (
        "a worker (local rank 0) crashed in native code, exit code -11 (SIGSEGV)"
    ),
    "[launch.py:434:sigkill_handler] ['python', '-u', 'main.py', '--local_rank=3'] exits with return code = -11": (
        "a worker crashed in native code, exit code -11 (SIGSEGV)"
    ),
    "torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with signal SIGSEGV": (
        "a worker (rank 2) crashed in native code: SIGSEGV"
    ),
    "subprocess.CalledProcessError: Command '['python', 'train.py']' died with <Signals.SIGABRT: 6>.": (
        "a worker crashed in native code: SIGABRT"
    ),
    "subprocess.CalledProcessError: Command '['bash', 'run.sh']' returned non-zero exit status 139.": (
        "a worker crashed in native code, exit code 139 (128 + SIGSEGV)"
    ),
    "[rank: 2] Child process with PID 4711 terminated with code -11. Forcefully terminating all other processes": (
        "a worker crashed in native code, exit code -11 (SIGSEGV)"
    ),
    "srun: error: node01: task 2: Exited with exit code 134": (
        "a worker (rank 2) on node01 crashed in native code, exit code 134 (128 + SIGABRT)"
    ),
    "Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)": (
        "a worker crashed in native code, exit code 139 (128 + SIGSEGV)"
    ),
    "Process finished with exit code -1073741795 (0xC000001D)": "a worker crashed in native code, exit code -1073741795",
    "Process finished with exit code -1073740791 (0xC0000409)": "a worker crashed in native code, exit code -1073740791",
    "Process finished with exit code -1073741819 (0xC0000005)": (
        "a worker crashed in native code, exit code -1073741819"
    ),
    "mpirun noticed that process rank 1 with PID 4711 on node node1 exited on signal 11 (Segmentation fault).": MESSAGE,
    "srun: error: node01: task 3: Segmentation fault (core dumped)": (
        "a worker (rank 3) on node01 crashed in native code: Segmentation fault"
    ),
    "srun: error: nid00036: task 1: Bus error": (
        "a worker (rank 1) on nid00036 crashed in native code: Bus error"
    ),
    "Segmentation fault (core dumped)": MESSAGE,
    "Aborted (core dumped)": "a worker crashed in native code: Aborted",
    "Illegal instruction": "a worker crashed in native code: Illegal instruction",
    "train.sh: line 3: 4711 Segmentation fault      (core dumped) python train.py": MESSAGE,
    "train.sh: line 3:  4711 Aborted                 python train.py": (
        "a worker crashed in native code: Aborted"
    ),
    "[1]    4711 segmentation fault (core dumped)  python train.py": (
        "a worker crashed in native code: segmentation fault"
    ),
    "Fatal Python error: Segmentation fault": MESSAGE,
    "[rank3]: Fatal Python error: Bus error": "a worker crashed in native code: Bus error",
    "!!!!!!! Segfault encountered !!!!!!!": "a worker crashed in native code: Segfault",
    "*** SIGSEGV received at time=1700000000 on cpu 3 ***": "a worker crashed in native code: SIGSEGV",
    "*** SIGSEGV (@0x0) received by PID 4711 (TID 0x7f0000000700) from PID 0; stack trace: ***": (
        "a worker crashed in native code: SIGSEGV"
    ),
    "[node01:4711:0:4711] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x8)": MESSAGE,
    "[node01:04711] Signal: Segmentation fault (11)": MESSAGE,
    "kernel: python[4711]: segfault at 8 ip 00007f00deadbeef sp 00007ffc00000000 error 4 in libtorch_cuda.so[7f0000000000+1000]": (
        "a worker crashed in native code: segfault, in libtorch_cuda.so"
    ),
    "traps: python[4711] general protection fault ip:7f0000000000 sp:7ffc00000000 error:0": (
        "a worker crashed in native code: general protection"
    ),
    "terminate called without an active exception": (
        "a worker crashed in native code: terminate called without an active exception"
    ),
    "terminate called after throwing an instance of 'c10::Error'": (
        "a worker crashed in native code: terminate called after throwing an instance of"
    ),
    "double free or corruption (!prev)": "a worker crashed in native code: double free or corruption",
    "free(): invalid pointer": "a worker crashed in native code: free(): invalid",
    "malloc(): corrupted top size": "a worker crashed in native code: malloc(): corrupted",
    "*** stack smashing detected ***: terminated": (
        "a worker crashed in native code: stack smashing detected"
    ),
    'Thread 1 "python" received signal SIGSEGV, Segmentation fault.': (
        "a worker crashed in native code: SIGSEGV"
    ),
    "zsh: segmentation fault  python3 fit.py": "a worker crashed in native code: segmentation fault",
    "# [BUG] It ends with return code=-7": "a worker crashed in native code, exit code -7 (SIGBUS)",
    "the training process finished with status code 3221225477": "a worker crashed in native code, exit code 3221225477",
}
NOT_THIS = [
    "<Signals.SIGUSR1: 10>",
    "core dumps are written to /var/crash",
    "# the patch below fixes it\nsegmentation of faulty cells",
    "return codes: [0, 1]",
    "worker 2 (pid 4711) exited with code 1",
    "=   EXIT CODE: 9",
    "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Terminated (signal 15)",
    "terminate called without an active exception\nException ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f71bd0233a0>",
    "RuntimeError: DataLoader worker (pid 22761) is killed by signal: Segmentation fault. ",
    "RuntimeError: DataLoader worker (pid 22761) is killed by signal: Aborted. ",
    "ERROR: Unexpected segmentation fault encountered in worker.",
    "Bus error (core dumped)",
    "  exitcode  : -9 (pid: 149)",
    "srun: error: node01: task 2: Exited with exit code 1",
    "terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  NCCL error: remote process exited",
    "Aborted!",
]


def logged(library: str) -> Snapshot:
    text = f"pt_main_thread[25]: segfault at 7f ip 00 sp 00 error 4 in {library}[7f+d3]"
    event = KernelEvent(kind="segfault", text=text, process="pt_main_thread", count=2)
    return Snapshot({"kernel_log": KernelLog(source="/dev/kmsg", events=[event])})


@pytest.mark.parametrize(
    ("file", "library"),
    [
        ("libnccl.so.2", "libnccl"),
        ("libtorch_cuda.so", "libtorch_cuda"),
        ("libcudnn_cnn_infer.so.8", "libcudnn_cnn_infer"),
        ("libmlx5.so.1.24", "libmlx5"),
    ],
)
def test_a_crash_inside_a_library_that_trains_is_a_note(file, library):
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, logged(file))
    assert finding.severity is Severity.NOTE
    assert finding.message.startswith(f"a process (pt_main_thread) crashed inside {library}, 2 times")


def test_a_crash_of_somebody_elses():
    assert examine(CHECK, Source.ENVIRONMENT, logged("libc.so.6"))[1] == []


@pytest.mark.parametrize(
    ("host", "told"),
    [
        (Host(limits={"core": Limit(soft=0, hard=None)}, core_pattern="core"), True),
        (
            Host(limits={"core": Limit(soft=0, hard=None)}, core_pattern="|/lib/systemd/systemd-coredump"),
            False,
        ),
        (Host(limits={"core": Limit()}, core_pattern="core"), False),
        (Host(), False),
    ],
)
def test_a_crash_that_left_no_core_file(host, told):
    facts = Snapshot({**logged("libcuda.so.1").facts, "host": host})
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, facts)
    assert ("the limit for core dumps is 0" in finding.message) is told
    assert any(fix.command == "ulimit -c unlimited" for fix in finding.fixes) is told


def test_a_crash_elsewhere_says_nothing_of_the_gpus():
    assert examine(CHECK, Source.ENVIRONMENT, logged("foreign.so"))[0].status is CheckStatus.PASSED


def test_a_log_that_may_not_be_read_is_not_clean():
    assert examine(CHECK, Source.ENVIRONMENT, Snapshot())[0].status is CheckStatus.UNKNOWN

"""dataloader-worker-killed: seen in logs."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Role
from gpudoctor.registry import Registry

CHECK = Registry().check("dataloader-worker-killed")
TERMINATED = "RuntimeError: DataLoader worker (pid 7) is killed by signal: Terminated. "
PIN_MEMORY = "RuntimeError: Pin memory thread exited unexpectedly"
EXAMPLES = {
    '  File "/env/lib/torch/utils/data/_utils/signal_handling.py", line 73, in handler': (
        "a worker process died, and its own error shows with num_workers=0"
    ),
    "raise RuntimeError('DataLoader worker (pid(s) {}) exited unexpectedly'.format(pids_str))": "a worker process died, and its own error shows with num_workers=0",
    "DataLoader process (pid 3063) exited is killed by signal: Killed": "worker process 3063 was killed (SIGKILL), mostly by the kernel because memory ran out",
    "RuntimeError: DataLoader worker (pid 19597) is killed by signal: Killed. ": (
        "worker process 19597 was killed (SIGKILL), mostly by the kernel because memory ran out"
    ),
    "[rank1]: RuntimeError: DataLoader worker (pid(s) 123, 456) exited unexpectedly": (
        "worker process 123, 456 died, and its own error shows with num_workers=0"
    ),
    "RuntimeError: DataLoader worker (pid 7) exited unexpectedly with exit code 1. Details are lost due to multiprocessing.": (
        "worker process 7 died with exit code 1, and its own error shows with num_workers=0"
    ),
    "RuntimeError: DataLoader worker (pid 8) is killed by": (
        "worker process 8 died, and its own error shows with num_workers=0"
    ),
    "RuntimeError: DataLoader worker (pid 7) is killed by unknown signal": (
        "worker process 7 died, and its own error shows with num_workers=0"
    ),
    "RuntimeError: DataLoader worker (pid 7) is killed by signal: Segmentation fault. ": (
        "worker process 7 crashed in native code: segmentation fault"
    ),
    "ERROR: Unexpected segmentation fault encountered in worker.": (
        "a worker process crashed in native code: segmentation fault"
    ),
    "ERROR: Unexpected floating-point exception encountered in worker.": (
        "a worker process crashed in native code: floating-point exception"
    ),
    "When I run the code, it seems that the data loader worker is killed after a while. Is there a leak?": (
        "a worker process was killed (SIGKILL), mostly by the kernel because memory ran out"
    ),
    TERMINATED: (
        "worker process 7 was told to end (SIGTERM): the launcher or the scheduler was ending the job"
    ),
    PIN_MEMORY: "the thread that copies batches into pinned memory died, and its exception is above",
    "RuntimeError: DataLoader timed out after 120 seconds": (
        "no worker gave a batch within 120 seconds: they hang, or the storage is too slow"
    ),
    (
        '  File "/opt/venv/lib/python3.11/site-packages/torch/multiprocessing/reductions.py", line 543, in rebuild_storage_fd\n'
        "    fd = df.detach()\n"
        "ConnectionResetError: [Errno 104] Connection reset by peer"
    ): (
        "a worker process was gone before its tensor could be fetched (ConnectionResetError): it died, or had ended"
    ),
    "RuntimeError: DataLoader Worker (pid(s) 77) quit unexpectedly": "worker process 77 died, and its own error shows with num_workers=0",
}
NOT_THIS = [
    "RuntimeError: DataLoader worker (pid 19597) is killed by signal: Bus error. It is possible that dataloader's",
    "FileNotFoundError: Caught FileNotFoundError in DataLoader worker process 1.",
    "RuntimeError: received 0 items of ancdata",
    "ConnectionResetError: [Errno 104] Connection reset by peer",
    "UserWarning: This DataLoader will create 16 worker processes in total.",
]


def test_a_worker_that_was_told_to_end_is_no_cause():
    assert matches(TERMINATED, [CHECK])[0].finding.role is Role.CONSEQUENCE
    assert matches(PIN_MEMORY, [CHECK])[0].finding.role is Role.CAUSE


def test_a_worker_that_died_of_its_own_exception_has_it_quoted():
    text = (
        "Traceback (most recent call last):\n"
        '  File "<string>", line 1, in <module>\n'
        '  File "/usr/lib/python3.11/multiprocessing/spawn.py", line 122, in spawn_main\n'
        "    exitcode = _main(fd, parent_sentinel)\n"
        "ImportError: cannot import name 'randbits' from 'secrets' (/home/me/secrets.py)\n"
        "RuntimeError: DataLoader worker (pid(s) 123) exited unexpectedly"
    )
    (seen,) = matches(text, [CHECK])
    assert seen.finding.message == (
        "worker process 123 died of an exception of its own: ImportError: cannot import name 'randbits' from 'secrets' "
        "(/home/me/secrets.py)"
    )

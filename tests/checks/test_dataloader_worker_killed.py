"""dataloader-worker-killed: seen in logs."""

import pytest

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Role
from gpudoctor.registry import Registry

CHECK = Registry().check("dataloader-worker-killed")
EXAMPLES = [
    "RuntimeError: DataLoader worker (pid 19597) is killed by signal: Killed. ",
    "[rank1]: RuntimeError: DataLoader worker (pid(s) 123, 456) exited unexpectedly",
    "RuntimeError: DataLoader worker (pid 7) exited unexpectedly with exit code 1. Details are lost due to multiprocessing.",
    "RuntimeError: DataLoader worker (pid 7) is killed by unknown signal",
    "RuntimeError: DataLoader worker (pid 7) is killed by signal: Segmentation fault. ",
    "ERROR: Unexpected segmentation fault encountered in worker.",
    "ERROR: Unexpected floating-point exception encountered in worker.",
    "RuntimeError: DataLoader worker (pid 7) is killed by signal: Terminated. ",
    "RuntimeError: Pin memory thread exited unexpectedly",
    "RuntimeError: DataLoader timed out after 120 seconds",
]
NOT_THIS = [
    "RuntimeError: DataLoader worker (pid 19597) is killed by signal: Bus error. It is possible that dataloader's",
    "FileNotFoundError: Caught FileNotFoundError in DataLoader worker process 1.",
    "RuntimeError: received 0 items of ancdata",
    "UserWarning: This DataLoader will create 16 worker processes in total.",
]


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (0, "worker process 19597 was killed (SIGKILL), mostly by the kernel because memory ran out"),
        (1, "worker process 123, 456 died, and its own error shows with num_workers=0"),
        (2, "worker process 7 died with exit code 1, and its own error shows with num_workers=0"),
        (4, "worker process 7 crashed in native code: segmentation fault"),
        (6, "a worker process crashed in native code: floating-point exception"),
        (9, "no worker gave a batch within 120 seconds: they hang, or the storage is too slow"),
    ],
)
def test_the_signal_tells_the_reason(number, message):
    assert matches(EXAMPLES[number], [CHECK])[0].finding.message == message


def test_a_worker_that_was_told_to_end_is_no_cause():
    assert matches(EXAMPLES[7], [CHECK])[0].finding.role is Role.CONSEQUENCE
    assert matches(EXAMPLES[8], [CHECK])[0].finding.role is Role.CAUSE

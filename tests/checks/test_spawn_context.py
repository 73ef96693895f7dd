"""spawn-context: seen in logs."""

import pytest

from gpudoctor import explain

EXAMPLES = {
    "RuntimeError: context has already been set": (
        "a process cannot be started in this way: context has already been set"
    ),
    "AssertionError: daemonic processes are not allowed to have children": (
        "a process cannot be started in this way: daemonic processes are not allowed to have children"
    ),
}
NOT_THIS = [
    # a child that imports the main file comes to the line once more
    '  File "/usr/lib/python3.11/multiprocessing/spawn.py", line 297, in _fixup_main_from_path\nRuntimeError: context has already been set',
    "RuntimeError: Cannot re-initialize CUDA in forked subprocess",
    "The context of the trace has been set",
]


@pytest.mark.parametrize(
    ("who", "first"),
    [
        (
            'Process SpawnProcess-1:\n  File "train.py", line 9, in start\n',
            "What starts processes of its own",
        ),
        (
            '  File "/usr/lib/python3.12/multiprocessing/pool.py", line 125, in worker\n',
            "Load the data without workers",
        ),
    ],
)
def test_the_first_fix_is_for_the_daemon_that_shows(who, first):
    error = "AssertionError: daemonic processes are not allowed to have children"
    (finding,) = explain(f"Traceback (most recent call last):\n{who}{error}").findings
    assert finding.fixes[0].summary.startswith(first)

"""spawn-context: seen in logs."""

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

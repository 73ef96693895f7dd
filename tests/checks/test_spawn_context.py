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
    "RuntimeError: Cannot re-initialize CUDA in forked subprocess",
    "The context of the trace has been set",
]

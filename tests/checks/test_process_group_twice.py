"""process-group-twice: seen in logs."""

MESSAGE = "the process group was there already when this process asked for it again: two places of the program make it"
EXAMPLES = {
    "[rank1]: ValueError: trying to initialize the default process group twice!": MESSAGE,
    "RuntimeError: trying to initialize the default process group twice!": MESSAGE,
    "AssertionError: tensor model parallel group is already initialized": MESSAGE,
    "ValueError: AcceleratorState has already been initialized and cannot be changed, restart your runtime completely": MESSAGE,
}
NOT_THIS = [
    "ValueError: Default process group has not been initialized, please make sure to call init_process_group.",
    "[comm.py:677:init_distributed] Distributed backend already initialized",
    "torch distributed is already initialized, skipping initialization ...",
]

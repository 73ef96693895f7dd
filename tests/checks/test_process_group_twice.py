"""process-group-twice: seen in logs."""

EXAMPLES = [
    "[rank1]: ValueError: trying to initialize the default process group twice!",
    "RuntimeError: trying to initialize the default process group twice!",
    "AssertionError: tensor model parallel group is already initialized",
    "ValueError: AcceleratorState has already been initialized and cannot be changed, restart your runtime completely",
]
NOT_THIS = [
    "ValueError: Default process group has not been initialized, please make sure to call init_process_group.",
    "[comm.py:677:init_distributed] Distributed backend already initialized",
    "torch distributed is already initialized, skipping initialization ...",
]

"""process-group-uninitialized: seen in logs."""

MESSAGE = "torch.distributed was used before init_process_group ran in this process, or after the group was destroyed"
EXAMPLES = {
    "ValueError: Default process group has not been initialized, please make sure to call init_process_group.": MESSAGE,
    "[rank0]: RuntimeError: Default process group has not been initialized, please make sure to call init_process_group.": MESSAGE,
    "AssertionError: Default process group is not initialized": MESSAGE,
    "ValueError: Process group 5 is not initialized in the world group map. Please initialize the group first.": MESSAGE,
    "RuntimeError: The given group does not exist": MESSAGE,
    "ValueError: Invalid process group specified": MESSAGE,
    "AssertionError: Process group cannot be None": MESSAGE,
    "RuntimeError: DeviceMesh process groups not initialized!": MESSAGE,
    "AssertionError: DeepSpeed backend not set, please initialize it using init_process_group()": MESSAGE,
    "AssertionError: tensor model parallel group is not initialized": MESSAGE,
    'RuntimeError: Need to initialize default process group using "init_process_group" before loading ShardedTensor': MESSAGE,
}
NOT_THIS = [
    "ValueError: trying to initialize the default process group twice!",
    "ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable RANK expected, but not set",
    "RuntimeError: RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.",
    "WARNING: process group has NOT been destroyed before we destruct ProcessGroupNCCL.",
    "Distributed environment not initialized. Running in single process mode.",
]

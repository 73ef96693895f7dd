"""distributed-not-built: seen in logs."""

EXAMPLES = [
    "AttributeError: module 'torch.distributed' has no attribute 'init_process_group'",
    "AttributeError: module 'torch.distributed' has no attribute 'ReduceOp'",
    (
        "ImportError: cannot import name 'ProcessGroup' from 'torch.distributed' (/opt/env/lib/python3.10/site-packages/"
        "torch/distributed/__init__.py)"
    ),
    "ModuleNotFoundError: No module named 'torch._C._distributed_c10d'; 'torch._C' is not a package",
    "AttributeError: module 'torch._C' has no attribute '_c10d_init'",
    "RuntimeError: Requires distributed package to be available",
    "RuntimeError: Distributed package is not available",
    "RuntimeError: torch.distributed is not available. Cannot initialize distributed process group",
    (
        "RuntimeError: Distributed package doesn't have MPI built in. MPI is only included if you build PyTorch from source "
        "on a host that has MPI installed."
    ),
]
NOT_THIS = [
    "RuntimeError: Distributed package doesn't have NCCL built in",
    "AttributeError: module 'torch.distributed' has no attribute 'all_gather_into_tensor'",
    "AttributeError: module 'torch.distributed' has no attribute '_all_gather_base'",
    "ImportError: cannot import name 'Backend' from 'torch.distributed.rpc'",
    "RuntimeError: Default process group has not been initialized, please make sure to call init_process_group.",
    "AttributeError: module 'torch' has no attribute 'distributed'",
]
SAYS = {
    EXAMPLES[
        0
    ]: "this build of torch lacks init_process_group, and with it torch.distributed: no process group can be "
    "made with it",
    EXAMPLES[
        8
    ]: "this build of torch lacks the backend MPI of torch.distributed: no process group can be made with it",
    EXAMPLES[5]: "this build of torch lacks torch.distributed: no process group can be made with it",
}

"""distributed-not-built: seen in logs."""

MESSAGE = "this build of torch lacks torch.distributed: no process group can be made with it"
EXAMPLES = {
    "AttributeError: module 'torch.distributed' has no attribute 'init_process_group'": (
        "this build of torch lacks init_process_group, and with it torch.distributed: no process group can be "
        "made with it"
    ),
    "AttributeError: module 'torch.distributed' has no attribute 'ReduceOp'": (
        "this build of torch lacks ReduceOp, and with it torch.distributed: no process group can be made with "
        "it"
    ),
    (
        "ImportError: cannot import name 'ProcessGroup' from 'torch.distributed' (/opt/env/lib/python3.10/site-packages/"
        "torch/distributed/__init__.py)"
    ): (
        "this build of torch lacks ProcessGroup, and with it torch.distributed: no process group can be made "
        "with it"
    ),
    "ModuleNotFoundError: No module named 'torch._C._distributed_c10d'; 'torch._C' is not a package": (
        "this build of torch lacks torch._C._distributed_c10d, and with it torch.distributed: no process group "
        "can be made with it"
    ),
    "AttributeError: module 'torch._C' has no attribute '_c10d_init'": (
        "this build of torch lacks _c10d_init, and with it torch.distributed: no process group can be made "
        "with it"
    ),
    "RuntimeError: Requires distributed package to be available": MESSAGE,
    "RuntimeError: Distributed package is not available": MESSAGE,
    "RuntimeError: torch.distributed is not available. Cannot initialize distributed process group": MESSAGE,
    (
        "RuntimeError: Distributed package doesn't have MPI built in. MPI is only included if you build PyTorch from source "
        "on a host that has MPI installed."
    ): (
        "this build of torch lacks the backend MPI of torch.distributed: no process group can be made with it"
    ),
}
NOT_THIS = [
    "RuntimeError: Distributed package doesn't have NCCL built in",
    "AttributeError: module 'torch.distributed' has no attribute 'all_gather_into_tensor'",
    "AttributeError: module 'torch.distributed' has no attribute '_all_gather_base'",
    "ImportError: cannot import name 'Backend' from 'torch.distributed.rpc'",
    "RuntimeError: Default process group has not been initialized, please make sure to call init_process_group.",
    "AttributeError: module 'torch' has no attribute 'distributed'",
]

"""distributed-not-built: seen in logs."""

from gpudoctor.facts import Gpu, Gpus, Launch, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("distributed-not-built")
MESSAGE = "this build of torch lacks torch.distributed: no process group can be made with it"
EXAMPLES = {
    "RuntimeError: No rendezvous handler for env://": "this build of torch lacks the rendezvous by env:// (for Windows it came with torch 1.8) of torch.distributed: no process group can be made with it",
    "RuntimeError: No rendezvous handler for tcp://": "this build of torch lacks the rendezvous by tcp:// (for Windows it came with torch 1.8) of torch.distributed: no process group can be made with it",
    "    from torch.distributed import all_reduce, reduce_op\nImportError: cannot import name 'all_reduce'": (
        "this build of torch lacks all_reduce, and with it torch.distributed: no process group can be made with it"
    ),
    "ImportError: cannot import name 'FileStore'": (
        "this build of torch lacks FileStore, and with it torch.distributed: no process group can be made with it"
    ),
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
    "RuntimeError: Torch distributed is not available.": (
        "this build of torch lacks torch.distributed: no process group can be made with it"
    ),
    "RuntimeError: With more ranks ``torch.distributed`` must be used. However, it is not available in your installation of PyTorch.": (
        "this build of torch lacks torch.distributed: no process group can be made with it"
    ),
    "ValueError: Training on several XPUs requires XCCL, which is not available in this PyTorch build.": (
        "this build of torch lacks the backend XCCL of torch.distributed: no process group can be made with it"
    ),
}
NOT_THIS = [
    'raise RuntimeError("No rendezvous handler for {}://".format(result.scheme))',
    "ImportError: cannot import name 'all_reduce'",
    "ImportError: cannot import name 'FileStore' from 'django.files'",
    "RuntimeError: Distributed package doesn't have NCCL built in",
    "AttributeError: module 'torch.distributed' has no attribute 'all_gather_into_tensor'",
    "AttributeError: module 'torch.distributed' has no attribute '_all_gather_base'",
    "ImportError: cannot import name 'Backend' from 'torch.distributed.rpc'",
    "RuntimeError: Default process group has not been initialized, please make sure to call init_process_group.",
    "AttributeError: module 'torch' has no attribute 'distributed'",
]


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


WITHOUT = Torch(imported=True, version="2.4.0a0", cuda="12.6", distributed_available=False)


def test_it_matters_where_several_gpus_or_ranks_are():
    for facts in (
        {"gpus": Gpus(devices=[Gpu(index=0), Gpu(index=1)])},
        {"launch": Launch(variables={"WORLD_SIZE": "2"})},
    ):
        _, [finding] = run(torch=WITHOUT, **facts)
        assert finding.severity is Severity.ERROR
        assert "torch 2.4.0a0 was built without torch.distributed" in finding.message


def test_on_one_gpu_it_is_a_note():
    _, [finding] = run(torch=WITHOUT, gpus=Gpus(devices=[Gpu(index=0)]))
    assert finding.severity is Severity.NOTE


def test_environment_passed():
    result, found = run(torch=Torch(imported=True, version="2.15.0", distributed_available=True))
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_environment_unknown():
    assert run(torch=Torch(imported=False))[0].status is CheckStatus.UNKNOWN
    assert run(torch=Torch(imported=True, version="2.15.0"))[0].status is CheckStatus.UNKNOWN

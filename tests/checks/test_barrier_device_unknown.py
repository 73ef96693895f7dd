"""barrier-device-unknown: seen in logs."""

MESSAGE = (
    "the process group was not told which GPU is its own; a wrong guess hangs, or puts two ranks on one GPU"
)
EXAMPLES = {
    (
        "[W ProcessGroupNCCL.cpp:1569] Rank 0 using best-guess GPU 0 to perform barrier as devices used by this process are "
        "currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect.Specify device_ids in "
        "barrier() to force use of a particular device."
    ): (
        "the process group was not told which GPU is its own, so rank 0 took GPU 0; a wrong guess hangs, or "
        "puts two ranks on one GPU"
    ),
    (
        "[rank2]:[W114 23:19:56.289295099 ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0 Rank 2]  using GPU 2 to perform barrier "
        "as devices used by this process are currently unknown. This can potentially cause a hang"
    ): (
        "the process group was not told which GPU is its own, so rank 2 took GPU 2; a wrong guess hangs, or "
        "puts two ranks on one GPU"
    ),
    (
        "[rank1]:[W1120 12:00:01.123 ProcessGroupNCCL.cpp:4715] [PG ID 0 PG GUID 0 Rank 1]  using GPU 1 as device used by this "
        "process is currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect. You can "
        "pecify device_id in init_process_group() to force use of a particular device."
    ): (
        "the process group was not told which GPU is its own, so rank 1 took GPU 1; a wrong guess hangs, or "
        "puts two ranks on one GPU"
    ),
    (
        "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py:4807: UserWarning: No device id is provided "
        "via `init_process_group` or `barrier `. Using the current device set by the user. "
    ): MESSAGE,
    (
        "UserWarning: barrier(): using the device under current context. You can specify `device_id` in `init_process_group` to "
        "mute this warning."
    ): MESSAGE,
    "RuntimeError: Failed to infer a GPU device id to perform barrier. ": MESSAGE,
}
NOT_THIS = [
    (
        "[rank0]:[W1120 12:00:01 ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has NOT been destroyed before we "
        "destruct ProcessGroupNCCL."
    ),
    "Added key: store_based_barrier_key:1 to store for rank: 0",
    "Rank 0 using GPU 0",
]

FLAGGED = [
    """
import os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from settings import read

cfg = read("train.yaml")
gpu = int(os.environ["LOCAL_RANK"])
dist.init_process_group(backend=cfg["backend"])
dist.barrier()  # <-
model = DistributedDataParallel(cfg.net.to(gpu), device_ids=[gpu])
""",
    (
        "torchrun.py",
        {
            "    torch.cuda.set_device(local_rank)\n": "",
            "def load(rank):": "def load(rank):\n    # which GPU?",
            "    dist.barrier()\n    return": "    dist.barrier()  # <-\n    return",
        },
    ),
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

dist.init_process_group(backend="nccl")
rank = dist.get_rank()
model = nn.Linear(2, 2).to(rank % torch.cuda.device_count())
dist.barrier()  # <-
dist.destroy_process_group()
""",
]
FINE = [
    """
import os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from settings import read

cfg = read("train.yaml")
dist.init_process_group(backend=cfg["backend"])
dist.barrier()
model = DistributedDataParallel(cfg.net)
""",
    (
        "torchrun.py",
        {
            "    torch.cuda.set_device(local_rank)\n": "",
            'init_process_group("nccl")': 'init_process_group("nccl", device_id=torch.device("cuda", local_rank))',
        },
    ),
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

dist.init_process_group(backend="gloo")
dist.barrier()
dist.destroy_process_group()
""",
]

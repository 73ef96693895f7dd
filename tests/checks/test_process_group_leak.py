"""process-group-leak: seen in logs."""

MESSAGE = (
    "the process group was not destroyed before the program ended; harmless where the run had finished, and a "
    "consequence where it had failed"
)
EXAMPLES = {
    (
        "[rank0]:[W1120 12:00:00.123456789 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called "
        "before program exit, which can leak resources. For more info, please see "
        "https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())"
    ): MESSAGE,
    (
        "[rank3]:[W227 10:54:51.986 ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has NOT been destroyed before we "
        "destruct ProcessGroupNCCL. On normal program exit, the application should call destroy_process_group"
    ): MESSAGE,
    (
        "[W ProcessGroupNCCL.cpp:1013] WARNING: process group has NOT been destroyed before it is being destructed. On normal "
        "program exit, the application should call destroy_process_group to ensure that any pending NCCL data transfers"
    ): MESSAGE,
    (
        "WARNING: NCCL communicator hasn't been destroyed. This may cause memory leaks. To avoid the risk, you can call "
        "`destroy_process_group` during normal exit or `_abort_process_group` when handling failures."
    ): MESSAGE,
}
NOT_THIS = [
    "resource_tracker: There appear to be 6 leaked semaphore objects to clean up at shutdown",
    "    dist.destroy_process_group()",
    "RuntimeError: Default process group has not been initialized, please make sure to call init_process_group.",
]

FLAGGED = [
    """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

mesh = init_device_mesh("cuda", (2,))  # <-
model = fully_shard(model, mesh=mesh)
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Trainer:
    def start(self):
        dist.init_process_group("gloo")  # <-

    def train(self, model, loader):
        self.model = DistributedDataParallel(model)
        for epoch in range(3):
            for x, y in loader:
                self.model(x).sum().backward()
""",
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

dist.init_process_group("gloo")  # <-
dist.barrier()
""",
    (
        "torchrun.py",
        {
            "    dist.destroy_process_group()\n": "",
            'dist.init_process_group("nccl")': 'dist.init_process_group("nccl")  # <-',
        },
    ),
]
FINE = [
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

def cleanup():
    dist.destroy_process_group()

dist.init_process_group("gloo")
cleanup()
""",
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

def setup():
    dist.init_process_group("gloo")
""",
]

"""backend-device-mismatch: seen in logs."""

MESSAGE = (
    "the process group's backend cannot do this; the tensor must be on a device, of a type and for a call that the "
    "backend knows"
)
EXAMPLES = {
    "RuntimeError: monitored_barrier is only implemented for GLOO backend.": (
        "the process group's backend cannot do this: monitored_barrier; the tensor must be on a device, of a type and for a call that the backend knows"
    ),
    "[rank0]: RuntimeError: No backend type associated with device type cpu": (
        "the process group's backend cannot do this on device cpu; the tensor must be on a device, of a type "
        "and for a call that the backend knows"
    ),
    "ValueError: Default backend not registered for device : cpu": (
        "the process group's backend cannot do this on device cpu; the tensor must be on a device, of a type "
        "and for a call that the backend knows"
    ),
    "RuntimeError: NCCL only supports CUDA tensors, but got a tensor on cpu": (
        "the process group's backend cannot do this on device cpu; the tensor must be on a device, of a type "
        "and for a call that the backend knows"
    ),
    "ValueError: Attempt to perform collective on tensor not on device passed to init_process_group": MESSAGE,
    "RuntimeError: Tensors must be CUDA and dense": MESSAGE,
    "RuntimeError: ProcessGroupNCCL requires CUDA tensors/devices": MESSAGE,
    (
        '  File "/opt/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 3100, in broadcast\n'
        "ValueError: Tensors must be contiguous"
    ): (
        "the process group's backend cannot do this: the tensor is not contiguous, as one that was transposed, sliced or expanded; "
        "the tensor must be on a device, of a type and for a call that the backend knows"
    ),
    "RuntimeError: ProcessGroupGloo::allreduce: unsupported layout": (
        "the process group's backend Gloo cannot do this: allreduce; the tensor must be on a device, of a type "
        "and for a call that the backend knows"
    ),
    "RuntimeError: NCCL does not support all_reduce with sparse tensors. Please use dense tensors instead.": (
        "the process group's backend cannot do this: all_reduce; the tensor must be on a device, of a type and "
        "for a call that the backend knows"
    ),
    "RuntimeError: ProcessGroupNCCL does not support gather": (
        "the process group's backend NCCL cannot do this: gather; the tensor must be on a device, of a type "
        "and for a call that the backend knows"
    ),
    "RuntimeError: Backend nccl does not support reduce_scatter": (
        "the process group's backend nccl cannot do this: reduce_scatter; the tensor must be on a device, of a "
        "type and for a call that the backend knows"
    ),
    "RuntimeError: ProcessGroup nccl does not support monitoredBarrier, only GLOO supports monitored barrier.": (
        "the process group's backend nccl cannot do this: monitoredBarrier; the tensor must be on a device, of "
        "a type and for a call that the backend knows"
    ),
    "RuntimeError: Cannot use ReduceOp.AVG with Gloo": (
        "the process group's backend Gloo cannot do this: AVG; the tensor must be on a device, of a type and "
        "for a call that the backend knows"
    ),
    "TypeError: Input tensor data type is not supported for NCCL process group: ComplexHalf": (
        "the process group's backend NCCL cannot do this with type ComplexHalf; the tensor must be on a "
        "device, of a type and for a call that the backend knows"
    ),
    "RuntimeError: Unconvertible NCCL type Short": (
        "the process group's backend NCCL cannot do this with type Short; the tensor must be on a device, of a "
        "type and for a call that the backend knows"
    ),
    (
        '  File "/opt/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 2500, in all_reduce\n'
        "    work = group.allreduce([tensor], opts)\n"
        "RuntimeError: Invalid scalar type"
    ): MESSAGE,
    "RuntimeError: Function argument device_ids not supported for the selected backend gloo": (
        "the process group's backend gloo cannot do this; the tensor must be on a device, of a type and for a "
        "call that the backend knows"
    ),
    "RuntimeError: ProcessGroupNCCL only supports CUDA tensors": "the process group's backend cannot do this; the tensor must be on a device, of a type and for a call that the backend knows",
    "RuntimeError: Tensors must be contiguous": "the process group's backend cannot do this: the tensor is not contiguous, as one that was transposed, sliced or expanded; the tensor must be on a device, of a type and for a call that the backend knows",
}
NOT_THIS = [
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    (
        "RuntimeError: module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them "
        "on device: cpu"
    ),
    "RuntimeError: Invalid scalar type",
    "RuntimeError: Adam does not support sparse gradients",
    "ValueError: Backend agg does not support interactive mode",
]
REST = "; the tensor must be on a device, of a type and for a call that the backend knows"

FLAGGED = [
    """
import torch
import torch.distributed as dist
from parts import mean_loss

backend = "nccl" if torch.cuda.is_available() else "gloo"
dist.init_process_group(backend)
if torch.cuda.is_available():
    torch.cuda.set_device(dist.get_node_local_rank())
loss = torch.tensor(mean_loss())
dist.all_reduce(loss)  # <-
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

class Augmented(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x.flip(-1))

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
augmented = Augmented(torch.nn.Linear(2, 2))
D = DDP(augmented, device_ids=[rank])  # <-
D(torch.rand(2, 2).cuda()).sum().backward()
""",
    """
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
found = torch.ones(2, device="cuda").argmax().cpu()
every = [torch.zeros_like(found) for _ in range(dist.get_world_size())]
dist.all_gather(every, found)  # <-
""",
    """
import os

import numpy
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
scores = torch.from_numpy(numpy.zeros(4)).float()
found = [torch.zeros_like(scores) for _ in range(dist.get_world_size())]
dist.all_gather(found, scores)  # <-
""",
    """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)

def train(rank, size):
    dist.init_process_group("nccl", init_method="file:///tmp/store", rank=rank, world_size=size)
    model = Net()
    model = DDP(model)  # <-
    model(torch.zeros(2)).sum().backward()
    dist.destroy_process_group()
""",
    (
        "torchrun.py",
        {
            "mean = loss.detach().clone()": "mean = torch.tensor([1.0])",
            "        dist.all_reduce(mean)": "        dist.all_reduce(mean)  # <-",
        },
    ),
    (
        "slurm.py",
        {
            "counts = torch.zeros(2, device=device)": "counts = torch.zeros(2)",
            "    dist.all_reduce(counts)": "    dist.all_reduce(counts)  # <-",
            "counts[0] += (model": "hits = (model",
            "        counts[1] += len(y)\n": "        pass\n",
        },
    ),
]
FINE = [
    """
import torch
import torch.distributed as dist
from parts import mean_loss

backend = "nccl" if torch.cuda.is_available() else "gloo"
dist.init_process_group(backend)
loss = torch.tensor(mean_loss())
if backend == "gloo":
    dist.all_reduce(loss)
""",
    """
import torch
import torch.distributed as dist
from parts import mean_loss

use_cuda = torch.cuda.is_available()
dist.init_process_group("nccl" if use_cuda else "gloo")
loss = torch.tensor(mean_loss())
if use_cuda:
    loss = loss.cuda(dist.get_node_local_rank())
dist.all_reduce(loss)
""",
    """
import torch

class Trainer:
    def __init__(self, model, args):
        self.model, self.args = model.to(args.device), args

    def setup(self):
        torch.distributed.init_process_group(backend="nccl")
        return torch.device("cuda", self.args.local_rank)

    def train(self, loader):
        model = self.model
        if self.args.n_gpu > 1:
            model = torch.nn.DataParallel(model)
        if self.args.local_rank != -1:
            model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[self.args.local_rank])
        for batch in loader:
            model(batch).backward()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

class Augmented(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x.flip(-1))

class Pair(torch.nn.Module):
    def __init__(self, rank):
        super().__init__()
        self.D = torch.nn.Linear(2, 2)
        self.cuda(rank)
        self.augmented = Augmented(self.D)

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
pair = Pair(rank)
D = DDP(pair.augmented, device_ids=[rank])
D(torch.rand(2, 2).cuda()).sum().backward()
""",
    """
import os

import torch
import torch.distributed as dist

class Augmented(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
net = torch.nn.Linear(2, 2).cuda()
model = torch.nn.parallel.DistributedDataParallel(Augmented(net), device_ids=[rank])
""",
    """
import os

import numpy
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
scores = torch.from_numpy(numpy.zeros(4)).float().cuda()
dist.all_reduce(scores)
total = torch.tensor([1]).to("cuda").sum()
dist.all_reduce(total)

class Model(torch.nn.Module):
    def __init__(self, rank):
        super().__init__()
        self.net = torch.nn.Linear(2, 2)
        self.cuda(rank)
        self.wrapped = torch.nn.parallel.DistributedDataParallel(self.net, device_ids=[rank])

Model(int(os.environ["LOCAL_RANK"]))
""",
    ("torchrun.py", {"mean = loss.detach().clone()": "mean = torch.tensor([1.0]).cuda()"}),
    ("torchrun.py", {"mean = loss.detach().clone()": "mean = torch.tensor([1.0], device=local_rank)"}),
    (
        "torchrun.py",
        {
            "mean = loss.detach().clone()": "mean = torch.tensor([1.0])",
            'init_process_group("nccl")': 'init_process_group("cpu:gloo,cuda:nccl")',
        },
    ),
]

"""ddp-device-ids: seen in logs."""

EXAMPLES = {
    "# got device_ids [3], output_device 3, and module parameters {device(type='cpu')}": "DDP's device_ids, here [3], must name the one GPU of this process, with all of the module on it",
    (
        "ValueError: DistributedDataParallel device_ids and output_device arguments only work with "
        "single-device/multiple-device GPU modules or CPU modules, but got device_ids [3], output_device None, and modu"
    ): "DDP's device_ids must name the one GPU of this process, with all of the module on it",
    (
        "[rank0]: ValueError: DistributedDataParallel device_ids and output_device arguments only work with "
        "single-device/multiple-device GPU modules or CPU modules, but got device_ids [0], output_device None, and module "
        "parameters {device(type='cpu')}."
    ): (
        "DDP's device_ids, here [0], must name the one GPU of this process, with all of the module on it: it "
        "is on cpu"
    ),
    (
        "AssertionError: DistributedDataParallel device_ids and output_device arguments only work with single-device GPU "
        "modules, but got device_ids [1], output_device 1, and module parameters {device(type='cuda', index=0)}."
    ): (
        "DDP's device_ids, here [1], must name the one GPU of this process, with all of the module on it: it "
        "is on cuda"
    ),
    (
        "AssertionError: DistributedDataParallel device_ids and output_device arguments only work with single-device CUDA "
        "modules, but got device_ids [0], output_device 0, and module parameters {device(type='cuda', index=0), "
        "device(type='cuda', index=1)}."
    ): (
        "DDP's device_ids, here [0], must name the one GPU of this process, with all of the module on it: it "
        "is on {device(type='cuda', index=0), device(type='cuda', index=1)}"
    ),
    "ValueError: device_ids can only be None or contain a single element.": (
        "DDP's device_ids must name the one GPU of this process, with all of the module on it"
    ),
    (
        "ValueError: DistributedDataParallel's input module must be on the same type of devices, but input module parameters "
        "locate in {'cpu', 'cuda'}."
    ): (
        "DDP's device_ids must name the one GPU of this process, with all of the module on it: it is on "
        "{'cpu', 'cuda'}"
    ),
    (
        "AssertionError: DistributedDataParallel with multi-device module only works with CUDA devices, but module parameters "
        "locate in {'cpu'}."
    ): (
        "DDP's device_ids must name the one GPU of this process, with all of the module on it: it is on {'cpu'}"
    ),
}
NOT_THIS = [
    (
        "UserWarning: Single-Process Multi-GPU is not the recommended mode for DDP. In this mode, each DDP instance operates "
        "on multiple devices and creates multiple module replicas within one process."
    ),
    (
        "RuntimeError: module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on "
        "device: cpu"
    ),
]

FLAGGED = [
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def run(rank):
    dist.init_process_group("gloo", init_method="env://")
    device = "cpu"
    model = torch.nn.Linear(3, 1).to(device)
    model = DDP(model, device_ids=[rank])  # <-
    model(torch.randn(3, 3)).sum().backward()
    dist.destroy_process_group()

if __name__ == "__main__":
    import os
    run(int(os.environ["LOCAL_RANK"]))
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank):
    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = DDP(torch.nn.Linear(2, 2).cuda(), device_ids=[0, 1])  # <-
""",
    """
import torch
import torch.nn as nn

class Trainer:
    def __init__(self, rank, world_size):
        n = torch.cuda.device_count() // world_size
        torch.cuda.set_device(rank * n)
        ids = list(range(rank * n, (rank + 1) * n))
        self.model = nn.parallel.DistributedDataParallel(nn.Linear(2, 2).to(ids[0]), device_ids=ids)  # <-

def main(rank, world_size):
    torch.distributed.init_process_group("nccl")
    Trainer(rank, world_size)
""",
    """
import os
import torch
import torch.distributed as dist

dist.init_process_group(backend="gloo")
local_rank = int(os.environ["LOCAL_RANK"])
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
net = torch.nn.parallel.DistributedDataParallel(net, [local_rank])  # <-
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from nets import SmallNet

dist.init_process_group("nccl")
gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
net = SmallNet(classes=10)
net.load_state_dict(torch.load("start.pt", map_location="cpu", weights_only=True))
net = DDP(net, device_ids=[gpu])  # <-
net(torch.zeros(2, 4).to(gpu))
dist.destroy_process_group()
""",
]
FLAGGED += [
    """
import os
import torch
import torch.distributed as dist
from parts import Net
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("nccl")
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
net = Net().to("cuda:0")
net = DDP(net, device_ids=[local_rank])  # <-
net(torch.ones(2, 2).cuda()).sum().backward()
dist.destroy_process_group()
""",
]
FINE = [
    """
import argparse
import torch
import torch.distributed as dist
from parts import Net
from torch.nn.parallel import DistributedDataParallel as DDP

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()
dist.init_process_group("nccl")
torch.cuda.set_device(args.device)
net = Net().to(args.device)
net = DDP(net, device_ids=[args.device])
net(torch.ones(2, 2).to(args.device)).sum().backward()
dist.destroy_process_group()
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank, args):
    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = DDP(torch.nn.Linear(2, 2).cuda(), device_ids=[rank], output_device=rank)
    other = DDP(torch.nn.Linear(2, 2).cuda(), device_ids=[args.gpu] if args.gpu is not None else None)
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank, build):
    torch.distributed.init_process_group("gloo")
    model = DDP(torch.nn.Linear(2, 2))
    moved = DDP(torch.nn.Linear(2, 2).to(rank), device_ids=[rank])
    unknown = DDP(build(), device_ids=[rank])
""",
    """
import torch

model = torch.nn.DataParallel(torch.nn.Linear(2, 2).cuda(), device_ids=[0, 1])
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from nets import SmallNet

dist.init_process_group("nccl")
gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
net = SmallNet(classes=10, where=gpu)
net.load_state_dict(torch.load("start.pt", map_location="cpu", weights_only=True))
net = DDP(net, device_ids=[gpu])
net(torch.zeros(2, 4).to(gpu))
dist.destroy_process_group()
""",
]

"""ddp-before-init: seen in a script."""

FLAGGED = [
    """
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from parts import Net, data

def setup(rank, world_size):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)

model = torch.nn.parallel.DistributedDataParallel(Net())  # <-
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in data:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
    """
import torch
from torch.utils.data import DataLoader, DistributedSampler
from helpers import setup

def main(rank, size, dataset, model):
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset))  # <-
    setup(rank, size)
    model = torch.nn.parallel.DistributedDataParallel(model.to(rank), device_ids=[rank])
    for x in loader:
        model(x).sum().backward()

if __name__ == "__main__":
    import os
    from data import dataset, model
    main(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), dataset, model)
""",
    """
import os
import torch
import torch.distributed as dist

ddp = os.environ.get("RANK") is not None
if ddp:
    dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))  # <-
model(torch.ones(1, 2)).sum().backward()
if ddp:
    dist.destroy_process_group()
""",
    (
        "torchrun.py",
        {
            '    dist.init_process_group("nccl")\n    rank = dist.get_rank()\n': "    rank = local_rank\n",
            "    dataset = load(rank)\n": '    dist.init_process_group("nccl")\n    dataset = load(rank)\n',
            "model = DDP(model, device_ids=[local_rank])": "model = DDP(model, device_ids=[local_rank])  # <-",
        },
    ),
    (
        "spawn.py",
        {
            "    world_size = torch.cuda.device_count()": "    world_size = torch.cuda.device_count()\n    sampler = data.DistributedSampler([1, 2, 3])  # <-"
        },
    ),
    """
# nothing makes a group
import os
import torch
from torch.nn.parallel import DistributedDataParallel
def main():
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    net = DistributedDataParallel(torch.nn.Linear(4, 2).to(local), device_ids=[local])  # <-
    steps = torch.optim.SGD(net.parameters(), 0.1)
    for batch in torch.zeros(3, 8, 4):
        net(batch.to(local)).sum().backward()
        steps.step()
        steps.zero_grad()
if __name__ == "__main__":
    main()
""",
    """
import os
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from parts import build_model
local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
net = build_model().to(local)
net = FSDP(net)  # <-
net(torch.zeros(2, 4).to(local)).sum().backward()
""",
]
FINE = [
    """
import os
import torch
import torch.distributed as dist
from parts import Net, data, start_distributed

def setup(rank, world_size):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
start_distributed(setup)
model = torch.nn.parallel.DistributedDataParallel(Net().cuda(), device_ids=[torch.cuda.current_device()])
for x, y in data:
    torch.nn.functional.cross_entropy(model(x), y).backward()
""",
    """
import os
import torch
from torch.distributed.launcher.api import LaunchConfig, elastic_launch
from torch.nn.parallel import DistributedDataParallel

def train(settings):
    model = torch.nn.Linear(3, 1).cuda()
    if settings.distributed:
        model = DistributedDataParallel(model, device_ids=[int(os.environ["LOCAL_RANK"])])
    model(torch.randn(3, 3).cuda()).sum().backward()

def worker(function, settings):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl")
    function(settings)

def run(function, size, settings):
    if size > 1:
        elastic_launch(config=LaunchConfig(1, 1, size), entrypoint=worker)(function, settings)
    else:
        function(settings)

if __name__ == "__main__":
    from settings import settings
    run(train, settings.size, settings)
""",
    """
# the launcher, which is not seen, starts the worker with the group; without it the function is called by itself
import torch
import torch.distributed as dist
from torch.distributed.launcher.api import elastic_launch
from torch.nn.parallel import DistributedDataParallel

def run(function, args):
    if args.world_size > 1:
        elastic_launch(config=args.config, entrypoint=worker)(function, args)
    else:
        function(args)

def worker(function, args):
    dist.init_process_group("gloo")
    function(args)
    dist.destroy_process_group()

def train(args):
    model = torch.nn.Linear(2, 2)
    if args.distributed:
        model = DistributedDataParallel(model)
    model(torch.rand(2, 2)).sum().backward()

args = parse()
run(train, args)
worker(train, args)
import torch
from torch.utils.data import DataLoader, DistributedSampler
from helpers import prepare_environment, setup

def main(rank, size, dataset, model):
    prepare_environment()
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset))
    setup(rank, size)
    model = torch.nn.parallel.DistributedDataParallel(model.to(rank), device_ids=[rank])
    for x in loader:
        model(x).sum().backward()

if __name__ == "__main__":
    import os
    from data import dataset, model
    main(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), dataset, model)
""",
    """
import torch
from torch.utils.data import DataLoader, DistributedSampler
from helpers import setup

def main(rank, size, dataset, model):
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset, num_replicas=size, rank=rank))
    setup(rank, size)
    model = torch.nn.parallel.DistributedDataParallel(model.to(rank), device_ids=[rank])
    for x in loader:
        model(x).sum().backward()

if __name__ == "__main__":
    import os
    from data import dataset, model
    main(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), dataset, model)
""",
    """
import os
import torch
import torch.distributed as dist

ddp = os.environ.get("RANK") is not None
if ddp:
    dist.init_process_group("gloo")
model = torch.nn.Linear(2, 2)
if ddp:
    model = torch.nn.parallel.DistributedDataParallel(model)
model(torch.ones(1, 2)).sum().backward()
if ddp:
    dist.destroy_process_group()
""",
    (
        "spawn.py",
        {
            "    world_size = torch.cuda.device_count()": "    world_size = torch.cuda.device_count()\n    sampler = data.DistributedSampler([1, 2, 3], num_replicas=2, rank=0)"
        },
    ),
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

def build(model):
    return nn.parallel.DistributedDataParallel(model)

def main():
    dist.init_process_group("gloo")
    build(nn.Linear(2, 2))
    dist.destroy_process_group()

main()
""",
    """
# what is not seen may make it: a function by its name, a file that is imported, all names of a file
import os
import torch
from common import start
from torch.nn.parallel import DistributedDataParallel
local = start()
net = DistributedDataParallel(torch.nn.Linear(4, 2).to(local), device_ids=[local])
net(torch.zeros(2, 4).to(local)).sum().backward()
""",
    """
import os
import torch
from cluster import local_rank
from torch.nn.parallel import DistributedDataParallel
torch.cuda.set_device(local_rank)
net = DistributedDataParallel(torch.nn.Linear(4, 2).to(local_rank), device_ids=[local_rank])
net(torch.zeros(2, 4).to(local_rank)).sum().backward()
""",
    """
import os
import torch
from common import *
from torch.nn.parallel import DistributedDataParallel
local = int(os.environ["LOCAL_RANK"])
net = DistributedDataParallel(torch.nn.Linear(4, 2).to(local), device_ids=[local])
net(torch.zeros(2, 4).to(local)).sum().backward()
""",
    """
import os
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel
local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
net = DistributedDataParallel(torch.nn.Linear(4, 2).to(local), device_ids=[local])
net(torch.zeros(2, 4).to(local)).sum().backward()
""",
    """
# who calls it has made one
import torch
from torch.nn.parallel import DistributedDataParallel
def wrapped(net, local):
    return DistributedDataParallel(net.to(local), device_ids=[local])
def step(net, batch):
    net(batch).sum().backward()
""",
    """
# Ray makes the group for the function that it is given
import torch
from ray.train.torch import TorchTrainer
from torch.nn.parallel import DistributedDataParallel
def train():
    net = DistributedDataParallel(torch.nn.Linear(4, 2).cuda())
    net(torch.zeros(2, 4).cuda()).sum().backward()
if __name__ == "__main__":
    TorchTrainer(train).fit()
""",
]

"""gradient-not-averaged: seen in a script, and in logs."""

FLAGGED = [
    """
import os
import torch
import torch.distributed as dist
from flows import Flow  # of another package
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
data = TensorDataset(torch.rand(64, 3))
loader = DataLoader(data, 8, sampler=DistributedSampler(data, shuffle=False))
flow = DistributedDataParallel(Flow(3))
flow.module.fit(loader, epochs=20)  # <-
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from machines import Machine

gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
dist.init_process_group("nccl")
net = DDP(Machine().cuda(), device_ids=[gpu])
for batch in torch.utils.data.DataLoader(data, sampler=sampler):
    net.module.take(batch)
    net.module.optimize_parameters()  # <-
""",
    """
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
dist.init_process_group("nccl")
maker, judge = nn.Linear(9, 9).cuda(), nn.Linear(9, 1).cuda()
maker = DDP(maker, device_ids=[gpu])
first = torch.optim.Adam(maker.parameters())
second = torch.optim.Adam(judge.parameters())
for batch in torch.utils.data.DataLoader(data, sampler=sampler):
    made = maker(batch.cuda())
    loss = judge(made.detach()).mean() - judge(batch.cuda()).mean()
    second.zero_grad()
    loss.backward()
    second.step()  # <-
    first.zero_grad()
    (-judge(made).mean()).backward()
    first.step()
""",
    """
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
dist.init_process_group("nccl")
maker, judge = nn.Linear(9, 9).cuda(), nn.Linear(9, 1).cuda()
maker = DDP(maker, device_ids=[gpu])
scale = nn.Parameter(torch.ones(1, device="cuda"))
first = torch.optim.Adam([*maker.parameters(), scale])
for batch in torch.utils.data.DataLoader(data, sampler=sampler):
    first.zero_grad()
    loss = (maker(batch.cuda()) * scale).mean()
    loss.backward()
    first.step()  # <-
""",
    """
import os
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = torch.nn.Linear(2, 2).cuda()
for p in model.parameters():
    dist.all_reduce(p.data)  # all begin alike
    p.data /= dist.get_world_size()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    optimizer.zero_grad()
    model(x.cuda()).mean().backward()
    optimizer.step()  # <-
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from parts import Net, loader

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_node_local_rank())
model = DistributedDataParallel(Net().cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model = torch.compile(model)
for x in loader:
    loss = model.module.loss(x)  # <-
    loss.backward()
    optimizer.step()
""",
    """
import os
import torch
import torch.distributed as dist
from diffusion import GaussianDiffusion
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank, loader):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    net = torch.nn.Linear(2, 2).to(rank)
    diffusion = GaussianDiffusion(net, steps=100)
    net = DDP(net, device_ids=[rank])  # <-
    optimizer = torch.optim.AdamW(net.parameters(), 1e-4)
    for epoch in range(3):
        net.train()
        for x in loader:
            loss = diffusion.training_losses(x.to(rank))["loss"]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()

main(int(os.environ["LOCAL_RANK"]), [])
""",
    """
import torch, torch.distributed as dist, torch.nn.functional as F
def main():
    dist.init_process_group("nccl")
    model = torch.nn.parallel.DistributedDataParallel(build())
    opt = torch.optim.SGD(model.parameters(), 0.1)
    for x, y in loader():
        cls_list, attn = model.module.two_views(x)  # <-
        a1, a2 = attn[0], attn[1]
        c = a1[:, :, 1].unsqueeze(2)
        l1 = F.l1_loss(c, a2, reduction="mean")
        l2 = F.cross_entropy(cls_list[0], y)
        loss = l1 + 0.1 * l2
        loss.backward()
        opt.step()
main()
""",
    """
import torch
import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    net = net.module  # <-
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    print("the model has", sum(p.numel() for p in net.parameters()))
    net(torch.ones(2, 2)).sum().backward()
    optimizer.step()
    dist.destroy_process_group()

main()
""",
    """
import torch
import torch.distributed as dist
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

def main():
    dist.init_process_group("gloo")
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(9):
        optimizer.zero_grad()
        model(torch.randn(2, 2)).sum().backward()
        grads = [p.grad for p in model.parameters()]
        flat = _flatten_dense_tensors(grads)
        dist.all_reduce(flat)  # <-
        for own, summed in zip(grads, _unflatten_dense_tensors(flat, grads)):
            own.copy_(summed)
        optimizer.step()
    dist.destroy_process_group()

main()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

class Trainer:
    def __init__(self):
        dist.init_process_group("gloo")
        self.net = torch.nn.Linear(2, 2)
        self.ddp = torch.nn.parallel.DistributedDataParallel(self.net)  # <-
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1)

    def train(self, dataset):
        sampler = DistributedSampler(dataset)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for x in DataLoader(dataset, 4, sampler=sampler):
                self.optimizer.zero_grad()
                self.net(x).sum().backward()
                self.optimizer.step()

Trainer().train(torch.randn(20, 2))
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)

    def loss_of(self, x, y):
        return torch.nn.functional.mse_loss(self(x), y)

def main():
    dist.init_process_group("gloo")
    model = DDP(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in torch.utils.data.DataLoader([]):
        loss = model.module.loss_of(x, y)  # <-
        loss.backward()
        optimizer.step()
    dist.destroy_process_group()

main()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModelForCausalLM
from hooks import compressed

async def run(rank, world_size, loader, optimizer):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    torch.cuda.set_device(rank)
    model = AutoModelForCausalLM.from_pretrained("gpt2").to(rank)
    ddp_model = DDP(model, device_ids=[rank])  # <-
    ddp_model.register_comm_hook(state=None, hook=compressed)
    for batch in loader:
        model(**batch).loss.backward()
        optimizer.step()
    dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def wrapped(model, rank):
    return DDP(model, device_ids=[rank])

dist.init_process_group("gloo")
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    optimizer.zero_grad()
    model(torch.randn(2, 2)).sum().backward()
    optimizer.step()  # <-
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torchvision import models

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
model = models.resnet18().to(rank)
model = DDP(model, device_ids=[rank])  # <-
model = model.module
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    optimizer.zero_grad()
    loss = model(torch.randn(4, 3, 224, 224, device=rank)).mean()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
""",
    """
import os
import torch
from torch.nn.parallel import DistributedDataParallel
from data import loader
from nets import Encoder

def train(gpu, args):
    torch.cuda.set_device(gpu)
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=args.port)
    torch.distributed.init_process_group("nccl", rank=gpu, world_size=args.gpus)
    net = Encoder(3).cuda(gpu)
    net = DistributedDataParallel(net, device_ids=[gpu]).module  # <-
    batches = iter(loader)
    step = 0
    while step < args.steps:
        step += 1
        update(net(next(batches)))

def update(loss):
    loss.sum().backward()

if __name__ == "__main__":
    torch.multiprocessing.spawn(train, nprocs=2, args=(object(),))
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from net import Net
from training import train

def main(rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = Net().to(rank)
    ddp_model = DDP(model, device_ids=[rank])
    optimizer = torch.optim.AdamW(ddp_model.parameters())
    train(model, optimizer)  # <-

main(int(os.environ["LOCAL_RANK"]))
""",
    """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for step in range(10):
    optimizer.zero_grad()
    out = model(torch.randn(2, 2)).sum()
    scaler.scale(out).backward()
    scaler.step(optimizer)  # <-
    scaler.update()
    shown = out.detach().clone()
    dist.all_reduce(shown)
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    optimizer.zero_grad()
    loss = model(torch.randn(2, 2)).sum()
    loss.backward()
    optimizer.step()  # <-
    total_loss = loss.detach()
    dist.all_reduce(total_loss)
dist.destroy_process_group()
""",
    (
        "torchrun.py",
        {
            "            loss = F.nll_loss(model(x), target)\n": "            loss = model.module.compute_loss(x, target)  # <-\n",
            "    def forward(self, x):\n": "    def compute_loss(self, x, y):\n        return F.nll_loss(self.forward(x), y)\n\n    def forward(self, x):\n",
        },
    ),
    (
        "torchrun.py",
        {
            "            loss = F.nll_loss(model(x), target)\n": "            loss = F.nll_loss(model.module(x), target)  # <-\n"
        },
    ),
    (
        "average.py",
        {
            "            average_gradients(model)\n            optimizer.step()\n": "            optimizer.step()  # <-\n"
        },
    ),
    (
        "torchrun.py",
        {
            "    model = DDP(model, device_ids=[local_rank])\n": "",
            "model.module.state_dict()": "model.state_dict()",
            "            optimizer.step()\n        mean = loss.detach().clone()\n        dist.all_reduce(mean)\n": "            optimizer.step()  # <-\n        mean = loss\n",
            "    dist.barrier()\n\n\ndef main": "\n\ndef main",
        },
    ),
    (
        "average.py",
        {"op=dist.ReduceOp.SUM)": "op=dist.ReduceOp.SUM)  # <-", "        parameter.grad.data /= size\n": ""},
    ),
    """
import torch
from accelerate import Accelerator
from net import Net

class Job:
    def __init__(self):
        self.accelerator = Accelerator()
        self.model = Net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.prepare()

    def prepare(self):
        self.model, self.optimizer = self.accelerator.prepare(self.model, self.optimizer)

    def step(self, batch):
        loss = self.accelerator.unwrap_model(self.model).loss_of(batch)  # <-
        self.accelerator.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()

job = Job()
for batch in torch.ones(4, 2, 2):
    job.step(batch)
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from net import Net, loader, sampler

def core(model):
    if hasattr(model, "module"):
        return model.module
    return model

def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    model = DDP(Net().cuda(), device_ids=[local])
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x in loader:
            optimizer.zero_grad()
            loss = core(model).loss_of(x)  # <-
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()
main()
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from net import Net, loader, sampler

def core(model):
    if hasattr(model, "module"):
        return model.module
    return model

def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    model = DDP(Net().cuda(), device_ids=[local])
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x in loader:
            optimizer.zero_grad()
            bare = model.module if isinstance(model, DDP) else model
            loss = bare.loss_of(x)  # <-
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()
main()
""",
    """
import os, torch, torch.distributed as dist
def reduce_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad.data, op=dist.ReduceOp.SUM)  # <-
def train(model, loader, opt):
    for x in loader:
        opt.zero_grad()
        loss = model(x).mean()
        loss.backward()
        reduce_gradients(model)
        opt.step()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from players import Replay, make_player, quiet

def play(player, world):
    with quiet.eval_mode(player):
        return world.step(player.module.choose(world.state))

def main(world):
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    player = DDP(make_player().to(gpu), device_ids=[gpu])
    seen = Replay()
    for step in range(1000):
        seen.add(play(player, world))
        player.module.update(seen, step)  # <-
    dist.destroy_process_group()

main(None)
""",
]
FINE = [
    """
import os
import torch
import torch.distributed as dist
from flows import Flow  # of another package
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
data = TensorDataset(torch.rand(64, 3))
loader = DataLoader(data, 8, sampler=DistributedSampler(data, shuffle=False))
flow = DistributedDataParallel(Flow(3))
opt = torch.optim.Adam(flow.parameters())
for epoch in range(20):
    for (x,) in loader:
        opt.zero_grad()
        flow(x).mean().backward()
        opt.step()
print(flow.module.loss_of(loader))
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def epoch(discriminator, optimizer, loader):
    for x, y in loader:
        loss = discriminator.module.loss_function(discriminator(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

def main(rank, build, loader):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    discriminator = DDP(build().cuda(rank), device_ids=[rank])
    epoch(discriminator, torch.optim.Adam(discriminator.parameters()), loader)
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def epoch(discriminator, optimizer, loader):
    for x, y in loader:
        out = discriminator(x)
        loss = discriminator.module.loss_function(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

def main(rank, build, loader):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    discriminator = DDP(build().cuda(rank), device_ids=[rank])
    epoch(discriminator, torch.optim.Adam(discriminator.parameters()), loader)
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from machines import Machine

gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
dist.init_process_group("nccl")
net = DDP(Machine().cuda(), device_ids=[gpu])
for batch in torch.utils.data.DataLoader(data, sampler=sampler):
    net(batch).backward()
    net.module.update_learning_rate()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from machines import Machine

gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
dist.init_process_group("nccl")
net = DDP(Machine().cuda(), device_ids=[gpu])
for batch in torch.utils.data.DataLoader(data, sampler=sampler):
    print(net.module.predict(batch))
""",
    """
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
dist.init_process_group("nccl")
maker, judge = nn.Linear(9, 9).cuda(), nn.Linear(9, 1).cuda()
maker = DDP(maker, device_ids=[gpu])
judge = DDP(judge, device_ids=[gpu])
first = torch.optim.Adam(maker.parameters())
second = torch.optim.Adam(judge.parameters())
for batch in torch.utils.data.DataLoader(data, sampler=sampler):
    made = maker(batch.cuda())
    loss = judge(made.detach()).mean() - judge(batch.cuda()).mean()
    second.zero_grad()
    loss.backward()
    second.step()
    first.zero_grad()
    (-judge(made).mean()).backward()
    first.step()
""",
    """
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
dist.init_process_group("nccl")
maker, judge = nn.Linear(9, 9).cuda(), nn.Linear(9, 1).cuda()
maker = DDP(maker, device_ids=[gpu])
first = torch.optim.Adam(maker.parameters())
for batch in torch.utils.data.DataLoader(data, sampler=sampler):
    loss = (judge(maker(batch.cuda())) - judge(batch.cuda())).pow(2).mean()
    first.zero_grad()
    loss.backward()
    first.step()
""",
    """
import os
import torch
import torch.distributed as dist

def together(model):
    for p in model.parameters():
        dist.all_reduce(p.data)
        p.data /= dist.get_world_size()

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = torch.nn.Linear(2, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    optimizer.zero_grad()
    model(x.cuda()).mean().backward()
    optimizer.step()
    together(model)  # parameters instead of gradients
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
encoder = DistributedDataParallel(build_encoder().cuda())
probe = DistributedDataParallel(torch.nn.Linear(8, 2).cuda())
optimizer = torch.optim.SGD(probe.parameters(), lr=0.1)
for x, y in loader:
    with torch.no_grad():
        features = encoder.module.embed(x)  # it is not trained here
    loss = torch.nn.functional.mse_loss(probe(features), y)
    loss.backward()
    optimizer.step()
""",
    """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from parts import loader

dist.init_process_group()
if torch.cuda.is_available():
    torch.cuda.set_device(dist.get_node_local_rank())
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(8, 1).to(device)
if torch.cuda.is_available():
    model = DDP(model, device_ids=[torch.cuda.current_device()])
else:
    model = DDP(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
    optimizer.step()
""",
    """
from common import *

dist.init_process_group("nccl")
torch.cuda.set_device(options.local_rank)
model = DistributedDataParallel(make_model().cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    F.mse_loss(model(x.cuda()), y.cuda()).backward()
    optimizer.step()
""",
    """
import torch
from accelerate import Accelerator
from net import Net, loader
accelerator = Accelerator()
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer, data = accelerator.prepare(model, optimizer, loader)
bare = accelerator.unwrap_model(model)
for batch in data:
    optimizer.zero_grad()
    outputs = model(**batch)
    loss = bare.loss_of(outputs.logits, batch["labels"])
    accelerator.backward(loss)
    optimizer.step()
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from net import Net, loader
dist.init_process_group("nccl")
local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
model = DDP(Net().cuda(), device_ids=[local])
optimizer = torch.optim.Adam(model.parameters())
for x in loader:
    optimizer.zero_grad()
    out = model(x)
    loss = model.module.loss_of(out.logits)
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
""",
    """
import os, torch, torch.distributed as dist
def reduce_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad.data, op=dist.ReduceOp.SUM)
            p.grad.data /= dist.get_world_size()
def train(model, loader, opt):
    for x in loader:
        opt.zero_grad()
        loss = model(x).mean()
        loss.backward()
        reduce_gradients(model)
        opt.step()
""",
    """
import os, torch, torch.distributed as dist
def reduce_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad.data, op=dist.ReduceOp.AVG)
def train(model, loader, opt):
    for x in loader:
        opt.zero_grad()
        loss = model(x).mean()
        loss.backward()
        reduce_gradients(model)
        opt.step()
""",
    """
import os, torch, torch.distributed as dist
def reduce_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad.data, op=dist.ReduceOp.SUM, group=tensor_parallel_group())
def train(model, loader, opt):
    for x in loader:
        opt.zero_grad()
        loss = model(x).mean()
        loss.backward()
        reduce_gradients(model)
        opt.step()
""",
    """
import os, torch, torch.distributed as dist
from nets import Net, loader, sampler
def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"]); torch.cuda.set_device(local)
    model = Net().cuda()
    world_size = dist.get_world_size()
    opt = torch.optim.Adam(model.parameters())
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x in loader:
            opt.zero_grad(); loss = model(x).mean()
            loss = loss / world_size
            loss.backward()
            for p in model.parameters():
                dist.all_reduce(p.grad)
            opt.step()
    dist.destroy_process_group()
main()
""",
    """
import torch
from accelerate import Accelerator
from net import Net

class Job:
    def __init__(self):
        self.accelerator = Accelerator()
        self.model = Net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.prepare()

    def prepare(self):
        self.model, self.optimizer = self.accelerator.prepare(self.model, self.optimizer)

    def step(self, batch):
        loss = self.accelerator.unwrap_model(self.model).loss_of(self.model(batch))
        self.accelerator.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()

job = Job()
for batch in torch.ones(4, 2, 2):
    job.step(batch)
""",
    """
import torch
from accelerate import Accelerator
from net import Net

class Job:
    def __init__(self):
        self.accelerator = Accelerator()
        self.model = Net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.prepare()

    def prepare(self):
        self.model, self.optimizer = self.accelerator.prepare(self.model, self.optimizer)

    def step(self, batch):
        text = self.accelerator.unwrap_model(self.model).generate(batch)
        loss = self.model(text).sum()
        self.accelerator.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()

job = Job()
for batch in torch.ones(4, 2, 2):
    job.step(batch)
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from net import Net, loader, sampler

def core(model):
    if hasattr(model, "module"):
        return model.module
    return model

def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    model = DDP(Net().cuda(), device_ids=[local])
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x in loader:
            optimizer.zero_grad()
            loss = core(model).loss_of(model(x))
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()
main()
""",
    """
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from wrapper import DDPWithoutStops

def train(rank, size):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:23456", rank=rank, world_size=size)
    model = DDPWithoutStops(torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(10):
        optimizer.zero_grad()
        model(torch.randn(3, 3)).sum().backward()
        model.finish_gradient_synchronization()
        optimizer.step()
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(train, nprocs=2, args=(2,))
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

class Net(torch.nn.Linear):
    pass

def build(kind):
    if kind == "a":
        return Net(1, 1)
    if kind == "b":
        return torch.nn.Linear(1, 1)
    if kind == "c":
        return torch.nn.Conv1d(1, 1, 1)
    if kind == "d":
        return torch.nn.Bilinear(1, 1, 1)
    if kind == "e":
        return torch.nn.LSTM(1, 1)
    if kind == "f":
        return torch.nn.GRU(1, 1)
    return torch.nn.RNN(1, 1)

def wrap(model, several):
    if not several:
        return model
    return DistributedDataParallel(model, device_ids=[int(os.environ["LOCAL_RANK"])])

def main(config, loader):
    dist.init_process_group("nccl")
    bare = build(config.kind)
    bare.to(torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    core = torch.compile(bare) if config.compile else bare
    model = wrap(core, dist.get_world_size() > 1)
    optimizer = torch.optim.SGD(bare.parameters(), 0.1)
    for epoch in range(3):
        for x in loader:
            model(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    dist.destroy_process_group()

if __name__ == "__main__":
    from parts import config, loader
    main(config, loader)
""",
    """
# a function that leaves the model bare where there is one rank
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

world_size = 1

def init(args):
    global world_size
    world_size = args.world_size
    torch.cuda.set_device(args.rank)
    dist.init_process_group("nccl", world_size=world_size, rank=args.rank)

def wrap(model):
    if world_size == 1:
        return model
    else:
        return DistributedDataParallel(model, device_ids=[torch.cuda.current_device()])

class Solver:
    def __init__(self, model, loader, optimizer):
        self.model, self.loader, self.optimizer = model, loader, optimizer
        self.wrapped = wrap(model)

    def train(self):
        for epoch in range(10):
            for x, y in self.loader:
                loss = torch.nn.functional.l1_loss(self.wrapped(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()

def main(args, loader):
    init(args)
    model = torch.nn.Linear(2, 2).cuda()
    Solver(model, loader, torch.optim.Adam(model.parameters())).train()
    dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

class Solver:
    def __init__(self, model, loader=None):
        self.device = int(os.environ["LOCAL_RANK"])
        self.model, self.loader = model.to(self.device), loader
        self.wrapped = DDP(self.model, device_ids=[self.device])

    def train(self, optimizer):
        for x in self.loader:
            self.wrapped(x).sum().backward()
            optimizer.step()

def solver(loader, bare):
    model = torch.nn.Linear(2, 2)
    if bare:
        return Solver(model)
    return Solver(model, loader)

def main(loader, optimizer):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    solver(loader, bare="BARE" in os.environ).train(optimizer)
    dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

class Trainer:
    def __init__(self, model, shards):
        self.device = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(self.device)
        self.model = model.to(self.device)
        self.shards = shards
        self.wrap()

    def wrap(self):
        if not self.shards:
            self.model = DDP(self.model, device_ids=[self.device])
            return
        print("sharded by hand")

    def train(self, loader, optimizer):
        for x in loader:
            self.model(x).sum().backward()
            optimizer.step()

def main(loader, optimizer):
    dist.init_process_group("nccl")
    Trainer(torch.nn.Linear(2, 2), os.environ.get("SHARDS")).train(loader, optimizer)
    dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from augmentation import Augmented
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank, loader):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    net = torch.nn.Linear(2, 2).to(rank)
    both = Augmented(net)
    net_ddp = DDP(net, device_ids=[rank])
    both = DDP(both, device_ids=[rank])
    optimizer = torch.optim.AdamW(net.parameters(), 1e-4)
    for x in loader:
        optimizer.zero_grad()
        both(x.to(rank)).sum().backward()
        optimizer.step()
    dist.destroy_process_group()

main(int(os.environ["LOCAL_RANK"]), [])
""",
    """
import os
import torch
import torch.distributed as dist
from diffusion import GaussianDiffusion
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank, loader):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    net = torch.nn.Linear(2, 2).to(rank)
    diffusion = GaussianDiffusion(net, steps=100)
    diffusion.net = DDP(net, device_ids=[rank])
    optimizer = torch.optim.AdamW(net.parameters(), 1e-4)
    for x in loader:
        loss = diffusion.training_losses(x.to(rank))["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.destroy_process_group()

main(int(os.environ["LOCAL_RANK"]), [])
""",
    """
import torch, torch.distributed as dist, torch.nn.functional as F
def main():
    dist.init_process_group("nccl")
    model = torch.nn.parallel.DistributedDataParallel(build())
    opt = torch.optim.SGD(model.parameters(), 0.1)
    for x, y in loader():
        cls_list, attn = model(x)
        a1, a2 = attn[0], attn[1]
        c = a1[:, :, 1].unsqueeze(2)
        l1 = F.l1_loss(c, a2, reduction="mean")
        l2 = F.cross_entropy(cls_list[0], y)
        loss = l1 + 0.1 * l2
        loss.backward()
        opt.step()
main()
""",
    """
import torch
import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    bare = net.module
    optimizer = torch.optim.SGD(bare.parameters(), 0.1)
    net(torch.ones(2, 2)).sum().backward()
    optimizer.step()
    dist.destroy_process_group()

main()
""",
    """
import torch
import torch.distributed as dist
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

def main():
    dist.init_process_group("gloo")
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(9):
        optimizer.zero_grad()
        model(torch.randn(2, 2)).sum().backward()
        grads = [p.grad for p in model.parameters()]
        flat = _flatten_dense_tensors(grads)
        dist.all_reduce(flat)
        for own, summed in zip(grads, _unflatten_dense_tensors(flat, grads)):
            own.copy_(summed / dist.get_world_size())
        optimizer.step()
    dist.destroy_process_group()

main()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
model = DDP(torch.nn.Linear(2, 2))
loss = model.module(torch.rand(2, 2)).sum()
loss.backward()
for parameter in model.parameters():
    grad = parameter.grad
    dist.all_reduce(grad, op=dist.ReduceOp.AVG)
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

class Trainer:
    def __init__(self, model, rank):
        self.bare = model.to(rank)
        self.model = DDP(self.bare, device_ids=[rank])

    def fit(self, loader, optimizer):
        for x in loader:
            self.model(x).sum().backward()
            optimizer.step()
            self.bare(x)
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torchvision import models

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
bare = models.resnet18().to(rank)
model = DDP(bare, device_ids=[rank])
bare = model.module
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    optimizer.zero_grad()
    model(torch.randn(4, 3, 224, 224, device=rank)).mean().backward()
    optimizer.step()
    with torch.no_grad():
        bare(torch.randn(4, 3, 224, 224, device=rank))
dist.destroy_process_group()
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from net import Net
from training import save, train

def main(rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = Net().to(rank)
    ddp_model = DDP(model, device_ids=[rank])
    optimizer = torch.optim.AdamW(ddp_model.parameters())
    train(ddp_model, optimizer)
    save(model, optimizer)

main(int(os.environ["LOCAL_RANK"]))
""",
    """
import torch
import torch.distributed as dist
from privacy import make_private

dist.init_process_group("gloo")
model, optimizer = make_private(torch.nn.Linear(2, 2))
for step in range(10):
    optimizer.zero_grad()
    model(torch.randn(2, 2)).sum().backward()
    optimizer.step()
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    optimizer.zero_grad()
    model(torch.randn(2, 2)).sum().backward()
    flat = torch.nn.utils.parameters_to_vector(model.parameters())
    optimizer.step()
    dist.all_reduce(flat)
dist.destroy_process_group()
""",
    (
        "torchrun.py",
        {
            "            loss = F.nll_loss(model(x), target)\n": "            loss = F.nll_loss(model(x), target) + model.module.fc.weight.norm()\n"
        },
    ),
    (
        "average.py",
        {
            "        dist.all_reduce(parameter.grad.data, op=dist.ReduceOp.SUM)\n        parameter.grad.data /= size\n": "        dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG)\n"
        },
    ),
    (
        "average.py",
        {
            "        parameter.grad.data /= size\n": "        parameter.grad.data = parameter.grad.data / size\n"
        },
    ),
    """
import torch
import torch.distributed as dist
from my_project import parallelize

dist.init_process_group("nccl")
model = parallelize(torch.nn.Linear(2, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in range(3):
    model(torch.zeros(2)).sum().backward()
    optimizer.step()
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from players import Replay, make_player, quiet

def play(player, world):
    with quiet.eval_mode(player):
        return world.step(player.module.choose(world.state))

def main(world):
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    player = DDP(make_player().to(gpu), device_ids=[gpu])
    seen = Replay()
    for step in range(1000):
        seen.add(play(player, world))
        seen.improve(player, step)
    dist.destroy_process_group()

main(None)
""",
    """
import os
import torch
import torch.distributed as dist
from teachers import Teacher
from torch.nn.parallel import DistributedDataParallel

def train(model, batch, optimizer, teacher=None):
    loss = model(batch).mean()
    if teacher is not None:
        with torch.no_grad():
            loss = loss + teacher.module.feature(batch).mean()
    loss.backward()
    optimizer.step()

def main(batches):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    teacher = DistributedDataParallel(Teacher.from_pretrained("large"))
    for batch in batches:
        train(model, batch.cuda(), optimizer, teacher)
    dist.destroy_process_group()

main([torch.ones(2, 2)])
""",
]
EXAMPLES = {
    "[rank0]: AssertionError: the ranks trained models of their own": "the ranks' weights differ: nothing averages their gradients"
}
NOT_THIS = ["the ranks trained one model"]

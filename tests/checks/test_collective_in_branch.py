"""collective-in-branch: seen in a script."""

FLAGGED = [
    """
import idr_torch
import torch
import torch.distributed as dist

def report(epoch, loss):
    if idr_torch.rank == 0:
        dist.all_reduce(loss)  # <-
        print(epoch, loss / idr_torch.size)

dist.init_process_group("nccl", init_method="env://", world_size=idr_torch.size, rank=idr_torch.rank)
torch.cuda.set_device(idr_torch.local_rank)
report(0, torch.ones(1, device="cuda"))
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
data = TensorDataset(torch.rand(64, 3))
sampler = DistributedSampler(data)
net = DDP(torch.nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), 0.1)
worse, best = 0, 1e9
for epoch in range(50):
    sampler.set_epoch(epoch)
    total = 0.0
    for (x,) in DataLoader(data, 8, sampler=sampler):
        opt.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        opt.step()
        total += loss.item()
    worse, best = (0, total) if total < best else (worse + 1, best)
    if worse > 3:
        break  # <-
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from engine import train_epoch, validate  # of another package
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def main(data, held_out, patience):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler)
    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    best = 0.0
    for epoch in range(30):
        sampler.set_epoch(epoch)
        train_epoch(model, loader, optimizer)
        if rank == 0:
            score = validate(model.module, held_out)
            patience = patience - 1 if score < best else 5
            best = max(best, score)
            if patience == 0:
                break  # <-
    dist.destroy_process_group()

main(torch.utils.data.TensorDataset(torch.randn(64, 2)), [], 5)
""",
    """
from transformers import Trainer, TrainingArguments

def main(model, args: TrainingArguments, data):
    trainer = Trainer(model=model, args=args, train_dataset=data)
    trainer.train()
    if args.local_rank in (-1, 0):
        trainer.save_model("out")
        trainer.evaluate(data)  # <-
""",
    """
import torch
import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    if dist.get_rank() in (0, 1):
        group = dist.new_group([0, 1])  # <-
        dist.all_reduce(torch.ones(1), group=group)
    dist.destroy_process_group()

main()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from models import Net

def main(rank, train, held_out):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = Net().cuda()
    model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    model = DDP(model, device_ids=[rank])
    for epoch in range(3):
        for x in train:
            model(x).sum().backward()
        if dist.get_rank() == 0:
            with torch.no_grad():
                for x in held_out:
                    model(x)  # <-
""",
    """
import os
import torch
import torch.distributed as dist
from metrics import score
from stopping import EarlyStopper  # of another package
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
stopper = EarlyStopper(patience=4)
value = 0
for epoch in range(10):
    for batch in loader:
        model(batch).mean().backward()
    if dist.get_rank() == 0:
        value = score(model)
    dist.barrier()
    if stopper.early_stop(value):
        break  # <-
""",
    """
import os, torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from parts import build
def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        return sum((model(x.cuda()) - y.cuda()).abs().sum() for x, y in loader)
def main(loader, held):
    dist.init_process_group("nccl")
    rank, local = dist.get_rank(), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    net = DDP(build(4).to(local), device_ids=[local])
    for epoch in range(5):
        if rank == 0:
            print(evaluate(net, held))  # <-
    dist.destroy_process_group()
main()
""",
    """
import os, torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU())
    def forward(self, x):
        return self.layers(x)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(4) for _ in range(2)])
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        return sum((model(x.cuda()) - y.cuda()).abs().sum() for x, y in loader)
def main(loader, held):
    dist.init_process_group("nccl")
    rank, local = dist.get_rank(), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    net = DDP(Net().to(local), device_ids=[local])
    for epoch in range(5):
        if rank == 0:
            print(evaluate(net, held))  # <-
    dist.destroy_process_group()
main()
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
def load(path, model, rank):
    if rank != 0:
        return 0
    state = torch.load(path, map_location="cpu", weights_only=True)
    model.module.load_state_dict(state["net"])
    return state["epoch"] + 1
def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank(); local = int(os.environ["LOCAL_RANK"]); torch.cuda.set_device(local)
    model = DDP(torch.nn.Linear(4, 1).cuda(), device_ids=[local])
    start = load("last.pt", model, rank)
    data = torch.utils.data.TensorDataset(torch.rand(8, 4))
    sampler = torch.utils.data.DistributedSampler(data)
    loader = torch.utils.data.DataLoader(data, sampler=sampler)
    for epoch in range(start, 10):  # <-
        sampler.set_epoch(epoch)
        for x, in loader:
            model(x.cuda()).sum().backward()
    dist.destroy_process_group()
main()
""",
    """
import os
import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from parts import Held, Left, Net, Train

dist.init_process_group("nccl")
device = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(device)
model = DDP(Net().to(device), device_ids=[device])
train, held = Train(), Held()
sampler = DistributedSampler(train)
loader = DataLoader(train, batch_size=8, sampler=sampler)
validation = DataLoader(held, batch_size=8, sampler=DistributedSampler(held))
test = DataLoader(Left(), batch_size=8)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
best, counter = 0, 0
for epoch in range(300):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        (model(x.to(device)) - y.to(device)).square().sum().backward()
        optimizer.step()
    seen = []
    for x, y in validation:
        with torch.no_grad():
            seen.append((model(x.to(device)) == y.to(device)).float().mean().item())
    if np.mean(seen) > best:
        best, counter = np.mean(seen), 0
    else:
        counter += 1
    if counter >= 30:
        break  # <-
for x, y in test:
    print(model.module(x.to(device)))
dist.destroy_process_group()
""",
    """
# said once, and not of a function's return that is made in the loop
import os
import time
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda(rank), device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
begun = time.time()
for x in loader:
    if time.time() - begun > 3600:
        break  # <-
    loss = model(x).sum()

    def coloured(text):
        return f"red {text}"

    print(coloured("loss"), loss)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

def main(dataset, model, optimizer):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    model = DDP(model.to(device), device_ids=[device])
    epoch = 0
    if rank == 0 and os.path.exists("last.pt"):
        state = torch.load("last.pt", map_location="cpu", weights_only=True)
        epoch = state["epoch"] + 1
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler)
    while epoch < 10:  # <-
        sampler.set_epoch(epoch)
        for x in loader:
            optimizer.zero_grad()
            model(x.to(device)).sum().backward()
            optimizer.step()
        epoch += 1
    dist.destroy_process_group()
""",
    """
import torch.distributed as dist
from training.distributed import is_master

def main(args):
    dist.init_process_group("nccl")
    if is_master(args, local=args.log_local):
        dist.barrier()  # <-
    dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.distributions import Categorical


def main(env, actor, optimizer):
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    model = torch.nn.Sequential(torch.nn.Linear(4, 2))
    for update in range(100):
        seen = torch.as_tensor(env.step())
        old = Categorical(logits=model(seen)).log_prob(seen)
        for epoch in range(4):
            new = Categorical(logits=model(seen)).log_prob(seen)
            drift = (old - new).mean()
            if drift > 0.02:
                break  # <-
            optimizer.zero_grad()
            (-new.mean()).backward()
            for p in model.parameters():
                dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
            optimizer.step()
    dist.destroy_process_group()
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
def main(dataset):
    dist.init_process_group("nccl")
    rank = int(os.environ["RANK"])
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    model = DDP(torch.nn.Linear(2, 2).cuda(), device_ids=[local_rank])
    opt = torch.optim.SGD(model.parameters(), 0.1)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, 4, sampler=sampler)
    best, bad, stop = 1e9, 0, False
    start = 0
    if local_rank == 0 and os.path.exists("last.pt"):
        state = torch.load("last.pt", map_location="cpu", weights_only=True)
        model.module.load_state_dict(state["model"])
        start = state["epoch"]
    for epoch in range(start, 10):  # <-
        sampler.set_epoch(epoch)
        total = 0
        for x, y in loader:
            opt.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
            loss.backward()
            opt.step()
            total += loss.item()
        if rank == 0:
            if total < best:
                best, bad = total, 0
            else:
                bad += 1
            stop = bad > 3
        if stop:
            break  # <-
    dist.destroy_process_group()
main(None)
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

class Trainer:
    def __init__(self, dataset):
        dist.init_process_group("nccl")
        self.rank = dist.get_rank()
        torch.cuda.set_device(self.rank)
        self.model = DDP(torch.nn.Linear(2, 2).cuda(), device_ids=[self.rank])
        self.opt = torch.optim.SGD(self.model.parameters(), 0.1)
        self.sampler = DistributedSampler(dataset)
        self.loader = DataLoader(dataset, 4, sampler=self.sampler)
        self.bad_epochs = 0; self.best = 1e9; self.patience = 3
    def validate(self):
        return 0.0
    def fit(self):
        for epoch in range(10):
            self.sampler.set_epoch(epoch)
            for x, y in self.loader:
                self.opt.zero_grad()
                loss = torch.nn.functional.mse_loss(self.model(x.cuda()), y.cuda())
                loss.backward()
                self.opt.step()
            if self.rank == 0:
                val = self.validate()
                if val < self.best:
                    self.best = val
                    self.bad_epochs = 0
                else:
                    self.bad_epochs += 1
            if self.bad_epochs >= self.patience:
                break  # <-
Trainer(None).fit()
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

class EarlyStopper:
    def __init__(self, patience=3):
        self.patience = patience
        self.count = 0
        self.best = 1e9
        self.stop = False
    def step(self, value):
        if value < self.best:
            self.best = value
            self.count = 0
        else:
            self.count += 1
            if self.count >= self.patience:
                self.stop = True

class Trainer:
    def __init__(self, dataset):
        dist.init_process_group("nccl")
        self.rank = dist.get_rank()
        torch.cuda.set_device(self.rank)
        self.model = DDP(torch.nn.Linear(2, 2).cuda(), device_ids=[self.rank])
        self.opt = torch.optim.SGD(self.model.parameters(), 0.1)
        self.sampler = DistributedSampler(dataset)
        self.loader = DataLoader(dataset, 4, sampler=self.sampler)
        self.stopper = EarlyStopper()
    def validate(self):
        return 0.0
    def fit(self):
        for epoch in range(10):
            self.sampler.set_epoch(epoch)
            for x, y in self.loader:
                self.opt.zero_grad()
                loss = torch.nn.functional.mse_loss(self.model(x.cuda()), y.cuda())
                loss.backward()
                self.opt.step()
            if self.rank == 0:
                self.stopper.step(self.validate())
            if self.stopper.stop:
                break  # <-
Trainer(None).fit()
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from utils import EarlyStopping, evaluate
def main(dataset):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    model = DDP(torch.nn.Linear(2, 2).cuda(), device_ids=[rank])
    opt = torch.optim.SGD(model.parameters(), 0.1)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, 4, sampler=sampler)
    stopper = EarlyStopping(patience=3)
    for epoch in range(10):
        sampler.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
            loss.backward()
            opt.step()
        if rank == 0:
            val = evaluate(model.module)
            stopper(val)
        if stopper.early_stop:
            break  # <-
    dist.destroy_process_group()
main(None)
""",
    """
import os
import torch
import torch.distributed as dist

def main(path):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        os.makedirs(path, exist_ok=True)
        if os.path.exists(os.path.join(path, "done.txt")):
            print("there is one already")
            return  # <-
    dist.barrier()
    dist.destroy_process_group()

main("runs/first")
""",
    """
import os
import sys
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 0 and os.path.exists("out"):
    sys.exit("out is there already")
dist.barrier()  # <-
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(2)

    def forward(self, x):
        return self.norm(x)

def main():
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(Net())
    if dist.get_rank() == 0:
        SummaryWriter().add_graph(model, torch.ones(4, 2))  # <-
    model(torch.ones(4, 2)).sum().backward()
    dist.destroy_process_group()

main()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

def collate(samples):
    samples = [sample for sample in samples if sample is not None]
    return (torch.stack(samples), len(samples)) if samples else (None, 0)

def main(dataset):
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, 2, sampler=sampler, collate_fn=collate)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, count in loader:
            if x is None:
                continue  # <-
            model(x).sum().backward()
    dist.destroy_process_group()

main(torch.ones(20, 2))
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

class Patience:
    def __init__(self):
        self.bad, self.best = 0, 1e9

    def spent(self, loss):
        if loss < self.best:
            self.best, self.bad = loss, 0
        else:
            self.bad += 1
        return self.bad > 3

def main(dataset):
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, 2, sampler=sampler)
    patience = Patience()
    for epoch in range(30):
        sampler.set_epoch(epoch)
        total = 0
        for x in loader:
            loss = model(x).sum()
            loss.backward()
            total += loss.item()
        if patience.spent(total / len(loader)):
            break  # <-
    dist.destroy_process_group()

main(torch.ones(20, 2))
""",
    """
import torch
import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    for step in range(30):
        model(torch.ones(2, 2)).sum().backward()
        if step % 10 or rank != 0:
            continue
        dist.all_reduce(torch.zeros(1))  # <-
    dist.destroy_process_group()

main()
""",
    """
import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

def main(dataset):
    dist.init_process_group("gloo")
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, 4, sampler=sampler)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    best = 1e9
    for epoch in range(9):
        sampler.set_epoch(epoch)
        losses = []
        for x in loader:
            loss = model(x).sum()
            loss.backward()
            losses.append(loss.detach().numpy())
        mean = np.average(losses)
        if mean < best:
            best = mean
            dist.barrier()  # <-
            if dist.get_rank() == 0:
                torch.save(model.module.state_dict(), "best.pt")
    dist.destroy_process_group()

main(torch.randn(20, 2))
""",
    """
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
match dist.get_rank():
    case 0:
        print("first")
        dist.barrier()  # <-
    case _:
        print("another")
""",
    """
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = int(os.environ.get("RANK", "0"))
torch.cuda.set_device(rank)
total = torch.ones(2).cuda()
if rank:
    print("not the first")
else:
    dist.broadcast(total, 0)  # <-
""",
    """
import torch.distributed as dist
from contextlib import contextmanager
from functools import cached_property

@contextmanager
def process_group():
    dist.init_process_group("gloo")
    try:
        yield dist.get_rank()
    finally:
        dist.destroy_process_group()

class Job:
    @cached_property
    def is_first(self):
        return dist.get_rank() == 0

    def run(self):
        if self.is_first:
            dist.barrier()  # <-

with process_group() as rank:
    Job().run()
    if rank == 0:
        dist.barrier()  # <-
""",
    """
import lightning
import torch

class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(2, 2)

    def on_train_epoch_end(self):
        if self.trainer.is_global_zero:
            self.trainer.save_checkpoint("last.ckpt")  # <-

    def validation_step(self, batch, number):
        if self.global_rank == 0:
            print(self.all_gather(batch))  # <-
""",
    """
import argparse
import torch
import torch.distributed as dist

args = argparse.ArgumentParser().parse_args()
dist.init_process_group("gloo")
rank = dist.get_rank()
is_main = lambda: dist.get_rank() == 0
device = torch.device("cuda", rank)
if is_main():
    dist.barrier()  # <-
if rank == args.master:
    dist.barrier()  # <-
if device.index == 0:
    dist.all_reduce(torch.ones(1, device=device))  # <-
""",
    """
import torch

def main(loader, optimizer):
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    for batch in loader:
        loss = model(batch).mean()
        if torch.isnan(loss):
            continue  # <-
        loss.backward()
        optimizer.step()
""",
    """
import os
import torch.distributed as dist

def setup():
    if "RANK" in os.environ:
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if "SLURM_PROCID" in os.environ:
        return int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    return 0, 1

def main():
    rank, size = setup()
    dist.init_process_group("gloo", rank=rank, world_size=size)
    if rank == 0:
        dist.barrier()  # <-

def worker(gpu, gpus, args):
    args.rank = args.rank * gpus + gpu
    dist.init_process_group("gloo", rank=args.rank, world_size=args.world_size)
    if args.rank == 0:
        dist.barrier()  # <-

main()
""",
    """
import os
import torch
import torch.distributed as dist

ddp = int(os.environ.get("RANK", -1)) != -1
if ddp:
    dist.init_process_group("gloo")
    master_process = int(os.environ["RANK"]) == 0
else:
    master_process = True
if master_process:
    print("begin")
    if ddp:
        dist.barrier()  # <-
""",
    """
import deepspeed
import torch

engine, optimizer, _, _ = deepspeed.initialize(model=torch.nn.Linear(2, 2))
if torch.distributed.get_rank() == 0:
    engine.save_checkpoint("run")  # <-
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.count, self.stop = patience, float("inf"), 0, False

    def __call__(self, loss):
        if loss < self.best:
            self.best, self.count = loss, 0
        else:
            self.count += 1
            if self.count >= self.patience:
                self.stop = True

def main(dataset, rank):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(torch.nn.Linear(2, 2).to(rank), device_ids=[rank])
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler)
    stopping = EarlyStopping(5)
    for epoch in range(10):
        sampler.set_epoch(epoch)
        total = 0.0
        for x in loader:
            loss = model(x.to(rank)).sum()
            loss.backward()
            total += loss.item()
        stopping(total / len(loader))
        if stopping.stop:
            break  # <-
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel

def main(loader, optimizer, rank):
    model = DistributedDataParallel(torch.nn.Linear(2, 2))
    for batch in loader:
        try:
            loss = model(batch).sum()
            loss.backward()
            optimizer.step()
        except RuntimeError:
            torch.cuda.empty_cache()
            continue  # <-
""",
    """
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
model = torch.nn.Linear(2, 2)
fully_shard(model)
if dist.get_rank() == 0:
    print(model(torch.randn(1, 2)))  # <-
if dist.get_rank() == 0:
    state = {k: v.full_tensor() for k, v in model.state_dict().items()}  # <-
dist.destroy_process_group()
""",
    """
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard
import torch

dist.init_process_group("gloo")
model = torch.nn.Linear(2, 2)
fully_shard(model)
whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
if dist.get_rank() == 0:
    torch.save(get_model_state_dict(model, options=whole), "model.pt")  # <-
dist.destroy_process_group()
""",
    """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

def main(model, dataset):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(dataset))
    for batch in loader:
        out = model(batch)
        if accelerator.is_main_process:
            print(accelerator.gather(out))  # <-
    if accelerator.is_local_main_process:
        accelerator.wait_for_everyone()  # <-
""",
    (
        "torchrun.py",
        {
            "    for epoch in range(args.epochs):\n": "    stopper = EarlyStopping(patience=3)\n    for epoch in range(args.epochs):\n",
            "import torch\n": "import torch\nfrom training import EarlyStopping\n",
            "        mean = loss.detach().clone()\n": "        stopper.step(loss.item())\n        if stopper.should_stop():\n            break  # <-\n        mean = loss.detach().clone()\n",
        },
    ),
    (
        "torchrun.py",
        {
            "    for epoch in range(args.epochs):\n": "    stopper = EarlyStopping(patience=3)\n    for epoch in range(args.epochs):\n",
            "import torch\n": "import torch\nfrom training import EarlyStopping\n",
            "        mean = loss.detach().clone()\n": "        stopper(loss.item())\n        if stopper.early_stop:\n            break  # <-\n        mean = loss.detach().clone()\n",
        },
    ),
    """
import torch
import torch.distributed as dist

def main(loader, model):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    total = torch.zeros(1)
    if rank == 0:
        dist.all_reduce(total)  # <-
        print(total)
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

class Trainer:
    def __init__(self, model):
        self.rank = int(os.environ["RANK"])
        self.model = DDP(model)

    def validate(self):
        loss = torch.zeros(1)
        dist.all_reduce(loss)
        return loss

    def fit(self, epochs):
        for epoch in range(epochs):
            if self.rank == 0 and epoch % 5 == 0:
                print(self.validate())  # <-

if __name__ == "__main__":
    dist.init_process_group("gloo")
    Trainer(torch.nn.Linear(2, 2)).fit(3)
""",
    """
import torch
from torch import distributed

def is_main():
    return distributed.get_rank() == 0

def save(model, path):
    if not is_main():
        return
    torch.save(model.state_dict(), path)
    distributed.barrier()  # <-

distributed.init_process_group("gloo")
save(torch.nn.Linear(2, 2), "model.pt")
""",
    """
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

dist.init_process_group("gloo")
torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
model = FSDP(torch.nn.Linear(8, 8).cuda())
if dist.get_rank() == 0:
    state = model.state_dict()  # <-
    torch.save(state, "model.pt")
""",
    """
import time
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def main(args, dataset):
    dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=4, sampler=sampler)
    start = time.time()
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = (model(x) - y).square().mean()
            if torch.isnan(loss):
                continue  # <-
            loss.backward()
            if time.time() - start > args.limit:
                break  # <-
""",
    """
import argparse
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)  # <- launch-local-rank
args = parser.parse_args()
torch.cuda.set_device(args.local_rank)
dist.init_process_group("gloo")
if args.local_rank == 0:
    model = DDP(torch.nn.Linear(2, 2).cuda())  # <-
    group = dist.new_group([0, 1])
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.count = patience, None, 0
        self.stop = False

    def __call__(self, loss):
        if self.best is None or loss < self.best:
            self.best, self.count = loss, 0
        else:
            self.count += 1
            self.stop = True

def main(dataset):
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(4, 1))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=4, sampler=sampler)
    stopping = EarlyStopping(3)
    for epoch in range(100):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
        stopping(loss.item())
        if stopping.stop:
            break  # <-
""",
    """
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

def get_rank():
    if not dist.is_initialized():
        return 0
    return dist.get_rank()

def is_main_process():
    return get_rank() == 0

def synchronize():
    if not dist.is_initialized() or dist.get_world_size() == 1:
        return
    dist.barrier()

def reduced(value):
    if not dist.is_initialized():
        return value
    dist.all_reduce(value)
    return value / dist.get_world_size()

class Trainer:
    def __init__(self, dataset):
        self.is_main = is_main_process()
        self.model = DDP(torch.nn.Linear(4, 2))
        self.loader = DataLoader(dataset, sampler=DistributedSampler(dataset, shuffle=False))

    def save(self):
        if self.is_main:
            torch.save(self.model.module.state_dict(), "model.pt")
        synchronize()

    def fit(self, epochs):
        best, bad = 0, 0
        for epoch in range(epochs):
            total = torch.zeros(1)
            for x, y in self.loader:
                loss = F.cross_entropy(self.model(x), y)
                if not torch.isfinite(reduced(loss.detach())):
                    continue
                loss.backward()
                total += (self.model(x).argmax(1) == y).sum()
            total = reduced(total)
            if total.item() > best:
                best, bad = total.item(), 0
                self.save()
            else:
                bad += 1
            if bad > 3:
                break
            if self.is_main and epoch % 2:
                self.save()  # <-

dist.init_process_group("gloo")
Trainer([]).fit(3)
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torchinfo import summary
from my_models import Encoder

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
net = torch.nn.SyncBatchNorm.convert_sync_batchnorm(Encoder()).to(rank)
net = DDP(net, device_ids=[rank])
if rank == 0:
    summary(net, input_size=(1, 3, 32, 32))  # <-
dist.destroy_process_group()
""",
    """
from transformers import Trainer, TrainingArguments

def main(model, args: TrainingArguments, data):
    trainer = Trainer(model=model, args=args, train_dataset=data)
    trainer.train()
    if trainer.is_world_process_zero():
        trainer.save_model("out")
        trainer.evaluate(data)  # <-
""",
]
FINE = [
    """
import os
import torch
import torch.distributed as dist
from engine import train_epoch, validate  # of another package
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def main(data, held_out, patience):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler)
    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    best = 0.0
    for epoch in range(30):
        sampler.set_epoch(epoch)
        validate(model, loader)
        if rank == 0:
            score = validate(model.module, held_out)
            patience = patience - 1 if score < best else 5
            best = max(best, score)
            if patience == 0:
                break
    dist.destroy_process_group()

main(torch.utils.data.TensorDataset(torch.randn(64, 2)), [], 5)
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def shared(stop):
    flag = torch.tensor(int(stop), device="cuda")
    dist.broadcast(flag, src=0)
    return bool(flag.item())

def main(loader, many, enough, score):
    rank = int(os.environ["RANK"])
    if many:
        dist.init_process_group("nccl")
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    together = many and enough
    if many and not together and rank != 0:
        return  # it is not worth the while: rank 0 trains alone
    model = torch.nn.Linear(2, 2).cuda()
    if together:
        model = DDP(model)
    for epoch in range(9):
        for x in loader:
            model(x).sum().backward()
        stop = False
        if rank == 0 and score(model):
            stop = True
        if together:
            stop = shared(stop)
        if stop:
            break
""",
    """
import os, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
def main():
    dist.init_process_group("nccl")
    r = dist.get_rank()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    workers = [0, 1]
    g = dist.new_group(workers)
    if r in workers:
        model = DDP(torch.nn.Linear(2, 2).cuda(), process_group=g)
        for i in range(3):
            model(torch.ones(2, 2).cuda()).sum().backward()
        t = torch.ones(1).cuda()
        dist.all_reduce(t, group=g)
        dist.broadcast(t, 0, g)
        dist.barrier(g)
    dist.destroy_process_group()
main()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from models import Net

def main(rank, train, held_out):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = Net().cuda()
    model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    model = DDP(model, device_ids=[rank])
    for epoch in range(3):
        for x in train:
            model(x).sum().backward()
        if dist.get_rank() == 0:
            with torch.no_grad():
                for x in held_out:
                    model.module(x)
""",
    """
import torch
import torch.distributed as dist

def work(rank, cfg):
    dist.init_process_group("nccl", rank=rank, world_size=2)
    if cfg.eval_only and rank == 0:
        print("tested")
        return
    elif cfg.eval_only:
        return
    dist.broadcast(table, 0)
""",
    """
import os
import torch
import torch.distributed as dist
from stopping import EarlyStopper
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
stopper = EarlyStopper(patience=4)
for epoch in range(10):
    for batch in loader:
        model(batch).mean().backward()
    value = torch.zeros(1).cuda()
    if dist.get_rank() == 0:
        value += score(model)
    dist.broadcast(value, 0)
    if stopper.early_stop(value.item()):
        break
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

ddp = int(os.environ.get("RANK", -1)) != -1
if ddp:
    dist.init_process_group("nccl")
    master = dist.get_rank() == 0
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
else:
    master = True
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)).cuda()
if ddp:
    model = DDP(model)
bare = model.module if ddp else model
for step in range(100):
    model(torch.rand(8, 4).cuda()).sum().backward()
    if not ddp or master:
        bare(torch.rand(8, 4).cuda())
if ddp:
    dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from tqdm import tqdm

def train(rank, size, data, epochs=100):
    dist.init_process_group("gloo", rank=rank, world_size=size)
    model = DDP(torch.nn.Linear(4, 4))
    sampler = DistributedSampler(data)
    iterator = tqdm(range(epochs), ncols=70)
    for epoch in iterator:
        sampler.set_epoch(epoch)
        for batch in DataLoader(data, sampler=sampler):
            model(batch).sum().backward()
        if rank == 0 and epoch >= epochs - 1:
            torch.save(model.module.state_dict(), "last.pt")
            iterator.close()
            break
    dist.destroy_process_group()

if __name__ == "__main__":
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(4000 + os.getpid() % 999))
    torch.multiprocessing.spawn(train, args=(2, [torch.rand(4)] * 8), nprocs=2)
""",
    """
import os, torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, width), nn.LayerNorm(width), nn.ReLU())
    def forward(self, x):
        return self.layers(x)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(4) for _ in range(2)])
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        return sum((model(x.cuda()) - y.cuda()).abs().sum() for x, y in loader)
def main(loader, held):
    dist.init_process_group("nccl")
    rank, local = dist.get_rank(), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    net = DDP(Net().to(local), device_ids=[local])
    for epoch in range(5):
        if rank == 0:
            print(evaluate(net, held))
    dist.destroy_process_group()
main()
""",
    """
import os, torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        return sum((model(x.cuda()) - y.cuda()).abs().sum() for x, y in loader)
def main(loader, held):
    dist.init_process_group("nccl")
    rank, local = dist.get_rank(), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    net = DDP(nn.Sequential(nn.Linear(4, 4), nn.GELU()).to(local), device_ids=[local])
    for epoch in range(5):
        if rank == 0:
            print(evaluate(net, held))
    dist.destroy_process_group()
main()
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
def load(path, model, rank):
    if rank != 0:
        return 0
    state = torch.load(path, map_location="cpu", weights_only=True)
    model.module.load_state_dict(state["net"])
    return state["epoch"] + 1
def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank(); local = int(os.environ["LOCAL_RANK"]); torch.cuda.set_device(local)
    model = DDP(torch.nn.Linear(4, 1).cuda(), device_ids=[local])
    found = [load("last.pt", model, rank)]
    dist.broadcast_object_list(found, src=0)
    start = found[0]
    data = torch.utils.data.TensorDataset(torch.rand(8, 4))
    sampler = torch.utils.data.DistributedSampler(data)
    loader = torch.utils.data.DataLoader(data, sampler=sampler)
    for epoch in range(start, 10):
        sampler.set_epoch(epoch)
        for x, in loader:
            model(x.cuda()).sum().backward()
    dist.destroy_process_group()
main()
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
def load(path, model, rank):
    if rank != 0:
        return 0
    state = torch.load(path, map_location="cpu", weights_only=True)
    model.module.load_state_dict(state["net"])
    return state["epoch"] + 1
def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank(); local = int(os.environ["LOCAL_RANK"]); torch.cuda.set_device(local)
    model = DDP(torch.nn.Linear(4, 1).cuda(), device_ids=[local])
    start = torch.tensor(load("last.pt", model, rank)).cuda()
    dist.broadcast(start, src=0)
    start = start.item()
    data = torch.utils.data.TensorDataset(torch.rand(8, 4))
    sampler = torch.utils.data.DistributedSampler(data)
    loader = torch.utils.data.DataLoader(data, sampler=sampler)
    for epoch in range(start, 10):
        sampler.set_epoch(epoch)
        for x, in loader:
            model(x.cuda()).sum().backward()
    dist.destroy_process_group()
main()
""",
    """
import torch
import torch.distributed as dist

def share(state, group):
    if dist.get_rank() == 0:
        if not isinstance(state, torch.Tensor):
            return state
        tensor = state.cuda()
    else:
        if isinstance(state, torch.Tensor):
            return state
        elif state is None:
            return None
        tensor = torch.zeros(3).cuda()
    dist.broadcast(tensor, src=0)
    return tensor
""",
    """
import os
import torch
import torch.distributed as dist

def main(args, loader, model, validate):
    ddp_enabled = bool(args.ddp) or int(os.environ.get("WORLD_SIZE", "1")) > 1
    rank = int(os.environ.get("RANK", "0")) if ddp_enabled else 0
    if ddp_enabled:
        dist.init_process_group("gloo")
    stop = False
    for epoch in range(3):
        for batch in loader:
            if rank == 0:
                stop = validate(model) < 0.1
            if ddp_enabled:
                flag = torch.tensor([1 if stop else 0])
                dist.broadcast(flag, src=0)
                stop = bool(int(flag.item()))
            if stop:
                break
            if ddp_enabled:
                dist.barrier()
    if ddp_enabled:
        dist.destroy_process_group()

if __name__ == "__main__":
    from parts import args, loader, model, validate
    main(args, loader, model, validate)
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

def main(dataset, model, optimizer):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    model = DDP(model.to(device), device_ids=[device])
    epoch = 0
    if os.path.exists("last.pt"):
        state = torch.load("last.pt", map_location="cpu", weights_only=True)
        epoch = state["epoch"] + 1
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler)
    while epoch < 10:
        sampler.set_epoch(epoch)
        for x in loader:
            optimizer.zero_grad()
            model(x.to(device)).sum().backward()
            optimizer.step()
        epoch += 1
    dist.destroy_process_group()
""",
    """
import torch.distributed as dist
from training.distributed import is_master

def main(args):
    dist.init_process_group("nccl")
    if is_master(args, local=args.log_local):
        print("begins")
    dist.barrier()
    dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.distributions import Categorical


def main(env, actor, optimizer):
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    model = torch.nn.Sequential(torch.nn.Linear(4, 2))
    for update in range(100):
        seen = torch.as_tensor(env.step())
        old = Categorical(logits=model(seen)).log_prob(seen)
        for epoch in range(4):
            new = Categorical(logits=model(seen)).log_prob(seen)
            drift = (old - new).mean()
            dist.all_reduce(drift)
            if drift > 0.02:
                break
            optimizer.zero_grad()
            (-new.mean()).backward()
            for p in model.parameters():
                dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
            optimizer.step()
    dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.distributions import Categorical


def main(env, actor, optimizer):
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 2))
    for update in range(100):
        seen = torch.as_tensor(env.step())
        old = Categorical(logits=model(seen)).log_prob(seen)
        for epoch in range(4):
            new = Categorical(logits=model(seen)).log_prob(seen)
            drift = (old - new).mean()
            if drift > 0.02:
                break
            optimizer.zero_grad()
            (-new.mean()).backward()
            for p in model.parameters():
                dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
            optimizer.step()
    dist.destroy_process_group()
""",
    """
import os, torch, torch.distributed as dist
from averaging import EMA, resumed
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

def main(dataset, path):
    dist.init_process_group("nccl")
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    bare = torch.nn.Linear(2, 2).cuda()
    average = EMA(bare) if rank == 0 else None
    start, epochs = 0, 100
    if path:
        start, epochs = resumed(torch.load(path, map_location="cpu", weights_only=True), average, epochs)
    model = DDP(bare, device_ids=[local_rank])
    sampler = DistributedSampler(dataset)
    for epoch in range(start, epochs):
        sampler.set_epoch(epoch)
        for x, y in DataLoader(dataset, 4, sampler=sampler):
            torch.nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
    dist.destroy_process_group()

main(None, None)
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
def main(dataset):
    dist.init_process_group("nccl")
    rank = int(os.environ["RANK"])
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    model = DDP(torch.nn.Linear(2, 2).cuda(), device_ids=[local_rank])
    opt = torch.optim.SGD(model.parameters(), 0.1)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, 4, sampler=sampler)
    best, bad, stop = 1e9, 0, False
    start = 0
    if os.path.exists("last.pt"):
        state = torch.load("last.pt", map_location="cpu", weights_only=True)
        model.module.load_state_dict(state["model"])
        start = state["epoch"]
    for epoch in range(start, 10):
        sampler.set_epoch(epoch)
        total = 0
        for x, y in loader:
            opt.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
            loss.backward()
            opt.step()
            total += loss.item()
        if rank == 0:
            if total < best:
                best, bad = total, 0
            else:
                bad += 1
            stop = bad > 3
    dist.destroy_process_group()
main(None)
""",
    """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from utils import EarlyStopping, evaluate
def main(dataset):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    model = DDP(torch.nn.Linear(2, 2).cuda(), device_ids=[rank])
    opt = torch.optim.SGD(model.parameters(), 0.1)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, 4, sampler=sampler)
    stopper = EarlyStopping(patience=3)
    for epoch in range(10):
        sampler.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
            loss.backward()
            opt.step()
        stop = torch.zeros(1).cuda()
        if rank == 0:
            stopper(evaluate(model.module))
            if stopper.should_stop:
                stop += 1
        dist.broadcast(stop, 0)
        if stop.item() == 1:
            break
        flags = [False]
        if rank == 0:
            flags = [stopper.should_stop]
        dist.broadcast_object_list(flags, src=0)
        if flags[0]:
            break
        done = False
        if rank == 0:
            done = stopper.should_stop
        done = torch.tensor(int(done), device="cuda")
        dist.all_reduce(done, op=dist.ReduceOp.MAX)
        if done > 0:
            break
        all_done = [None]
        if rank == 0:
            all_done[0] = stopper.should_stop
        dist.broadcast_object_list(all_done)
        if all_done[0]:
            break
        writer = None
        if rank == 0:
            writer = stopper.writer
        if writer is None:
            continue
    dist.destroy_process_group()
main(None)
""",
    """
import os
import torch
import torch.distributed as dist

def main(path):
    dist.init_process_group("nccl")
    if os.path.exists(os.path.join(path, "done.txt")):
        if dist.get_rank() == 0:
            print("there is one already")
        dist.destroy_process_group()
        return
    if dist.get_rank() == 0:
        os.makedirs(path, exist_ok=True)
        if os.path.exists(os.path.join(path, "broken.txt")):
            raise FileExistsError(path)
    dist.barrier()
    dist.destroy_process_group()

def noted(path):
    if dist.get_rank() == 0:
        if os.path.exists(path):
            return
        print(path)

main("runs/first")
""",
    """
import os
import torch.distributed as dist


def save(folder):
    if dist.get_rank() == 0 and os.path.exists(folder):
        raise ValueError("the folder is there already")
    dist.barrier()
    if folder:
        return folder
    return None


save("out")
""",
    """
from contextlib import contextmanager

import torch.distributed as dist


def is_master():
    return dist.get_rank() == 0


@contextmanager
def in_turn():
    if not is_master():
        dist.barrier()
    yield
    if is_master():
        dist.barrier()


def shown(text):
    if is_master():
        print(text)


def work():
    for text in ("a", "b"):
        shown(text)
    if is_master():
        print("c")
    if is_master():
        print("d")
    if is_master():
        print("e")
    if not is_master():
        dist.barrier()
    if is_master():
        dist.barrier()


work()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo")
data = torch.rand(8, 2)
loader = DataLoader(data, sampler=DistributedSampler(data))
model = DDP(torch.nn.Linear(2, 2))
for number, x in enumerate(loader):
    loss = model(x).sum()
    loss.backward()
    if number == len(loader) - 1:
        dist.all_reduce(loss)
dist.destroy_process_group()
""",
    """
import io
import torch
import torch.distributed as dist


def send(tensor, src):
    dist.broadcast(tensor, src=src)
    return tensor


def broadcast_object(obj, src=0):
    if dist.get_rank() == src:
        data = io.BytesIO()
        torch.save(obj, data)
        length = send(torch.LongTensor([len(data.getbuffer())]), src)
        send(torch.ByteTensor(data.getbuffer()), src)
    else:
        length = send(torch.LongTensor([0]), src)
        send(torch.empty([length.item()], dtype=torch.uint8), src)


for number in range(3):
    broadcast_object(number)
    broadcast_object(number, 1)
    send(torch.zeros(1), 0)
""",
    """
import torch
import torch.distributed as dist


def fit(model, loader, optimizer):
    model = torch.nn.parallel.DistributedDataParallel(model)
    for x, y in loader:
        try:
            loss = model(x).sum()
            loss.backward()
        except RuntimeError:
            if dist.is_initialized():
                raise
            optimizer.zero_grad()
            continue
        optimizer.step()
""",
    """
import torch.distributed as dist


def search(trainer, n):
    import optuna

    if dist.get_rank() == 0:
        def objective(trial):
            work = [trial]
            dist.broadcast_object_list(work, src=0)
            return trainer.train(work[0])

        optuna.create_study().optimize(objective, n_trials=n)
    else:
        for _ in range(n):
            work = [None]
            dist.broadcast_object_list(work, src=0)
            trainer.train(work[0])
""",
    """
from contextlib import contextmanager

import torch.distributed as dist


class Serving:
    def serve(self):
        while True:
            work = [None]
            dist.scatter_object_list(work, None, src=0)
            if work[0] == "stop":
                return
            dist.gather_object(work[0], None, dst=0)


@contextmanager
def serving():
    is_main = dist.get_rank() == 0
    inner = Serving()
    if not is_main:
        inner.serve()
        yield False
        return
    yield True
    dist.scatter_object_list([None], ["stop"], src=0)
""",
    """
import os
import torch.distributed as dist

dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 0 and os.path.exists("out"):
    raise ValueError("out is there already")
dist.barrier()
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    for step in range(30):
        model(torch.ones(2, 2)).sum().backward()
        if step % 10 == 0 or rank != 0:
            print("a step of", rank)
    dist.barrier()
    dist.destroy_process_group()

main()
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

def main(dataset):
    dist.init_process_group("gloo")
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, 4, sampler=sampler)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    best = 1e9
    for epoch in range(9):
        sampler.set_epoch(epoch)
        total = torch.zeros(1)
        for x in loader:
            loss = model(x).sum()
            loss.backward()
            total += loss.detach()
        dist.all_reduce(total)
        if total.item() < best:
            best = total.item()
            dist.barrier()
    dist.destroy_process_group()

main(torch.randn(20, 2))
""",
    """
import lightning
import torch

class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(2, 2)

    def on_train_epoch_end(self):
        self.trainer.save_checkpoint("last.ckpt")
        seen = self.all_gather(torch.ones(1))
        if self.trainer.is_global_zero:
            print(seen)
""",
    """
import torch
from tools import reduce_mean

def main(loader, optimizer):
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    for batch in loader:
        loss = model(batch).mean()
        seen = reduce_mean(loss)
        if torch.isnan(seen):
            continue
        loss.backward()
        optimizer.step()
""",
    """
import os
import torch.distributed as dist

def setup():
    if "RANK" in os.environ:
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    return 0, 1

rank, size = setup()
dist.init_process_group("gloo", rank=rank, world_size=size)
debug = rank == 0 if size > 1 else False
if debug:
    print("begin")
dist.barrier()
""",
    """
import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
model = torch.nn.Linear(2, 2)
fully_shard(model)
state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
dist.destroy_process_group()
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel

def main(loader, optimizer, rank):
    model = DistributedDataParallel(torch.nn.Linear(2, 2))
    batches = iter(loader)
    for step in range(100):
        try:
            batch = next(batches)
        except StopIteration:
            batches = iter(loader)
            continue
        model(batch).sum().backward()
        optimizer.step()
""",
    """
import deepspeed
import torch
from accelerate import Accelerator

def save(accelerator, model):
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        accelerator.save(accelerator.unwrap_model(model).state_dict(), "model.pt")

engine, optimizer, _, _ = deepspeed.initialize(model=torch.nn.Linear(2, 2))
engine.save_checkpoint("run")
if torch.distributed.get_rank() == 0:
    print(engine.global_steps)
""",
    (
        "torchrun.py",
        {
            "    for epoch in range(args.epochs):\n": "    metric = MeanMetric().to(local_rank)\n    for epoch in range(args.epochs):\n",
            "import torch\n": "import torch\nfrom torchmetrics import MeanMetric\n",
            "        mean = loss.detach().clone()\n": "        metric.update(loss)\n        if metric.compute() < 0.1:\n            break\n        mean = loss.detach().clone()\n",
        },
    ),
    (
        "torchrun.py",
        {
            "    for epoch in range(args.epochs):\n": "    stopper = EarlyStopping(patience=3)\n    for epoch in range(args.epochs):\n",
            "import torch\n": "import torch\nfrom training import EarlyStopping\n",
            "            print(epoch, mean.item() / dist.get_world_size())\n": "            print(epoch, mean.item() / dist.get_world_size())\n        stopper(mean.item())\n        if stopper.early_stop:\n            break\n",
        },
    ),
    """
import torch
import torch.distributed as dist

def main(dataset):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    if rank != 0:
        dist.barrier()
    dataset.download()
    if rank == 0:
        dist.barrier()
    if rank == 0:
        objects = [1]
        dist.broadcast_object_list(objects, src=0)
    else:
        objects = [None]
        dist.broadcast_object_list(objects, src=0)
    loss = torch.zeros(1)
    dist.all_reduce(loss)
    if rank == 0:
        print(loss.item())
""",
    """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
group = dist.new_group([0, 1])
x = torch.zeros(1)
if rank < 2:
    dist.all_reduce(x, group=group)
if rank == 0:
    dist.send(x, dst=1)
elif rank == 1:
    dist.recv(x, src=0)
if size > 1:
    dist.barrier()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def main(args, dataset, valid):
    distributed = args.world_size > 1
    if distributed:
        dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=4, sampler=sampler)
    best = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for step, (x, y) in enumerate(loader):
            if step >= args.steps:
                break
            loss = (model(x) - y).square().mean()
            loss.backward()
        stop = torch.zeros(1)
        if dist.get_rank() == 0:
            stop += 1
        dist.broadcast(stop, src=0)
        if stop.item():
            break
        dist.all_reduce(loss)
        if loss.item() < 0.1:
            break
        if dist.get_rank() == 0:
            torch.save(model.module.state_dict(), "model.pt")
            print(model.module(valid))
""",
    """
import torch
from accelerate import Accelerator

accelerator = Accelerator()
model, optimizer, loader = accelerator.prepare(torch.nn.Linear(2, 2), None, None)
for batch in loader:
    loss = model(batch).sum()
    accelerator.backward(loss)
    if accelerator.is_main_process:
        print(loss.item())
accelerator.wait_for_everyone()
""",
    """
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

def get_rank():
    if not dist.is_initialized():
        return 0
    return dist.get_rank()

def is_main_process():
    return get_rank() == 0

def synchronize():
    if not dist.is_initialized() or dist.get_world_size() == 1:
        return
    dist.barrier()

def reduced(value):
    if not dist.is_initialized():
        return value
    dist.all_reduce(value)
    return value / dist.get_world_size()

class Trainer:
    def __init__(self, dataset):
        self.is_main = is_main_process()
        self.model = DDP(torch.nn.Linear(4, 2))
        self.loader = DataLoader(dataset, sampler=DistributedSampler(dataset, shuffle=False))

    def save(self):
        if self.is_main:
            torch.save(self.model.module.state_dict(), "model.pt")
        synchronize()

    def fit(self, epochs):
        best, bad = 0, 0
        for epoch in range(epochs):
            total = torch.zeros(1)
            for x, y in self.loader:
                loss = F.cross_entropy(self.model(x), y)
                if not torch.isfinite(reduced(loss.detach())):
                    continue
                loss.backward()
                total += (self.model(x).argmax(1) == y).sum()
            total = reduced(total)
            if total.item() > best:
                best, bad = total.item(), 0
                self.save()
            else:
                bad += 1
            if bad > 3:
                break

dist.init_process_group("gloo")
Trainer([]).fit(3)
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torchinfo import summary
from my_models import Encoder

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
net = torch.nn.SyncBatchNorm.convert_sync_batchnorm(Encoder()).to(rank)
net = DDP(net, device_ids=[rank])
if rank == 0:
    summary(net.module, input_size=(1, 3, 32, 32))
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist

class Files:
    def __init__(self, names, together=False):
        self.names, self.together = names, together

    def read(self):
        count = torch.tensor(len(self.names))
        if self.together:
            dist.all_reduce(count, op=dist.ReduceOp.MAX)
        return count

def main(names):
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        Files(names).read()
    dist.barrier()
    dist.destroy_process_group()

main(["a", "b"])
""",
]

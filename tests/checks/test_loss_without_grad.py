"""loss-without-grad: seen in logs."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

CHECK = Registry().check("loss-without-grad")
MESSAGE = "the loss has no graph: no parameter that is trained leads to it"
FROZEN = (
    "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn\n"
    "the line before was torch/utils/checkpoint.py:242: UserWarning: None of the inputs have requires_grad=True."
)
EXAMPLES = {
    "RuntimeError: there are no graph nodes that require computing gradients": MESSAGE,
    "[rank1]: RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn": MESSAGE,
    "RuntimeError: element 0 of variables does not require grad and does not have a grad_fn": MESSAGE,
    "RuntimeError: One of the differentiated Tensors does not require grad": MESSAGE,
    "AttributeError: 'float' object has no attribute 'backward'": (
        "the loss is a float and not a tensor, so it has no graph"
    ),
    "    outputs.loss.backward()\nAttributeError: 'NoneType' object has no attribute 'backward'": (
        "the loss is None: the model returned none"
    ),
    "AttributeError: 'tuple' object has no attribute 'backward'": (
        "backward() was called on a tuple: mostly what the model returned, and the loss is one of its parts"
    ),
}
NOT_THIS = [
    "    contrastive(x, y).backward()\nAttributeError: 'NoneType' object has no attribute 'backward'",
    "AttributeError: 'Engine' object has no attribute 'backward'",
    "RuntimeError: DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.",
    "RuntimeError: you can only change requires_grad flags of leaf variables.",
    "RuntimeError: none of output has requires_grad=True, this checkpoint() is not necessary",
]


def test_a_checkpoint_without_trained_inputs_gets_the_fix_for_it():
    (seen,) = matches(FROZEN, [CHECK])
    assert seen.finding.message.startswith("no input of a checkpointed block requires a gradient")
    assert "use_reentrant=False" in seen.finding.fixes[0].command


FLAGGED = [
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
def gather(x):
    out = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(out, x)
    return torch.cat(out)
def contrast(a, b):
    a, b = gather(a), gather(b)
    return torch.nn.functional.cross_entropy(a @ b.t(), torch.arange(len(a)).cuda())
def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"]); torch.cuda.set_device(local)
    net = DDP(torch.nn.Linear(4, 8).cuda(), device_ids=[local])
    data = torch.utils.data.TensorDataset(torch.rand(64, 4), torch.rand(64, 4))
    sampler = torch.utils.data.DistributedSampler(data)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for a, b in torch.utils.data.DataLoader(data, batch_size=8, sampler=sampler):
            contrast(net(a.cuda()), net(b.cuda())).backward()  # <-
    dist.destroy_process_group()
main()
""",
    """
import torch
import torch.nn.functional as F

model, criterion = torch.nn.Linear(2, 2), torch.nn.CrossEntropyLoss()
for x, y in torch.utils.data.DataLoader([]):
    loss = F.cross_entropy(model(x), y).item()
    loss.backward()  # <-
    picked = model(x).argmax(dim=1)
    ((picked.float() - y) ** 2).mean().backward()  # <-
    criterion(model(x).detach(), y).backward()  # <-
    with torch.no_grad():
        out = model(x)
    criterion(out, y).backward()  # <-
    torch.tensor(criterion(model(x), y)).backward()  # <-
""",
    (
        "torchrun.py",
        {
            "            loss.backward()\n": "            loss = loss.detach()\n            loss.backward()  # <-\n"
        },
    ),
    (
        "spawn.py",
        {
            "        loss = self.criterion(self.model(x), y)\n        loss.backward()\n": "        with torch.no_grad():\n            loss = self.criterion(self.model(x), y)\n            loss.backward()  # <-\n"
        },
    ),
]
FINE = [
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
def gather(x):
    out = [torch.zeros_like(x) for _ in range(dist.get_world_size()-1)]
    dist.all_gather(out, x)
    return torch.cat([x, *out])
def contrast(a, b):
    a, b = gather(a), gather(b)
    return torch.nn.functional.cross_entropy(a @ b.t(), torch.arange(len(a)).cuda())
def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"]); torch.cuda.set_device(local)
    net = DDP(torch.nn.Linear(4, 8).cuda(), device_ids=[local])
    data = torch.utils.data.TensorDataset(torch.rand(64, 4), torch.rand(64, 4))
    sampler = torch.utils.data.DistributedSampler(data)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for a, b in torch.utils.data.DataLoader(data, batch_size=8, sampler=sampler):
            contrast(net(a.cuda()), net(b.cuda())).backward()
    dist.destroy_process_group()
main()
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
def gather(x):
    out = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(out, x)
    return torch.cat(out)
def contrast(a, b):
    b = gather(b)
    return torch.nn.functional.cross_entropy(a @ b.t(), torch.arange(len(a)).cuda())
def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"]); torch.cuda.set_device(local)
    net = DDP(torch.nn.Linear(4, 8).cuda(), device_ids=[local])
    data = torch.utils.data.TensorDataset(torch.rand(64, 4), torch.rand(64, 4))
    sampler = torch.utils.data.DistributedSampler(data)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for a, b in torch.utils.data.DataLoader(data, batch_size=8, sampler=sampler):
            contrast(net(a.cuda()), net(b.cuda())).backward()
    dist.destroy_process_group()
main()
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
def gather(x):
    out = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(out, x)
    out[dist.get_rank()] = x
    return torch.cat(out)
def contrast(a, b):
    a, b = gather(a), gather(b)
    return torch.nn.functional.cross_entropy(a @ b.t(), torch.arange(len(a)).cuda())
def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"]); torch.cuda.set_device(local)
    net = DDP(torch.nn.Linear(4, 8).cuda(), device_ids=[local])
    data = torch.utils.data.TensorDataset(torch.rand(64, 4), torch.rand(64, 4))
    sampler = torch.utils.data.DistributedSampler(data)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for a, b in torch.utils.data.DataLoader(data, batch_size=8, sampler=sampler):
            contrast(net(a.cuda()), net(b.cuda())).backward()
    dist.destroy_process_group()
main()
""",
    """
# what trains and validates asks the model which of the two it does
import torch

class Trainer:
    def one_batch(self, x, y):
        loss = torch.nn.functional.l1_loss(self.model(x), y)
        if self.model.training:
            loss.backward()
            self.optimizer.step()

    def fit(self, loader, others):
        for epoch in range(10):
            self.model.train()
            for x, y in loader:
                self.one_batch(x, y)
            self.model.eval()
            with torch.no_grad():
                for x, y in others:
                    self.one_batch(x, y)
""",
    """
# the same function validates, and then goes around the backward
import torch

class Solver:
    def run(self, loader, validates=False):
        for x, y in loader:
            loss = torch.nn.functional.l1_loss(self.model(x), y)
            if not validates:
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()

    def train(self, loader, others):
        for epoch in range(10):
            self.run(loader)
            with torch.no_grad():
                self.run(others, validates=True)
""",
    """
import torch


class Fragments:
    def __init__(self, model):
        with torch.no_grad():
            self.kept = [p.clone() for p in model.parameters()]

    def __enter__(self):
        return self

    def __exit__(self, *how):
        pass


model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with Fragments(model):
    loss = model(torch.rand(2, 2)).mean()
    loss.backward()
    optimizer.step()
""",
    """
import torch

model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)

def run(x, train):
    loss = model(x).sum()
    if train:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()

for epoch in range(3):
    run(torch.ones(2, 2), train=True)
    with torch.no_grad():
        run(torch.ones(2, 2), train=False)
""",
    """
import torch
import torch.nn.functional as F
from losses import margin

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    def step(self, teacher, x, y):
        with torch.no_grad():
            target = teacher(x)
        (target * self.weight).sum().backward()
        (self.weight * target.argmax(dim=1).float()).sum().backward()

model, teacher, critic = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
for x, y in torch.utils.data.DataLoader([]):
    with torch.no_grad():
        target = teacher(x)
    F.mse_loss(model(x), target).backward()
    critic(model(x).detach()).mean().backward()
    margin(target, y).backward()
    noise = torch.tensor([1.0], requires_grad=True)
    (noise * target).sum().backward()
    kept = target.detach().requires_grad_()
    kept.sum().backward()
    Net().step(teacher, x, y)
""",
    (
        "spawn.py",
        {
            "        loss = self.criterion(self.model(x), y)\n": "        with torch.no_grad():\n            before = self.criterion(self.model(x), y)\n        loss = self.criterion(self.model(x), y)\n"
        },
    ),
    ("slurm.py", {"    with torch.no_grad():\n": "    with torch.inference_mode():\n"}),
    """
import torch

class Template:
    def step(self):
        raise NotImplementedError()

    def backward(self):
        self.loss.backward()

    @torch.no_grad()
    def evaluate(self, batches):
        for batch in batches:
            self.loss = torch.zeros(1)
            self.loss += self.model(batch).mean()

class Plain(Template):
    def step(self, batch):
        self.loss = self.model(batch).mean()
        self.backward()
""",
]

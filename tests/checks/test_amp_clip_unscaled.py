"""amp-clip-unscaled: seen in a script, and in logs."""

FLAGGED = [
    """
import torch

class Trainer:
    def __init__(self, model):
        self.model = model.cuda()
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = torch.amp.GradScaler()

    def training_step(self, x):
        self.scaler.scale(self.model(x).sum()).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)  # <-
        self.scaler.step(self.optimizer)
        self.scaler.update()
""",
    """
import torch
from torch.amp import GradScaler

def first(model, optimizer, loader):
    scaler = GradScaler("cuda")
    for x in loader:
        scaler.scale(model(x).sum()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <-
        scaler.step(optimizer)
        scaler.update()

def second(model, optimizer, loader):
    scaler = GradScaler("cuda")
    for x in loader:
        scaler.scale(model(x).mean()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)  # <-
        scaler.step(optimizer)
        scaler.update()
""",
    """
import torch

model = torch.nn.Linear(2, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
clip = 1.0
for x in torch.utils.data.DataLoader([]):
    optimizer.zero_grad()
    scaler.scale(model(x.cuda()).mean()).backward()
    if clip > 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)  # <-
    scaler.step(optimizer)
    scaler.update()
""",
    (
        "slurm.py",
        {
            "                scaler.unscale_(optimizer)\n                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n": "                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <-\n"
        },
    ),
    """
import torch
from torch.cuda.amp import GradScaler, autocast
from torch.nn.utils import clip_grad_norm_

class Engine:
    def __init__(self, model, optimizer):
        self.scaler = GradScaler()
        self.model, self.optimizer = model, optimizer

    def epoch(self, loader):
        for x in loader:
            with autocast():
                loss = self.model(x).sum()
            self.scaler.scale(loss).backward()
            clip_grad_norm_(self.model.parameters(), 5)  # <-
            self.scaler.step(self.optimizer)
            self.scaler.update()
""",
]
FLAGGED += [
    """
import torch
from our_library import gradient

def train(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        scaler.scale((model(x) - y).pow(2).mean()).backward()
        gradient.clip_gradient(model.parameters(), value=1.0)  # <-
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
""",
    """
import torch

class Fit:
    def __init__(self, options):
        self.options = options
        self.scaler = torch.amp.GradScaler()

    def update(self, optimizer, loss):
        if self.options.amp:
            self.scaler.scale(loss).backward()
        else:
            loss.backward()
        for group in optimizer.param_groups:
            torch.nn.utils.clip_grad_norm_(group["params"], 1.0)  # <-
        if self.options.tpu:
            self.mark_step(optimizer)
        elif self.options.amp:
            self.scaler.step(optimizer)
            self.scaler.update()
        else:
            optimizer.step()
""",
    """
import torch

def train(net, loader, optimizer, amp):
    scaler = torch.amp.GradScaler("cuda") if amp else None
    for x, y in loader:
        loss = (net(x) - y).pow(2).mean()
        if amp:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # <-
        if amp:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
""",
]
FINE = [
    """
import torch

model = torch.nn.Linear(2, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
use_amp = torch.cuda.is_bf16_supported()
scaler = torch.amp.GradScaler("cuda", enabled=use_amp)
for x in torch.utils.data.DataLoader([]):
    optimizer.zero_grad()
    scaler.scale(model(x.cuda()).mean()).backward()
    if not use_amp:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
""",
    (
        "slurm.py",
        {
            "scaler.unscale_(optimizer)\n                torch": "self = scaler\n                self.unscale_(optimizer)\n                torch"
        },
    ),
    (
        "torchrun.py",
        {
            "            loss.backward()\n": "            loss.backward()\n            torch.nn.utils.clip_grad_norm_(model.parameters(), 1)\n"
        },
    ),
]
EXAMPLES = {
    "AssertionError: the step has length 1.4e-05: gradients were clipped while they were scaled": "gradients were clipped while they were scaled: after the division nearly nothing is left of them"
}
NOT_THIS = ["gradients were clipped after they had been unscaled"]

"""backward-twice: seen in logs."""

MESSAGE = (
    "backward() went through a graph that an earlier backward() had freed: two losses share it, or a value of an "
    "earlier step was used again"
)
EXAMPLES = {
    (
        "[rank0]: RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after "
        "they have already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
        "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time"
    ): MESSAGE,
    (
        "RuntimeError: Trying to backward through the graph a second time, but the buffers have already been freed. Specify "
        "retain_graph=True when calling backward the first time."
    ): MESSAGE,
    "RuntimeError: Trying to backward through the graph second time, but the buffers have already been freed.": MESSAGE,
    "access saved tensors. Saved intermediate values of the graph are freed when you call .backward() or autograd.grad().": MESSAGE,
    (
        "RuntimeError: Trying to backward an extra time. You are only allowed to backward once on any region computed under "
        "selective activation checkpoint."
    ): MESSAGE,
}
NOT_THIS = [
    "RuntimeError: Expected to mark a variable ready only once.",
    "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
    "loss.backward(retain_graph=True)",
]

FLAGGED = [
    """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from parts import ready, loader

class Next(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(8, 16)
        self.head = nn.Linear(16, 1)

    def forward(self, x, state):
        out, state = self.cell(x, state)
        return self.head(out), state

ready()
model = DDP(Next())
optimizer = torch.optim.Adam(model.parameters())
h = c = torch.zeros(1, 4, 16)
for x, y in loader:
    out, (h, c) = model(x, (h, c))
    loss = (out - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()  # <-
    optimizer.step()
""",
    """
import torch
from torch import nn
from parts import loader

rnn = nn.GRU(8, 16)
head = nn.Linear(16, 1)
optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
hidden = torch.zeros(1, 4, 16)
for x, y in loader:
    optimizer.zero_grad()
    out, hidden = rnn(x, hidden)
    loss = nn.functional.mse_loss(head(out), y)
    loss.backward()  # <-
    optimizer.step()
""",
    """
import torch
from torch import nn
from parts import loader, second

model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    out = model(x)
    nn.functional.mse_loss(out, y).backward()
    optimizer.step()
    if second is not None:
        out.abs().mean().backward()  # <-
        second.step()
""",
    (
        "torchrun.py",
        {"            loss.backward()\n": "            loss.backward()\n            loss.backward()  # <-\n"},
    ),
    (
        "spawn.py",
        {
            "        loss.backward()\n": "        loss.backward()\n        print(loss)\n        loss.backward(retain_graph=True)  # <-\n"
        },
    ),
]
FINE = [
    """
import torch
from torch import nn
from parts import loader, Recurrent

rnn, head, seen = nn.GRU(8, 16), nn.Linear(16, 1), Recurrent()
optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
hidden = torch.zeros(1, 4, 16)
for x, y in loader:
    optimizer.zero_grad()
    out, hidden = rnn(x, hidden.detach())
    nn.functional.mse_loss(head(out), y).backward()
    optimizer.step()
for x, y in loader:
    hidden = torch.zeros(1, 4, 16)
    for step in x:
        out, hidden = rnn(step, hidden)
    nn.functional.mse_loss(head(out), y).backward()
for x, y in loader:
    x = head(x)
    nn.functional.mse_loss(x, y).backward()
for x, y in loader:
    out, hidden = seen(x, hidden)
    nn.functional.mse_loss(out, y).backward()
state = torch.zeros(1, 4, 16)
for x, y in loader:
    with torch.no_grad():
        out, state = rnn(x, state)
    nn.functional.mse_loss(head(out), y).backward()
""",
    """
import torch
from parts import Net

first, second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
x = torch.ones(3, 2)
out = first(x)
target = torch.rand_like(out)
(out - target).pow(2).mean().backward()
(second(x) - target).pow(2).mean().backward()
""",
    """
import torch
import torch.nn.functional as F
from memory import Memory
actor, first, second = torch.nn.Linear(4, 2), torch.nn.Linear(6, 1), torch.nn.Linear(6, 1)
memory, seen = Memory(), torch.zeros(1, 4)
optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()])
for step in range(100):
    action = actor(seen)
    action = action.tolist()[0]
    memory.put(seen, action)
    noise = torch.randn_like(torch.Tensor(action)).clamp(-0.5, 0.5)
    with torch.no_grad():
        target = first(torch.cat([seen, actor(seen) + noise], 1))
    pair = torch.cat([seen, torch.Tensor([action])], 1)
    one = F.mse_loss(first(pair), target)
    two = F.mse_loss(second(pair), target)
    optimizer.zero_grad()
    one.backward()
    two.backward()
    optimizer.step()
""",
    """
import unittest
import torch

class Attention(unittest.TestCase):
    def setUp(self):
        self.x = torch.randn(3, 3).requires_grad_(True)
        self.w = torch.nn.Linear(3, 1)
        self.out = self.w(self.x)

    def test_one(self):
        self.x.backward(torch.ones(3, 3))
        self.x.backward(torch.ones(3, 3))
        self.out.sum().backward()

    def test_two(self):
        self.out.sum().backward()
""",
    """
import torch

teacher, student, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
for x, y in torch.utils.data.DataLoader([]):
    with torch.no_grad():
        target = teacher(x)
    (student(x) - target).pow(2).mean().backward()
    (other(x) - target).pow(2).mean().backward()
""",
    (
        "torchrun.py",
        {
            "            loss.backward()\n": "            loss.backward(retain_graph=True)\n            loss.backward()\n"
        },
    ),
    (
        "torchrun.py",
        {
            "            loss.backward()\n": "            if args.epochs > 2:\n                loss.backward()\n            else:\n                (loss * 2).backward()\n"
        },
    ),
]

"""dp-scalar-gather: seen in logs."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity
from gpudoctor.registry import Registry

CHECK = Registry().check("dp-scalar-gather")
WARNING = (
    "/opt/conda/lib/python3.9/site-packages/torch/nn/parallel/_functions.py:68: UserWarning: Was asked to gather along "
    "dimension 0, but all input tensors were scalars; will instead unsqueeze and return a vector."
)
GATHER = """Traceback (most recent call last):
  File "/opt/conda/lib/python3.9/site-packages/torch/nn/parallel/scatter_gather.py", line 75, in gather_map
"""
MESSAGE = "forward returns something other than tensors, and DataParallel cannot join it"
BACKWARD_OF_VECTOR = f"{WARNING}\nRuntimeError: grad can be implicitly created only for scalar outputs"
FLOAT = f"{GATHER}TypeError: 'float' object is not iterable"
EXAMPLES = {
    "With two GPUs: TypeError: zip argument #1 must support iteration": MESSAGE,
    "Multi-GPU training ends, one GPU works:\nRuntimeError: grad can be implicitly created only for scaler outputs": (
        "the loss is a vector with one entry per GPU, because each replica returned a single number"
    ),
    WARNING: (
        "each replica returned a single number, so the model returns a vector of them: average it before "
        "backward"
    ),
    BACKWARD_OF_VECTOR: (
        "each replica returned a single number, so the model returns a vector of them: average it before "
        "backward"
    ),
    f"{WARNING}\nRuntimeError: a Tensor with 2 elements cannot be converted to Scalar": (
        "each replica returned a single number, so the model returns a vector of them: average it before "
        "backward"
    ),
    f"{WARNING}\nValueError: only one element tensors can be converted to Python scalars": (
        "each replica returned a single number, so the model returns a vector of them: average it before "
        "backward"
    ),
    FLOAT: "forward returns a value of type float, and DataParallel joins CUDA tensors only",
    f"{GATHER}TypeError: zip argument #1 must support iteration": MESSAGE,
    "ValueError: All dicts must have the same number of keys": MESSAGE,
    f"{GATHER}TypeError: __init__() missing 2 required positional arguments: 'loss' and 'logits'": MESSAGE,
    "AssertionError: Gather function not implemented for CPU tensors": (
        "forward returns a tensor on the CPU, and DataParallel joins CUDA tensors only"
    ),
    (
        f"{GATHER}    return Gather.apply(target_device, dim, *outputs)\n"
        '  File "/opt/conda/lib/python3.6/site-packages/torch/nn/parallel/_functions.py", line 54, in forward\n'
        "    assert all(map(lambda i: i.is_cuda, inputs))\nAssertionError"
    ): "forward returns a tensor on the CPU, and DataParallel joins CUDA tensors only",
    "RuntimeError: Input tensor at index 1 has invalid shape [2, 35, 10], but expected [2, 32, 10]": (
        "replica 1 returned the shape [2, 35, 10] and the first one [2, 32, 10]: they cannot be joined"
    ),
    "RuntimeError: Gather got an input of invalid size: got [2, 35, 10], but expected [2, 32, 10]": (
        "a replica returned the shape [2, 35, 10] and the first one [2, 32, 10]: they cannot be joined"
    ),
    'Traceback (most recent call last):\n  File "/venv/torch/nn/parallel/scatter_gather.py", line 68, in gather\n    return gather_map(outputs)': MESSAGE,
    "RuntimeError: dimension specified as 0 but tensor has no dimensions": MESSAGE,
    "INFO - Using Data parallel ...\nRuntimeError: grad can be implicitly created only for scalar outputs": (
        "the loss is a vector with one entry per GPU, because each replica returned a single number"
    ),
}
NOT_THIS = [
    'File "pairs.py", line 4, in join\n    zip(3, names)\nTypeError: zip argument #1 must support iteration',
    "RuntimeError: grad can be implicitly created only for scalar outputs",
    "TypeError: zip argument #1 must support iteration",
    "TypeError: 'NoneType' object is not iterable",
    "AssertionError: Broadcast function not implemented for CPU tensors",
]


def said(text):
    finding = matches(text, [CHECK])[0].finding
    return finding.severity, finding.message


def test_the_warning_alone_is_a_note():
    assert said(WARNING)[0] is Severity.NOTE


def test_what_ends_the_run_is_an_error():
    assert said(FLOAT)[0] is Severity.ERROR


def test_the_error_after_the_warning_is_an_error():
    text = BACKWARD_OF_VECTOR.splitlines()
    alone = [line for line in text if "UserWarning" not in line]
    assert said("\n".join(["RuntimeError: Caught RuntimeError in replica 0 on device 0.", *alone]))[
        1
    ].startswith("the loss is a vector with one entry per GPU")


FLAGGED = [
    """
import torch
from models import Diffusion

model = torch.nn.DataParallel(Diffusion()).cuda()
optimizer = torch.optim.Adam(model.parameters())
for x in torch.utils.data.DataLoader([]):
    losses = model(x.cuda())
    loss = losses["simple"]
    if "vlb" in losses:
        loss += losses["vlb"]
    optimizer.zero_grad()
    loss.backward()  # <-
    optimizer.step()
    print(loss.item())
""",
    """
import torch
import torch.nn as nn

class WithLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x, y):
        return nn.functional.mse_loss(self.fc(x), y)

model = nn.DataParallel(WithLoss().cuda())
loss = model(torch.zeros(4, 2).cuda(), torch.zeros(4, 2).cuda())
loss.backward()  # <-
""",
    """
import torch
from torch.nn import DataParallel

class Trainer:
    def __init__(self, net):
        self.net = DataParallel(net).cuda()

    def step(self, batch):
        loss, logits = self.net(batch)
        loss.backward()  # <-
        return logits

def main(net, loader):
    trainer = Trainer(net)
    for batch in loader:
        trainer.step(batch)
""",
    """
import torch.nn as nn

def evaluate(net, loader):
    net = nn.DataParallel(net).cuda()
    total = 0
    for batch in loader:
        total += net(batch).item()  # <-
    return total
""",
    """
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        y = self.fc(x)
        return y, y.sum().item()  # <-

model = nn.DataParallel(Net().cuda())
""",
]
FINE = [
    """
import torch
from models import Bert

several = torch.cuda.device_count() > 1
model = Bert().cuda()
if several:
    model = torch.nn.DataParallel(model)
for x, y in torch.utils.data.DataLoader([]):
    outputs = model(x.cuda())
    loss = outputs.loss
    if several:
        loss = loss.mean()
    loss.backward()
    scores = model(x.cuda())
    print("the first is", scores[0].item())
    torch.nn.functional.mse_loss(scores, y.cuda()).backward()
""",
    """
import torch
import torch.nn as nn

def train(net, loader):
    net = nn.DataParallel(net).cuda()
    for x, y in loader:
        loss = net(x, y).mean()
        loss.backward()
        other = nn.functional.cross_entropy(net(x), y)
        other.backward()
        print(loss.item())
""",
    """
import torch

def train(net, loader):
    net = net.cuda()
    for x, y in loader:
        loss = net(x, y)
        loss.backward()
""",
    """
import torch
import torch.nn as nn

def train(net, x):
    net = nn.DataParallel(net).cuda()
    out = net(x)
    out.backward(gradient=torch.ones_like(out))
""",
    """
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x), torch.tensor([x.size(0) / 4], device=x.device), x.size(0) * x

model = nn.DataParallel(Net().cuda())
""",
]

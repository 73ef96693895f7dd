"""dp-replica-state: seen in logs."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity
from gpudoctor.registry import Registry

CHECK = Registry().check("dp-replica-state")
WRONG_SIZE = """RuntimeError: Caught RuntimeError in replica 0 on device 0.
Original Traceback (most recent call last):
  File "/home/me/model.py", line 31, in forward
    out, self.hidden = self.lstm(x, self.hidden)
RuntimeError: Expected hidden[0] size (1, 16, 128), got (1, 32, 128)"""
IN_PIECES = """  File "/opt/conda/lib/python3.8/site-packages/torch/nn/parallel/parallel_apply.py", line 61, in _worker
/home/me/model.py:31: UserWarning: RNN module weights are not part of single contiguous chunk of memory. This means they
need to be compacted at every call, possibly greatly increasing memory usage. To compact weights again call"""
EXAMPLES = {
    WRONG_SIZE: (
        "replica 0 got a hidden state of size (1, 32, 128) and needs (1, 16, 128): it was not made for the "
        "replica's part of the batch"
    ),
    """RuntimeError: Caught RuntimeError in replica 1 on device 1.
Original Traceback (most recent call last):
RuntimeError: Expected hidden size (1, 16, 128), got [1, 32, 128]""": (
        "replica 1 got a hidden state of size (1, 32, 128) and needs (1, 16, 128): it was not made for the "
        "replica's part of the batch"
    ),
    IN_PIECES: (
        "the replicas' RNN weights lie in pieces; harmless, it costs memory: self.rnn.flatten_parameters() in "
        "forward"
    ),
}
NOT_THIS = [
    "RuntimeError: Expected hidden[0] size (1, 16, 128), got (1, 32, 128)",
    "AttributeError: 'Net' object has no attribute 'hidden'",
    "UserWarning: RNN module weights are not part of single contiguous chunk of memory.",
]


def test_a_wrong_size_is_an_error_and_weights_in_pieces_are_a_note():
    assert matches(WRONG_SIZE, [CHECK])[0].finding.severity is Severity.ERROR
    assert matches(IN_PIECES, [CHECK])[0].finding.severity is Severity.NOTE


FLAGGED = [
    """
import torch
from torch import nn

class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRU(4, 8, batch_first=True)
        self.last = None

    def forward(self, x):
        out, state = self.cell(x, self.last)
        self.last = state.detach()  # <-
        return out

net = nn.DataParallel(Reader().cuda())
net(torch.randn(8, 5, 4).cuda()).sum().backward()
""",
    """
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.step = 0

    def forward(self, x):
        self.step += 1  # <-
        return self.fc(x)

model = nn.DataParallel(Net().cuda())
""",
    """
import torch
from torch.nn import DataParallel, Module, Linear

class Memory(Module):
    def __init__(self):
        super().__init__()
        self.fc = Linear(2, 2)
        self.last = None

    def forward(self, x):
        out = self.fc(x)
        self.last = out  # <-
        return out

    def penalty(self):
        return self.last.square().mean()

class Trainer:
    def __init__(self):
        self.model = DataParallel(Memory()).cuda()

Trainer()
""",
    """
import torch.nn as nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.calls = 0

    def forward(self, x):
        self.calls = x.size(0)  # <-
        return self.fc(x)

    def report(self):
        print(self.calls)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return self.block(x)

model = nn.DataParallel(Net().cuda(), device_ids=[0, 1])
""",
    """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(8, 16)
        self.hidden = torch.zeros(1, 32, 16, device="cuda:0")  # <-

    def forward(self, x):
        return self.rnn(x, self.hidden.to(x.device))[0]

model = nn.DataParallel(Net().cuda())
""",
]
FINE = [
    """
import torch
from torch import nn

class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRU(4, 8, batch_first=True)
        self.last = None

    def forward(self, x):
        # made anew for each batch of another size, by each copy for itself
        if self.last is None or self.last.size(1) != x.size(0):
            self.last = torch.zeros(1, x.size(0), 8, device=x.device)
        out, _ = self.cell(x, self.last)
        return out

net = nn.DataParallel(Reader().cuda())
net(torch.randn(8, 5, 4).cuda()).sum().backward()
""",
    """
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.register_buffer("step", torch.zeros(1))

    def forward(self, x):
        self.step += 1
        self.hidden = self.fc(x)
        return self.hidden

model = nn.DataParallel(Net().cuda())
""",
    """
import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.step = 0

    def forward(self, x):
        self.step += 1
        return self.fc(x)

def main():
    torch.distributed.init_process_group("gloo")
    model = DDP(Net())
""",
    """
import torch.nn as nn

class Counter:
    def __init__(self):
        self.step = 0

    def forward(self, x):
        self.step += 1

model = nn.DataParallel(nn.Linear(2, 2).cuda())
Counter().forward(model)
""",
    """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(8, 16)
        self.scale = torch.ones(16, device="cuda:0")

    def forward(self, x):
        hidden = x.new_zeros(1, x.size(1), 16)
        return self.rnn(x, hidden)[0] * self.scale.to(x.device)

model = nn.DataParallel(Net().cuda())
""",
]

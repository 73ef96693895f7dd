"""dp-small-batch: seen in logs, and in scripts."""

from gpudoctor.model import Severity
from gpudoctor.registry import Registry
from tests.check_files import examined

CAUGHT = """TypeError: Caught TypeError in replica 3 on device 3.
Original Traceback (most recent call last):
  File "/opt/conda/lib/python3.9/site-packages/torch/nn/parallel/parallel_apply.py", line 61, in _worker
    output = module(*input, **kwargs)
"""
MESSAGE = "the batch gave replica 3 too small a piece or none"
EXAMPLES = {
    "What is RuntimeError: chunk expects at least a 1-dimensional tensor?": "the batch gave too small a piece or none",
    "ValueError: a batch of 1 gives 1 of 2 devices a piece; take --batch-size 2 or more": (
        "the batch gave too small a piece or none: 1 for 2 replicas"
    ),
    "    inputs, kwargs = self.scatter(inputs, kwargs, self.device_ids)\n"
    "RuntimeError: chunk expects at least a 1-dimensional tensor": "the batch gave too small a piece or none",
    CAUGHT + "TypeError: forward() missing 1 required positional argument: 'x'": MESSAGE,
    CAUGHT + "TypeError: Net.forward() missing 2 required positional arguments: 'x' and 'mask'": MESSAGE,
    CAUGHT.replace("TypeError", "IndexError") + "IndexError: tuple index out of range": MESSAGE,
    """ValueError: Caught ValueError in replica 1 on device 1.
Original Traceback (most recent call last):
ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 64])""": (
        "the batch gave replica 1 too small a piece or none"
    ),
    "AssertionError: The number of modules 4 is not equal to the number of inputs 3": (
        "the batch gave too small a piece or none: 3 for 4 replicas"
    ),
    """  File "/opt/conda/lib/python3.6/site-packages/torch/nn/parallel/parallel_apply.py", line 30, in parallel_apply
    assert len(modules) == len(inputs)
AssertionError""": "the batch gave too small a piece or none",
    """  File "/opt/conda/lib/python3.9/site-packages/torch/nn/parallel/scatter_gather.py", line 44, in scatter
RuntimeError: chunk expects at least a 1-dimensional tensor""": "the batch gave too small a piece or none",
}
NOT_THIS = [
    "TypeError: forward() missing 1 required positional argument: 'x'",
    CAUGHT.replace("3", "0") + "TypeError: forward() missing 1 required positional argument: 'x'",
    "ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 64])",
    "IndexError: list index out of range",
]

FLAGGED = [
    """
import torch
from torch import nn

net = nn.DataParallel(nn.Linear(2, 2).cuda())
loader = torch.utils.data.DataLoader(data, batch_size=1, shuffle=True)  # <-
for x in loader:
    out = net(x.cuda()).sum()
    out.backward()
""",
    """
import torch.nn as nn
from torch.utils.data import DataLoader

def main(dataset, net):
    net = nn.DataParallel(net, device_ids=[0, 1, 2, 3]).cuda()
    for x in DataLoader(dataset, batch_size=2):  # <-
        net(x)
""",
    """
import torch
import torch.utils.data as data

class Trainer:
    def __init__(self, dataset, net):
        self.loader = data.DataLoader(dataset, shuffle=True)  # <-
        self.net = torch.nn.DataParallel(net.cuda(), [0, 1])

    def run(self):
        for x in self.loader:
            self.net(x)

def main(dataset, net):
    Trainer(dataset, net).run()
""",
    """
from torch.nn import DataParallel
from torch.utils.data import DataLoader

BATCH = 4
GPUS = [0, 1, 2, 3, 4, 5, 6, 7]

def main(dataset, net):
    loader = DataLoader(dataset, BATCH)  # <-
    net = DataParallel(net, device_ids=GPUS).cuda()
    return [net(x) for x in loader]
""",
    """
import torch.nn as nn

class Trainer:
    def __init__(self, net):
        self.net = nn.DataParallel(net.cuda())

    def evaluate(self, batches):
        return [self.net(x, train=False) for x in batches]  # <-

def main(net, batches):
    return Trainer(net).evaluate(batches)
""",
]
FINE = [
    """
import torch
from torch import nn

net = nn.DataParallel(nn.Linear(2, 2).cuda())
loader = torch.utils.data.DataLoader(data, batch_size=1, shuffle=True)
for x in loader:
    out = net(x.cuda()).sum()
    print(out)
""",
    """
import torch.nn as nn
from torch.utils.data import DataLoader

def main(dataset, net, args):
    net = nn.DataParallel(net, device_ids=[0, 1]).cuda()
    train = DataLoader(dataset, batch_size=64, drop_last=True)
    valid = DataLoader(dataset, batch_size=args.batch_size)
    return net, train, valid
""",
    """
import torch.nn as nn
from torch.utils.data import DataLoader

def main(dataset, net):
    net = nn.DataParallel(net).cuda()
    return net, DataLoader(dataset, batch_size=1)
""",
    """
from torch.utils.data import DataLoader

def main(dataset):
    return DataLoader(dataset, batch_size=1)
""",
    """
import torch.nn as nn

def main(net, batches):
    net = nn.DataParallel(net).cuda()
    return [net(x, mask=mask, extra=None) for x, mask in batches]
""",
]


ONE_AT_A_TIME = """
import torch.nn as nn
from torch.utils.data import DataLoader

def main(training, validation, net, optimizer):
    net = nn.DataParallel(net, device_ids=[0, 1, 2, 3]).cuda()
    for x in DataLoader(training, batch_size=16):
        net(x).sum().backward()
        optimizer.step()
    net.eval()
    for x in DataLoader(validation, batch_size=1):
        print(net(x))
"""


def test_one_image_at_a_time_is_a_note_where_nothing_is_trained(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(ONE_AT_A_TIME)
    [finding] = examined(path, [Registry.of(()).check("dp-small-batch")]).findings
    assert (finding.severity, finding.location.line) == (Severity.NOTE, 11)

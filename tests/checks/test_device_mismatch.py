"""device-mismatch: seen in logs; no fact of the environment shows it."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Source
from gpudoctor.registry import Registry

CHECK = Registry().check("device-mismatch")
MESSAGE = "the tensors of one operation lie on different devices"
TWO_DEVICES = (
    "RuntimeError: Expected all tensors to be on the same device, but found at least two "
    "devices, cuda:0 and cpu! (when checking"
)
EXAMPLES = {
    "ValueError: Module has CPU parameters, but sync_module_states=True is specified.": "the tensors of one operation lie on different devices",
    "AssertionError: Expects `FlatParameter` to be on the compute device cuda:2 but got cpu": (
        "the tensors of one operation lie on different devices: one on cpu, one on cuda:2"
    ),
    "ValueError: Must flatten tensors on the same device but got both cuda:1 and cpu": (
        "the tensors of one operation lie on different devices: one on cuda:1, one on cpu"
    ),
    "RuntimeError: An FSDP-managed module unexpectedly has parameters on cpu. Make sure to move the module to cuda:3 before training.": (
        "the tensors of one operation lie on different devices: one on cpu, one on cuda:3"
    ),
    "RuntimeError: FSDP only supports single device modules but got params on {device(type='cpu'), device(type='cuda', index=2)}": (
        "the tensors of one operation lie on different devices"
    ),
    "RuntimeError: To support a module with both CPU and GPU params, please pass in device_id argument.": (
        "the tensors of one operation lie on different devices: one on CPU, one on GPU"
    ),
    "ValueError: The module has CPU parameters or buffers when `sync_module_states=True`, which requires them to be on GPU.": (
        "the tensors of one operation lie on different devices: one on CPU, one on GPU"
    ),
    "RuntimeError: FSDP parameters should be materialized on CPU when enabling CPU offloading.": (
        "the tensors of one operation lie on different devices"
    ),
    "RuntimeError: points_in_polygons_forward_impl: at param 2, inconsistent device: cuda:0 vs cuda:2": MESSAGE
    + ": one on cuda:0, one on cuda:2",
    "ValueError: Specified device cuda:6 does not match device of data cuda:0": MESSAGE
    + ": one on cuda:0, one on cuda:6",
    "RuntimeError: Expected object of type Variable[torch.cuda.DoubleTensor] but found type Variable[torch.DoubleTensor]": MESSAGE,
    'RuntimeError: Attempted to set the storage of a tensor on device "cuda:1" to a storage on different device "cpu".  This is '
    "no longer allowed; the devices must match.": (
        "the tensors of one operation lie on different devices: one on cuda:1, one on cpu"
    ),
    "TypeError: addmv_ received an invalid combination of arguments - got (int, torch.FloatTensor, torch.cuda.FloatTensor)": MESSAGE,
    "TypeError: dot received an invalid combination of arguments - got (torch.cuda.DoubleTensor, torch.DoubleTensor)": MESSAGE,
    "RuntimeError: expected CUDA tensor (got CPU tensor)": MESSAGE + ": one on CPU, one on CUDA",
    "RuntimeError: legacy constructor expects device type: cuda but device type: cpu was passed": MESSAGE
    + ": one on cpu, one on cuda",
    "运行时错误：所有张量应在同一设备上，但发现了两个设备：cpu 和 cuda:1": MESSAGE
    + ": one on cpu, one on cuda:1",
    "RuntimeError: A tensor was not on the same device as the first tensor": MESSAGE,
    "RuntimeError: Function AddmmBackward returned an invalid gradient at index 2 - expected type torch.cuda.FloatTensor but got torch.FloatTensor": MESSAGE,
    "RuntimeError: Function CatBackward returned an invalid gradient at index 1 - expected type torch.FloatTensor but got torch.cuda.FloatTensor": MESSAGE,
    "RuntimeError: Function AddBackward0 returned an invalid gradient at index 1 - expected device cuda:1 but got cuda:0": MESSAGE
    + ": one on cuda:0, one on cuda:1",
    TWO_DEVICES: MESSAGE + ": one on cuda:0, one on cpu",
    (
        "RuntimeError: Expected all tensors to be on the same device, but got mat1 is on cpu, "
        "different from other tensors on cuda:0"
    ): MESSAGE,
    (
        "RuntimeError: Input type (torch.cuda.FloatTensor) and weight type "
        "(torch.FloatTensor) should be the same"
    ): MESSAGE,
    (
        "RuntimeError: Input type (torch.FloatTensor) and weight type "
        "(torch.cuda.FloatTensor) should be the same or input should be"
    ): MESSAGE,
    "RuntimeError: Input type (CUDAFloatType) and weight type (CPUFloatType) should be the same": MESSAGE,
    "RuntimeError: Expected object of backend CPU but got backend CUDA for argument #4 'mat1'": (
        MESSAGE + ": one on CPU, one on CUDA"
    ),
    (
        "RuntimeError: Expected object of device type cuda but got device type cpu for "
        "argument #1 'self' in call to _th_mm"
    ): MESSAGE + ": one on cuda, one on cpu",
    "RuntimeError: expected device cuda:1 but got device cuda:0": (
        MESSAGE + ": one on cuda:1, one on cuda:0"
    ),
    "RuntimeError: expected device cuda:0 and dtype Float but got device cpu and dtype Float": (
        MESSAGE + ": one on cuda:0, one on cpu"
    ),
    (
        "RuntimeError: Expected object of type torch.cuda.FloatTensor but found type "
        "torch.FloatTensor for argument #2 'other'"
    ): MESSAGE,
    "RuntimeError: expected type torch.FloatTensor but got torch.cuda.FloatTensor": MESSAGE,
    (
        "RuntimeError: arguments are located on different GPUs at "
        "/pytorch/aten/src/THC/generic/THCTensorMathBlas.cu:255"
    ): MESSAGE,
    (
        "RuntimeError: Assertion `THCTensor_(checkGPU)(state, 4, r_, t, m1, m2)' failed. "
        "tensors are on different GPUs"
    ): MESSAGE,
    (
        "RuntimeError: Tensor for argument #3 'mat2' is on CPU, but expected it to be on GPU "
        "(while checking arguments for addmm)"
    ): MESSAGE + ": one on CPU, one on GPU",
    (
        "RuntimeError: Tensor for 'out' is on CPU, Tensor for argument #1 'self' is on CPU, "
        "but expected them to be on GPU"
    ): MESSAGE + ": one on CPU, one on GPU",
    (
        "RuntimeError: Input and hidden tensors are not at the same device, found input "
        "tensor at cuda:1 and hidden tensor at cuda:0"
    ): MESSAGE,
    "RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)": MESSAGE,
    "RuntimeError: Tensor on device cpu is not on the expected device meta!": (
        MESSAGE + ": one on cpu, one on meta"
    ),
    "RuntimeError: torch.cat(): all input tensors must be on the same device. Received cuda:0 and cpu": MESSAGE,
    (
        "RuntimeError: Expected query, key, and value to have the same device type, but got "
        "query.device: cpu key.device: cuda:0"
    ): MESSAGE,
    "RuntimeError: Input, output and indices must be on the current device": MESSAGE,
    "RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'": (
        MESSAGE + ": one on cpu, one on cuda"
    ),
    "RuntimeError: Placeholder storage has not been allocated on MPS device!": MESSAGE,
    "Unhandled FakeTensor Device Propagation for aten.add.Tensor, found two different devices cuda:0, cpu": (
        MESSAGE + ": one on cuda:0, one on cpu"
    ),
    "RuntimeError: Expected tensor for argument #1 'input' to have the same type as tensor for argument #2 'weight'; but type torch.cuda.FloatTensor does not equal torch.FloatTensor (while checking arguments for cudnn_convolution)": MESSAGE,
    "AssertionError: Expects tensor to be on the compute device cuda:1": MESSAGE,
    "AssertionError: Expects tensor to be on the compute device cuda:0, was on cpu": (
        MESSAGE + ": one on cuda:0, one on cpu"
    ),
    "ValueError: Pointer argument (at 0) cannot be accessed from Triton (cpu tensor?)": MESSAGE,
    "RuntimeError: fused norm needs x and w on the same device, got cuda:1 and cpu.": (
        "the tensors of one operation lie on different devices"
    ),
    "ValueError: The student is on cpu but the teacher is on cuda:1. Place both on the same device in their map.": (
        "the tensors of one operation lie on different devices"
    ),
    "ValueError: The model and the optimizer parameters are not on the same device, so build it later.": (
        "the tensors of one operation lie on different devices"
    ),
    "AssertionError: CPUAdam param is on cuda:0 and must be 'cpu', make sure that it is offloaded.": (
        "the tensors of one operation lie on different devices: one on cuda:0, one on cpu"
    ),
    "ValueError: Calculated loss must be on the original device: cuda:0 but device in use is cuda:1": (
        "the tensors of one operation lie on different devices: one on cuda:1, one on cuda:0"
    ),
    "AssertionError: Expected anchor boxes to be on device cuda:0, got cpu": (
        "the tensors of one operation lie on different devices: one on cpu, one on cuda:0"
    ),
    "SyncError: One or more of the tensors were not on the cuda while the `Accelerator` is configured for cuda.": (
        "the tensors of one operation lie on different devices"
    ),
    "Passed CPU tensor to MPS op": "the tensors of one operation lie on different devices",
    "TypeError: expected torch.FloatTensor (got torch.cuda.FloatTensor)": "the tensors of one operation lie on different devices",
    "RuntimeError: legacy constructor for device type: cpu was passed device type: cuda, but device type must be: cpu": "the tensors of one operation lie on different devices: one on cuda, one on cpu",
}
NOT_THIS = [
    "TypeError: dot received an invalid combination of arguments - got (torch.cuda.LongTensor, torch.cuda.FloatTensor)",
    "RuntimeError: Tensor on device meta is not on the expected device cuda:0!",
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:1 and meta!",
    (
        "RuntimeError: Input type (torch.cuda.HalfTensor) and weight type "
        "(torch.cuda.FloatTensor) should be the same"
    ),
    "RuntimeError: Input type (double) and bias type (float) should be the same",
    "RuntimeError: expected scalar type Half but found Float",
    (
        "RuntimeError: Expected object of type torch.FloatTensor but found type "
        "torch.LongTensor for argument #2 'target'"
    ),
    (
        "RuntimeError: Expected object of type torch.cuda.FloatTensor but found type "
        "torch.cuda.LongTensor for argument #2"
    ),
    "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half",
    (
        "ValueError: DistributedDataParallel's input module must be on the same type of "
        "devices, but input module parameters locate"
    ),
    (
        "RuntimeError: module must have its parameters and buffers on device cuda:0 "
        "(device_ids[0]) but found one of them on"
    ),
    "RuntimeError: Attempting to deserialize object on CUDA device 1 but torch.cuda.device_count() is 1.",
]


def test_the_devices_are_quoted():
    [match] = matches(TWO_DEVICES, [CHECK])
    assert match.sighting.groups == {"device": "cuda:0", "other": "cpu"}
    [match] = matches("RuntimeError: expected device cuda:1 but got device cuda:0", [CHECK])
    assert match.sighting.groups == {"device": "cuda:1", "other": "cuda:0"}


def test_no_fact_of_the_environment_shows_it():
    assert Source.ENVIRONMENT not in CHECK.functions
    assert all(fix.command for fix in CHECK.fixes)


FLAGGED = [
    """
import torch
import torch.nn as nn

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(2, 2)

    def begin(self, x):
        return torch.zeros(1, x.size(1), 2).to(device)  # <-

    def forward(self, x):
        return self.rnn(x, self.begin(x))[0]

model = nn.DataParallel(Net()).cuda()
for _ in range(9):
    model(torch.ones(4, 2, 2).cuda()).sum().backward()
""",
    """
import torch
import torch.nn as nn

device = torch.device("cpu")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(2, 2)

    def begin(self, x):
        return torch.zeros(1, x.size(1), 2).cuda(0)  # <-

    def forward(self, x):
        return self.rnn(x, self.begin(x))[0]

model = nn.DataParallel(Net(), device_ids=[0, 1]).cuda()
for _ in range(9):
    model(torch.ones(4, 2, 2).cuda()).sum().backward()
""",
    """
import torch
from torch.nn import functional as F
from data import loader, model

model.cuda()
for images, labels in loader:
    images = images.cuda()
    labels.cuda()  # <-
    loss = F.cross_entropy(model(images), labels.long())
    loss.backward()
""",
    """
import os, deepspeed, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
def main(dataset):
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda:1")
    engine, opt, _, _ = deepspeed.initialize(model=torch.nn.Linear(2, 2), config="ds.json")
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, 4, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            x, y = x.to(device), y.to(device)  # <-
            loss = torch.nn.functional.mse_loss(engine(x), y)
            engine.backward(loss)
            engine.step()
    dist.destroy_process_group()
main(None)
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
def main(dataset):
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda:0")
    model = DDP(torch.nn.Linear(2, 2).cuda(), device_ids=[local_rank])
    opt = torch.optim.SGD(model.parameters(), 0.1)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, 4, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad()
            x, y = x.to(device), y.to(device)  # <-
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            opt.step()
    dist.destroy_process_group()
main(None)
""",
    """
import torch

model = torch.nn.Linear(2, 2).to("cuda:0")
for step in range(3):
    x = torch.randn(4, 2)
    model(x).sum().backward()  # <-
""",
    """
import torch
import torchvision
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torchvision.models.resnet18()
if torch.cuda.device_count() > 1:
    model = torch.nn.DataParallel(model).to(device)
for x, y in DataLoader([]):
    x = x.to(device)
    out = model(x)  # <-
""",
    """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

dist.init_process_group("gloo")
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2))
model = torch.nn.parallel.DistributedDataParallel(model)
for data, target in DataLoader([]):
    data, target = data.cuda(), target.cuda()
    output = model(data)  # <-
""",
    """
import torch
from torch.utils.data import DataLoader

class Trainer:
    def __init__(self, model, loader):
        self.model = model.cuda()
        self.loader = loader

    def step(self, batch):
        output = self.model(batch[0].cuda())
        torch.nn.functional.mse_loss(output, batch[1]).backward()  # <-

    def fit(self):
        for batch in self.loader:
            self.step(batch)

Trainer(torch.nn.Linear(2, 2), DataLoader([1], pin_memory=True)).fit()
""",
    """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 2)
        self.mean = torch.zeros(8)  # <-

    def forward(self, x):
        return self.fc(x - self.mean)

model = Net().cuda()
""",
    """
import torch

model = torch.nn.Linear(8, 2).to("cuda:0")
x = torch.randn(4, 8).to("cuda:1")
print(model(x))  # <-
""",
    """
import torch
import torch.nn as nn

class Positions(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.steps = torch.arange(width)  # <-

    def forward(self, x):
        return x + self.steps

class Trainer:
    def __init__(self, args):
        self.model = Positions(args.width).to(args.device)

def main(args):
    Trainer(args)
""",
    """
import torch

teacher = torch.nn.Linear(8, 2).cuda(1)
student = torch.nn.Linear(8, 2).cuda(0)
batch = torch.zeros(4, 8, device="cuda:0")
loss = (student(batch) - teacher(batch)).square().mean()  # <-
""",
]
FINE = [
    """
import torch
import torch.nn as nn

device = torch.device("cuda")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(2, 2)

    def begin(self, x):
        return torch.zeros(1, x.size(1), 2).to(device)

    def forward(self, x):
        return self.rnn(x, self.begin(x))[0]

model = nn.DataParallel(Net()).cuda()
for _ in range(9):
    model(torch.ones(4, 2, 2).cuda()).sum().backward()
""",
    """
import torch
import torch.nn as nn

device = torch.device("cuda:0")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(2, 2)

    def begin(self, x):
        return torch.zeros(1, x.size(1), 2).to(x.device)

    def forward(self, x):
        return self.rnn(x, self.begin(x))[0]

model = nn.DataParallel(Net()).cuda()
for _ in range(9):
    model(torch.ones(4, 2, 2).cuda()).sum().backward()
""",
    """
import torch
import torch.nn as nn

device = torch.device("cuda:0")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(2, 2)

    def begin(self, x):
        return torch.zeros(1, x.size(1), 2).to(device)

    def forward(self, x):
        return self.rnn(x, self.begin(x))[0]

model = nn.DataParallel(Net(), device_ids=[0]).cuda()
for _ in range(9):
    model(torch.ones(4, 2, 2).cuda()).sum().backward()
""",
    """
import torch
import torch.nn as nn

device = torch.device("cuda:0")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(2, 2)

    def begin(self, x):
        return torch.zeros(1, x.size(1), 2).cuda()

    def forward(self, x):
        return self.rnn(x, self.begin(x))[0]

model = nn.DataParallel(Net()).cuda()
for _ in range(9):
    model(torch.ones(4, 2, 2).cuda()).sum().backward()
""",
    """
import torch
from torch.nn import functional as F
from data import loader, model

model.cuda()
for images, labels in loader:
    images, labels = images.cuda(), labels.cuda()
    loss = F.cross_entropy(model(images), labels.long())
    loss.backward()
""",
    """
import torch
from data import loader, model

model.cuda()
for batch in loader:
    batch.to("cuda")  # transformers' BatchEncoding moves in place
    loss = model(**batch).loss
    loss.backward()
""",
    """
import torch
from torch import nn
from parts import args, grouped, loader

torch.cuda.set_device(args.local_rank)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(3, 1)
if grouped():
    model.to(device)
    model = nn.parallel.DistributedDataParallel(model)
else:
    model = nn.DataParallel(model)
    model.to(device)
for x in loader:
    model(x.to(device)).sum().backward()
""",
    """
# a loss without parameters computes where its input is
import torch
from torch import nn

class Both(nn.Module):
    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = first, second

    def __call__(self, x, y):
        return self.first(x, y) + self.second(x, y)

loss = Both(nn.functional.mse_loss, nn.functional.l1_loss)
x = torch.rand(2, 2).cuda()
y = torch.rand(2, 2).cuda()
print(loss(x, y))
""",
    """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
def main(dataset):
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank)
    model = DDP(torch.nn.Linear(2, 2).cuda(), device_ids=[local_rank])
    opt = torch.optim.SGD(model.parameters(), 0.1)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, 4, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad()
            x, y = x.to(device), y.to(device)
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            opt.step()
    dist.destroy_process_group()
main(None)
""",
    """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x.cuda())

model = Net().cuda()
model(torch.randn(4, 2)).sum().backward()
""",
    """
import torch

model = torch.nn.DataParallel(torch.nn.Linear(2, 2).cuda())
for step in range(3):
    x = torch.randn(4, 2)
    model(x).sum().backward()
""",
    """
import torch
from torch.utils.data import DataLoader

model = torch.nn.Linear(2, 2)
for p in model.parameters():
    p.data = p.data.cuda()
for x, y in DataLoader([]):
    model(x.cuda())
""",
    """
import torch
import torchvision
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torchvision.models.resnet18()
if torch.cuda.device_count() > 1:
    model = torch.nn.DataParallel(model).to(device)
else:
    model = model.to(device)
for x, y in DataLoader([]):
    out = model(x.to(device))
other = torchvision.models.resnet18()
if torch.cuda.device_count() > 1:
    other = torch.nn.DataParallel(other).to(device)
    for x, y in DataLoader([]):
        out = other(x.to(device))
""",
    """
import torch
from torch.utils.data import DataLoader

class Both(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.one(x)

class Holder:
    def __init__(self):
        self.net = Both()
        self.parts = torch.nn.ModuleList([self.net])
        self.parts.cuda()

    def run(self, loader):
        for x in loader:
            self.net(x.cuda())

Holder().run(DataLoader([]))
moved = Both()
for x in DataLoader([]):
    moved.cuda()
    moved(x.cuda())
""",
    """
import torch
from torch.utils.data import DataLoader
from mine import on_gpu

model = torch.nn.Linear(2, 2).cuda()
for x, y in DataLoader([1], pin_memory=True):
    x, y = x.cuda(), y.cuda()
    torch.nn.functional.mse_loss(model(x), y).backward()
for batch in DataLoader([1], pin_memory=True):
    x, y = on_gpu(batch)
    torch.nn.functional.mse_loss(model(x), y).backward()
for x, y in DataLoader([1], collate_fn=on_gpu):
    torch.nn.functional.mse_loss(model(x), y).backward()
for x, y in DataLoader([1], pin_memory=True):
    torch.nn.functional.mse_loss(model(x.cuda()).cpu(), y)
""",
    """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.fc = nn.Linear(8, 2)
        self.mean = torch.zeros(8, device=device)
        self.scale = torch.ones(8)
        self.register_buffer("shift", torch.zeros(8))

    def forward(self, x):
        return self.fc((x - self.mean) * self.scale.to(x.device) + self.shift)

model = Net("cuda").cuda()
""",
    """
import torch

model = torch.nn.Linear(8, 2).to("cuda:1")
x = torch.randn(4, 8).to("cuda:0")
x = x.to("cuda:1")
print(model(x))
y = torch.nn.Linear(8, 2).cuda()
print(y(torch.zeros(4, 8).cuda()))
""",
    """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 2)
        self.mean = torch.zeros(8)

    def forward(self, x):
        return self.fc(x - self.mean)

print(Net()(torch.zeros(4, 8)))
""",
]

"""dp-missing-attribute: seen in logs."""

EXAMPLES = {
    "the error, `DataParallel object has no attribute 'config'`": (
        "DataParallel does not pass on config: ask the model inside, at .module"
    ),
    "AttributeError: 'DataParallel' object has no attribute 'config'": (
        "DataParallel does not pass on config: ask the model inside, at .module"
    ),
    "torch.nn.modules.module.ModuleAttributeError: 'DataParallel' object has no attribute 'encode'": (
        "DataParallel does not pass on encode: ask the model inside, at .module"
    ),
    "[rank0]: AttributeError: 'DistributedDataParallel' object has no attribute 'generate'": (
        "DistributedDataParallel does not pass on generate: ask the model inside, at .module"
    ),
    "AttributeError: 'FullyShardedDataParallel' object has no attribute 'lm_head'. Did you mean: 'forward'?": (
        "FullyShardedDataParallel does not pass on lm_head: ask the model inside, at .module"
    ),
    "AttributeError: 'DeepSpeedEngine' object has no attribute 'save_pretrained'": (
        "DeepSpeedEngine does not pass on save_pretrained: ask the model inside, at .module"
    ),
    "AttributeError: 'OptimizedModule' object has no attribute 'fc'": (
        "OptimizedModule does not pass on fc: ask the model inside, at .module"
    ),
    "AttributeError: 'MMDistributedDataParallel' object has no attribute 'show_result'": (
        "MMDistributedDataParallel does not pass on show_result: ask the model inside, at .module"
    ),
    "AttributeError: 'ResNet' object has no attribute 'module'": (
        "ResNet is not wrapped, so it has no .module"
    ),
}
NOT_THIS = [
    "AttributeError: 'FullyShardedDataParallelPlugin' object has no attribute 'save_model'",
    "AttributeError: 'DistributedDataParallel' object has no attribute '_sync_params'",
    "AttributeError: 'DistributedDataParallel' object has no attribute 'require_forward_param_sync'",
    "AttributeError: 'NoneType' object has no attribute 'module'",
    "AttributeError: module 'torch' has no attribute 'compile'",
    "AttributeError: 'Net' object has no attribute 'modules_to_save'",
]

FLAGGED = [
    """
import argparse
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from speakers import Recognizer  # of another file

def work(gpu, args):
    net = Recognizer()
    if args.spread:
        dist.init_process_group("nccl", init_method=args.url, world_size=args.size, rank=gpu)
        torch.cuda.set_device(gpu)
        net = net.cuda(gpu)
    elif args.gpu is not None:
        net = net.cuda(args.gpu)
    else:
        net = torch.nn.DataParallel(net).cuda()
    net.restore("speakers.pt")  # <-
    print(net(torch.ones(8, 40)).sum())
    if args.spread:
        dist.destroy_process_group()

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--spread", action="store_true")
    parser.add_argument("--gpu", type=int)
    parser.add_argument("--url", required=True)
    parser.add_argument("--size", type=int, default=1)
    args = parser.parse_args()
    if args.spread:
        mp.spawn(work, nprocs=args.size, args=(args,))
    else:
        work(args.gpu, args)
""",
    """
import torch
import torchvision

model = torchvision.models.resnet18()
if torch.cuda.is_available():
    model = model.to("cuda")
    if torch.cuda.device_count() > 1:
        model = torch.nn.DataParallel(model)
torch.save(model.module.state_dict(), "model.pt")  # <-
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from parts import Net


def setup():
    if "RANK" in os.environ:
        dist.init_process_group("nccl")
        return int(os.environ["RANK"]), True
    return 0, False


rank, is_distributed = setup()
model = Net()
if is_distributed:
    model = DistributedDataParallel(model)
is_first = rank == 0
if is_first:
    print(len(model.module.layers))  # <-
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main(model, loader):
    distributed = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if distributed:
        dist.init_process_group("nccl")
        device = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(device)
        model = DDP(model.cuda(), device_ids=[device])
    for x in loader:
        model(x).sum().backward()
    if not distributed or dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "model.pt")  # <-

if __name__ == "__main__":
    from parts import loader, model
    main(model, loader)
""",
    """
import argparse
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main(args, model):
    if args.ddp:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl")
        model = DDP(model.cuda(), device_ids=[int(os.environ["LOCAL_RANK"])])
    print(model.module.width)  # <-

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ddp", action="store_true")
    main(parser.parse_args(), torch.nn.Linear(2, 2))
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
        loss = self.model.loss_of(batch)  # <-
        self.accelerator.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()

job = Job()
for batch in torch.ones(4, 2, 2):
    job.step(batch)
""",
    """
import argparse
import torch
from torch import nn
from net import build

parser = argparse.ArgumentParser()
parser.add_argument("--several", action="store_true")
args = parser.parse_args()
model = build().cuda()
if args.several:
    model = nn.DataParallel(model)
head = list(model.module.head.parameters())  # <-
""",
    """
import torch
from nets import VAE

model = torch.nn.DataParallel(VAE()).cuda()
x = model(torch.ones(4, 2))
model.sample(16)  # <-
""",
    """
import torch
from nets import Net

model = Net().cuda()
if torch.cuda.device_count() > 1:
    model = torch.nn.DataParallel(model)
model.module.load_state_dict(torch.load("last.pt"))  # <-
model(torch.ones(4, 2).cuda()).sum().backward()
""",
    """
import torch
from accelerate import Accelerator
from byol import BYOL

def main(loader):
    accelerator = Accelerator()
    model = BYOL(torch.nn.Linear(2, 2))
    optimizer = torch.optim.Adam(model.parameters())
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x in loader:
        accelerator.backward(model(x))
        optimizer.step()
        optimizer.zero_grad()
        model.update_moving_average()  # <-

main([])
""",
    """
import torch
from accelerate import Accelerator
from transformers import AutoModelForSeq2SeqLM

accelerator = Accelerator()
model = AutoModelForSeq2SeqLM.from_pretrained("t5-small")
loader = torch.utils.data.DataLoader(torch.ones(4, 2).long(), batch_size=2)
model, loader = accelerator.prepare(model, loader)
model.eval()
print(model.config.vocab_size)  # <-
for batch in loader:
    print(model.generate(batch))  # <-
""",
    """
import torch
from transformers import BertForSequenceClassification

def main(loader):
    model = BertForSequenceClassification.from_pretrained("bert-base-uncased").cuda()
    gpus = torch.cuda.device_count()
    if gpus > 1:
        model = torch.nn.DataParallel(model)
    for batch in loader:
        model(**batch)[0].mean().backward()
    model.save_pretrained("out")  # <-

main([])
""",
    """
import torch
from nets import Memory

def train(memory, loader):
    memory.train()
    memory.reset_state()  # <-
    for x in loader:
        memory(x).sum().backward()

def make():
    memory = Memory(8).to("cuda")
    if torch.cuda.device_count() > 1:
        memory = torch.nn.DataParallel(memory)
    return memory, [1, 2]

memory, loader = make()
train(memory=memory, loader=loader)
""",
    """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.backbone(x)

net = Net()
if torch.cuda.device_count() > 1:
    net = torch.nn.DataParallel(net)
net.cuda()
optimizer = torch.optim.SGD(net.backbone.parameters(), 0.1)  # <-
""",
    """
import torch

class Segmenter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)

    def predict(self, x):
        return self.forward(x).argmax(1)

net = Segmenter()
if torch.cuda.device_count() > 1:
    net = torch.nn.DataParallel(net)
net.cuda()
print(net.predict(torch.zeros(2, 2).cuda()))  # <-
""",
    """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)

net = Net().cuda()
# net = torch.nn.DataParallel(net)
torch.save(net.module.state_dict(), "net.pt")  # <-
""",
    """
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)

model = nn.DataParallel(Net().cuda())
print(model.fc.weight)  # <-
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from my_project import build_model

class Trainer:
    def __init__(self, rank):
        torch.cuda.set_device(rank)
        self.model = DDP(build_model().cuda(), device_ids=[rank])

    def sample(self, prompt):
        return self.model.generate(prompt)  # <-

def main(rank):
    torch.distributed.init_process_group("nccl")
    Trainer(rank).sample("x")
""",
    """
import torch

def main(model, optimizer_class):
    wrapped = torch.nn.DataParallel(model).cuda()
    optimizer = optimizer_class(wrapped.classifier.parameters())  # <-
    wrapped.train()
    return optimizer, wrapped.device_ids
""",
    """
# options that come from a file
import torch
from parts import Encoder
kept = torch.load("last.pt", weights_only=False)
args = kept["args"]
net = Encoder(args.width)
if args.parallel:
    net = torch.nn.DataParallel(net).cuda()
else:
    net = net.cuda()
net.load_state_dict(kept["model"])
net = net.module  # <-
net.eval()
""",
]
FINE = [
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.history = [0.0]
        self.inner = torch.nn.Linear(2, 2)

class Course:
    def __init__(self, several):
        self.several = several
        self.sharded = "SHARDS" in os.environ
        self.net = Net()
        if self.several:
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
            dist.init_process_group("nccl")
            self.net.cuda()
            self.net = DistributedDataParallel(self.net, device_ids=[int(os.environ["LOCAL_RANK"])])

    def bare(self):
        if self.several and not self.sharded:
            return self.net.module
        return self.net

    def told(self):
        return dict(history=self.bare().history)

print(Course("RANK" in os.environ).told())
""",
    """
import argparse
import torch
from speakers import Recognizer  # of another file

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu", type=int)
    args = parser.parse_args()
    net = Recognizer()
    net.restore("speakers.pt")
    if args.gpu is not None:
        net = net.cuda(args.gpu)
    else:
        net = torch.nn.DataParallel(net).cuda()
    print(net(torch.ones(8, 40)).sum())
    if args.gpu is not None:
        net.report()
    else:
        net.module.report()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

class Sampled(torch.nn.Module):
    def __init__(self, inside):
        super().__init__()
        self.inside, self.batch_first = inside, True

    def forward(self, x):
        return self.inside(x)

def prepared(module, wrap=True):
    if wrap and isinstance(module, Sampled):
        print(module.batch_first)
    return module

dist.init_process_group("gloo")
net = prepared(DDP(torch.nn.Linear(2, 2)))
net(torch.ones(2, 2)).sum().backward()
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from parts import Net


def setup():
    if "RANK" in os.environ:
        dist.init_process_group("nccl")
        return int(os.environ["RANK"]), True
    return 0, False


rank, is_distributed = setup()
model = Net()
if is_distributed:
    model = DistributedDataParallel(model)
bare = model.module if is_distributed else model
print(len(bare.layers))
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel
from parts import Net

model = torch.compile(DistributedDataParallel(Net()))
print(model.module.describe())
print(model._orig_mod.module.describe())
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main(model, loader):
    distributed = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if distributed:
        dist.init_process_group("nccl")
        device = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(device)
        model = DDP(model.cuda(), device_ids=[device])
    for x in loader:
        model(x).sum().backward()
    if distributed and dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "model.pt")

if __name__ == "__main__":
    from parts import loader, model
    main(model, loader)
""",
    """
import argparse
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main(args, model):
    if args.ddp:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl")
        model = DDP(model.cuda(), device_ids=[int(os.environ["LOCAL_RANK"])])
    if args.ddp:
        print(model.module.width)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ddp", action="store_true")
    main(parser.parse_args(), torch.nn.Linear(2, 2))
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
        rate = self.accelerator.unwrap_model(self.model).rate_of(batch)
        self.accelerator.backward(rate * self.model(batch).sum())
        self.optimizer.step()
        self.optimizer.zero_grad()

job = Job()
for batch in torch.ones(4, 2, 2):
    job.step(batch)
""",
    """
import argparse
import torch
from torch import nn
from net import build

parser = argparse.ArgumentParser()
parser.add_argument("--several", action="store_true")
args = parser.parse_args()
model = build().cuda()
if args.several:
    model = nn.DataParallel(model)
bare = model.module if args.several else model
head = list(bare.head.parameters())
""",
    """
import argparse
import torch
from torch import nn
from net import build

parser = argparse.ArgumentParser()
parser.add_argument("--several", action="store_true")
args = parser.parse_args()
model = build().cuda()
if args.several:
    model = nn.DataParallel(model)
if isinstance(model, nn.DataParallel):
    model = model.module
""",
    """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.student = nn.Linear(2, 2)

    def forward(self, x):
        return self.student(x)


class Task(nn.Module):
    def __init__(self):
        super().__init__()
        self.trainable = Both()

    def prepare_distributed(self, device_ids=None):
        self.trainable = DDP(self.trainable, device_ids=device_ids)
        return self

    def compile(self):
        self.inner = torch.compile(self.trainable.student)
        self.trainable = torch.compile(self.trainable)
""",
    """
import torch
from nets import Net

model = Net().cuda()
several = torch.cuda.device_count() > 1
if several:
    model = torch.nn.DataParallel(model)
if several:
    model.module.load_state_dict(torch.load("last.pt"))
else:
    model.load_state_dict(torch.load("last.pt"))
model(torch.ones(4, 2).cuda()).sum().backward()
""",
    """
import torch
from accelerate import Accelerator
from byol import BYOL

def main(loader):
    accelerator = Accelerator()
    model = BYOL(torch.nn.Linear(2, 2))
    optimizer = torch.optim.Adam(model.parameters())
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x in loader:
        accelerator.backward(model(x))
        optimizer.step()
        optimizer.zero_grad()
        accelerator.unwrap_model(model).update_moving_average()

main([])
""",
    """
import torch
from accelerate import Accelerator
from transformers import AutoModelForSeq2SeqLM

accelerator = Accelerator()
model = AutoModelForSeq2SeqLM.from_pretrained("t5-small")
loader = torch.utils.data.DataLoader(torch.ones(4, 2).long(), batch_size=2)
model, loader = accelerator.prepare(model, loader)
model.eval()
try:
    size = model.module.config.vocab_size
except AttributeError:
    size = model.config.vocab_size
print(size, accelerator.unwrap_model(model).config, model.device)
for batch in loader:
    print(accelerator.unwrap_model(model).generate(batch))
""",
    """
import torch
from nets import Memory

def make(several):
    memory = Memory(8).to("cuda")
    if several and torch.cuda.device_count() > 1:
        if several == "replicas":
            memory = torch.nn.DataParallel(memory)
    return memory

memory = make(False)
memory.reset_state()
""",
    """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)

def inside(model):
    return model.module if hasattr(model, "module") else model

net = Net().cuda()
if torch.cuda.device_count() > 1:
    net = torch.nn.DataParallel(net)
print(inside(net).fc)
""",
    """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)

net = Net()
several = torch.cuda.device_count() > 1
if several:
    net = torch.nn.DataParallel(net)
net.cuda()
params = net.module.fc.parameters() if several else net.fc.parameters()
print(params)
""",
    """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.module = torch.nn.Linear(2, 2)
        self.fc = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(self.module(x))

net = Net().cuda()
print(net.module)
other = Net()
several = torch.cuda.device_count() > 1
if several:
    other = torch.nn.DataParallel(other)
other.cuda()
if isinstance(other, torch.nn.DataParallel):
    print(other.module.fc)
else:
    print(other.fc)
bare = getattr(other, "module", other)
print(bare.fc)
""",
    """
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)

model = nn.DataParallel(Net().cuda())
print(model.module.fc.weight, model.training, model.device_ids)
model.eval()
model.zero_grad()
""",
    """
import torch

def main(args, model):
    if args.gpus > 1:
        model = torch.nn.DataParallel(model)
    if hasattr(model, "config"):
        print(model.config)
    return model.config
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank, model):
    torch.distributed.init_process_group("gloo")
    model = DDP(model)
    model.note = "wrapped"
    print(model.note)
    with model.no_sync():
        model.register_comm_hook(None, print)
    try:
        print(model.bert)
    except AttributeError:
        print(model.module.bert)
""",
    """
# the same option is asked again
import torch
from parts import Encoder
kept = torch.load("last.pt", weights_only=False)
args = kept["args"]
net = Encoder(args.width)
if args.parallel:
    net = torch.nn.DataParallel(net).cuda()
if args.parallel:
    net = net.module
net.eval()
""",
    """
# an option that says nothing of several devices may be one that always holds
import torch
from parts import Encoder
kept = torch.load("last.pt", weights_only=False)
args = kept["args"]
net = Encoder(args.width)
if args.gpu:
    net = torch.nn.DataParallel(net).cuda()
net = net.module
net.eval()
""",
]

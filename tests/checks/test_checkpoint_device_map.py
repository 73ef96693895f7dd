"""checkpoint-device-map: seen in logs and in files."""

from gpudoctor.facts import CheckpointFile, Key, StateDict
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry

EXAMPLES = {
    "to deserialize object on CUDA device 3 but torch.cuda.device_count() is 1.": (
        "the file's tensors were saved on CUDA device 3, which this process does not have: it sees 1"
    ),
    (
        "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
        "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
    ): "the file's tensors were saved on CUDA, which this process does not have",
    (
        "[rank1]: RuntimeError: Attempting to deserialize object on CUDA device 5 but torch.cuda.device_count() is 4. Please use "
        "torch.load with map_location to map your storages to an existing device."
    ): "the file's tensors were saved on CUDA device 5, which this process does not have: it sees 4",
    (
        "RuntimeError: The HPU device module is not registered. If you are running on a CPU-only machine, please use torch.load "
        "with map_location=torch.device('cpu') to map your storages to the CPU."
    ): "the file's tensors were saved on HPU, which this process does not have",
    "RuntimeError: torch.UntypedStorage(): Storage device not recognized: mps": (
        "the file's tensors were saved on mps, which this process does not have"
    ),
    "RuntimeError: don't know how to restore data location of torch.FloatStorage (tagged with npu:0)": (
        "the file's tensors were saved on npu:0, which this process does not have"
    ),
    "RuntimeError: Attempting to deserialize object on MPS device but torch.backends.mps.is_available() is False.": "the log says: RuntimeError: Attempting to deserialize object on MPS device but torch.backends.mps.is_available() is False.",
}
NOT_THIS = [
    'state = torch.load("model.pt", map_location=torch.device("cpu"))',
    "AssertionError: Torch not compiled with CUDA enabled",
    "RuntimeError: don't know how to determine data location of torch.storage.UntypedStorage",
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
]


def found(*devices, kind="torch zip"):
    keys = tuple(Key(name=str(n), dtype="int8", shape=(), size=1, device=d) for n, d in enumerate(devices))
    file = CheckpointFile(path="m.pt", kind=kind, state_dicts=(StateDict(entry="", keys=keys),))
    return list(Registry().check("checkpoint-device-map").functions[Source.CHECKPOINT](file))


def test_a_file_from_the_first_gpu_is_noted_and_one_from_another_is_a_warning():
    (finding,) = found("cuda:0", "cuda:0", "cpu")
    assert finding.severity is Severity.NOTE
    assert "2 tensors from cuda:0" in finding.message
    (finding,) = found("cuda:0", "cuda:3")
    assert finding.severity is Severity.WARNING
    assert "1 tensor from cuda:0, 1 tensor from cuda:3" in finding.message


def test_no_device_no_finding():
    assert found("cpu", "meta") == []
    assert found("cuda:3", kind="safetensors") == []


FLAGGED = [
    """
import torch
import torch.distributed as dist
from parts import model, scheduler

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_node_local_rank())
state = torch.load("last.pt")  # <-
model.load_state_dict(state["model"])
scheduler.load_state_dict(state["scheduler"])
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from settings import cfg

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
if cfg.finetune is not None:
    state = torch.load(cfg.finetune)["model"]  # <-
""",
    """
import sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

class Model:
    def __init__(self, several, rank):
        self.net = torch.nn.Linear(2, 2).cuda(rank)
        if several:
            self.net = DistributedDataParallel(self.net, device_ids=[rank])

    def load(self, path):
        self.net.load_state_dict(torch.load(path, weights_only=True))  # <-

def train(rank, size):
    torch.cuda.set_device(rank)
    if size > 1:
        dist.init_process_group("nccl", init_method="tcp://localhost:29511", rank=rank, world_size=size)
    model = Model(size > 1, rank)
    model.load("last.pt")
    model.net(torch.rand(2, 2).cuda()).sum().backward()
    if size > 1:
        dist.destroy_process_group()

if __name__ == "__main__":
    size = torch.cuda.device_count()
    if size == 1:
        train(0, 1)
    else:
        torch.multiprocessing.spawn(train, args=(size,), nprocs=size)
""",
    """
import torch
from accelerate import Accelerator
from parts import Net, loader

accelerator = Accelerator()
model, loader = accelerator.prepare(Net(), loader)
state = torch.load("last.pt")  # <-
accelerator.unwrap_model(model).load_state_dict(state)
""",
    """
import torch
import torch.distributed as dist

def main(rank):
    dist.init_process_group("nccl")
    state = torch.load("model.pt", weights_only=True)  # <-
    model = torch.nn.Linear(2, 2)
    model.load_state_dict(state)
""",
    """
import os
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

class Trainer:
    def __init__(self, path):
        self.device = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(self.device)
        self.model = DDP(torch.nn.Linear(2, 2).to(self.device), device_ids=[self.device])
        self.resume(path)

    def resume(self, path):
        snapshot = torch.load(path, torch.device("cuda:0"))  # <-
        self.model.module.load_state_dict(snapshot["model"])

torch.distributed.init_process_group("nccl")
Trainer("snapshot.pt")
torch.distributed.destroy_process_group()
""",
    """
from torch import load, nn

net = nn.Linear(2, 2)
net.load_state_dict(load("net.pt"))  # <-
""",
]
FINE = [
    """
import os
import torch
import torch.distributed as dist
from parts import model, scaler, scheduler

def resume(folder):
    scheduler.load_state_dict(torch.load(os.path.join(folder, "a.pt")))
    state = torch.load(folder + "/b.pt")
    scaler.load_state_dict(state)
    torch.set_rng_state(torch.load(folder + "/rng_0.pth")["cpu"])

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_node_local_rank())
resume("out")
""",
    """
import torch
import torch.distributed as dist
from parts import folder, train

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_node_local_rank())
state = torch.load(folder + "progress.pt")
best, epoch = state["best"], state["epoch"]
best, epoch = train(best, epoch)
if dist.get_rank() == 0:
    torch.save({"best": best, "epoch": epoch}, folder + "progress.pt")
""",
    """
import os
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
if os.path.exists("order.pth"):
    order = torch.load("order.pth")
else:
    order = torch.randperm(1000)
    if dist.get_rank() == 0:
        torch.save(order, "order.pth")
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist

def main(rank):
    dist.init_process_group("nccl")
    state = torch.load("model.pt", map_location="cpu", weights_only=True)
    state = torch.load("model.pt", f"cuda:{rank}", weights_only=True)
    state = torch.load("model.pt", map_location={"cuda:0": f"cuda:{rank}"})
""",
    """
import torch

options = {"map_location": "cpu"}
state = torch.load("model.pt", **options)
device = torch.device("cuda:0")
state = torch.load("model.pt", map_location=device)
""",
    """
import numpy as np

data = np.load("data.npy")
""",
]

"""checkpoint-directory: seen in logs."""

from gpudoctor import explain
from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

CHECK = Registry().check("checkpoint-directory")
FRAME = '  File "/opt/venv/lib/python3.9/site-packages/torch/serialization.py", line 211, in __init__\n'
NO_FILE = "[rank0]: FileNotFoundError: [Errno 2] No such file or directory: 'checkpoints/last.pt'"
RENAMED = "FileNotFoundError: [Errno 2] No such file or directory: 'model/tmp-checkpoint-49' -> 'model/checkpoint-49'"
FOLDER = "IsADirectoryError: [Errno 21] Is a directory: '/data/run1/checkpoints'"
NOT_WRITABLE = "PermissionError: [Errno 13] Permission denied: '/data/run1/epoch_3.pth'"
EXAMPLES = {
    (
        '  File "/opt/venv/lib/python3.11/site-packages/torch/distributed/checkpoint/filesystem.py", line 480, in mkdir\n'
        "OSError: [Errno 30] Read-only file system: 'runs/step0'"
    ): "runs/step0 may not be written by this process",
    "RuntimeError: Parent directory out/run1 does not exist.": (
        "out/run1 is not there, or holds no checkpoint, where this process looks"
    ),
    "FileNotFoundError: No such file or directory: ./m/model-00001-of-00002.safetensors": (
        "./m/model-00001-of-00002.safetensors is not there, or holds no checkpoint, where this process looks"
    ),
    NO_FILE: "checkpoints/last.pt is not there, or holds no checkpoint, where this process looks",
    RENAMED: "model/tmp-checkpoint-49 was made or moved by another rank, or by an earlier run, just before",
    FRAME + "FileNotFoundError: [Errno 2] No such file or directory: 'out/best_model'": (
        "out/best_model is not there, or holds no checkpoint, where this process looks"
    ),
    FOLDER: "/data/run1/checkpoints is a folder, where a file is meant",
    FRAME + "IsADirectoryError: [Errno 21] Is a directory: '/data/run1'": (
        "/data/run1 is a folder, where a file is meant"
    ),
    "RuntimeError: [enforce fail at inline_container.cc:746] . open file failed with strerror: Permission denied": (
        "the path may not be written by this process"
    ),
    (
        "RuntimeError: [enforce fail at inline_container.cc:603] . open file failed because of errno 21 on fopen: Is a directory, "
        "file path: /data/run1"
    ): "the path is a folder, where a file is meant",
    "RuntimeError: File out/model.pt cannot be opened.": (
        "out/model.pt is not there, or holds no checkpoint, where this process looks"
    ),
    "    data = open('d/a.bin', 'rb').read()\nPermissionError: [Errno 13] Permission denied: 'd/a.bin'": (
        "d/a.bin may not be read by this process"
    ),
    NOT_WRITABLE: "/data/run1/epoch_3.pth may not be written by this process",
    "FileExistsError: [Errno 17] File exists: './checkpoints'": (
        "./checkpoints was made or moved by another rank, or by an earlier run, just before"
    ),
    (
        '  File "/opt/lib/python3.10/os.py", line 225, in makedirs\n    mkdir(name, mode)\n'
        "FileExistsError: [Errno 17] File exists: '/data/output/run1'"
    ): "/data/output/run1 was made or moved by another rank, or by an earlier run, just before",
    (
        '  File "/opt/lib/python3.11/pathlib.py", line 1116, in mkdir\n    os.mkdir(self, mode)\n'
        "OSError: [Errno 30] Read-only file system: 'out/exp12'"
    ): "out/exp12 may not be written by this process",
    "OSError: [Errno 39] Directory not empty: '/data/results/tmp-checkpoint-s0y' -> '/data/results/checkpoint-50'": (
        "/data/results/tmp-checkpoint-s0y was made or moved by another rank, or by an earlier run, just before"
    ),
    "ValueError: No valid checkpoint found in output directory (./outputs)": (
        "./outputs is not there, or holds no checkpoint, where this process looks"
    ),
    "ValueError: Can't find a valid checkpoint at ./run1/step-1500": (
        "./run1/step-1500 is not there, or holds no checkpoint, where this process looks"
    ),
    (
        "OSError: Error no file named pytorch_model.bin, model.safetensors, tf_model.h5 or flax_model.msgpack found in directory "
        "/data/run1."
    ): "/data/run1 is not there, or holds no checkpoint, where this process looks",
    "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/data/run1'.": (
        "/data/run1 is not there, or holds no checkpoint, where this process looks"
    ),
    "OSError: ./out/run1 is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'": (
        "./out/run1 is not there, or holds no checkpoint, where this process looks"
    ),
    (
        "[WARNING] [engine.py:2796:load_checkpoint] Unable to find latest file at out/latest, if trying to load latest checkpoint "
        "please ensure this file exists or pass an explicit checkpoint tag when loading a checkpoint."
    ): "out/latest is not there, or holds no checkpoint, where this process looks",
    "[WARNING] [engine.py:2500:load_checkpoint] Client provided checkpoint load path: out/step5 does not exist ... skip checkpoint load": (
        "out/step5 is not there, or holds no checkpoint, where this process looks"
    ),
    "FileNotFoundError: Checkpoint file not found: /data/last": (
        "/data/last is not there, or holds no checkpoint, where this process looks"
    ),
    "FileNotFoundError: Checkpoint at out/last not found. Aborting training.": (
        "out/last is not there, or holds no checkpoint, where this process looks"
    ),
    "ValueError: Tried to find out/state_3 but folder does not exist": (
        "out/state_3 is not there, or holds no checkpoint, where this process looks"
    ),
    "ValueError: Checkpoint directory out/saved_0 (0) already exists. Please manually override `self.save_iteration` with what": (
        "out/saved_0 was made or moved by another rank, or by an earlier run, just before"
    ),
    "OSError: work_dirs/latest is not a checkpoint file": (
        "work_dirs/latest is not there, or holds no checkpoint, where this process looks"
    ),
    "FileNotFoundError: weights/r50.pth can not be found.": (
        "weights/r50.pth is not there, or holds no checkpoint, where this process looks"
    ),
    "AssertionError: Checkpoint out/final not found!": (
        "out/final is not there, or holds no checkpoint, where this process looks"
    ),
    "OSError: ./out/run1 does not appear to have a file named pytorch_model.bin, model.safetensors, tf_model.h5": (
        "./out/run1 is not there, or holds no checkpoint, where this process looks"
    ),
    (
        "OSError: /data/models/run/checkpoint-2205 does not appear to have a file named modeling_qwen3_bidirectional.py. "
        "Checkout 'https://huggingface.co//data/models/run/checkpoint-2205/tree/main' for available files."
    ): "/data/models/run/checkpoint-2205 is not there, or holds no checkpoint, where this process looks",
    "FileNotFoundError: Checkpoint path /srv/out/step-10 does not exist": (
        "/srv/out/step-10 is not there, or holds no checkpoint, where this process looks"
    ),
    "CheckpointingException: Checkpoint directory /srv/out/step-10 does not exist": (
        "/srv/out/step-10 is not there, or holds no checkpoint, where this process looks"
    ),
    "ValueError: The provided checkpoint folder does not exist: /srv/out/step-10": (
        "/srv/out/step-10 is not there, or holds no checkpoint, where this process looks"
    ),
    "FileNotFoundError: Resume checkpoint not found. Please pass one that is there": (
        "the path is not there, or holds no checkpoint, where this process looks"
    ),
    "FileNotFoundError: No checkpoint file found at '/srv/out/step-10'. Is the path right?": (
        "/srv/out/step-10 is not there, or holds no checkpoint, where this process looks"
    ),
    "ValueError: Directory '/srv/out/step-10' does not contain a valid checkpoint.": (
        "/srv/out/step-10 is not there, or holds no checkpoint, where this process looks"
    ),
    "ValueError: The path '/srv/out/step-10' does not point to a valid checkpoint.": (
        "/srv/out/step-10 is not there, or holds no checkpoint, where this process looks"
    ),
    "ValueError: Can't find a checkpoint index (/srv/out/step-10/model.index) in /srv/out/step-10.": (
        "/srv/out/step-10/model.index is not there, or holds no checkpoint, where this process looks"
    ),
    "ValueError: [deepspeed] failed to resume from checkpoint /srv/out/step-10": (
        "/srv/out/step-10 is not there, or holds no checkpoint, where this process looks"
    ),
    "ValueError: Unable to find 'latest' file at /srv/out/latest": (
        "/srv/out/latest is not there, or holds no checkpoint, where this process looks"
    ),
    "FileNotFoundError: can't find ZeRO Stage 3 model state files in directory '/srv/out/step-10'": (
        "/srv/out/step-10 is not there, or holds no checkpoint, where this process looks"
    ),
    "ValueError: Can't find 'adapter_config.json' at '/srv/out/adapter'": (
        "/srv/out/adapter is not there, or holds no checkpoint, where this process looks"
    ),
    "ValueError: Can't find weights for /srv/out/adapter in /srv/out/adapter or in the Hugging Face Hub.": (
        "/srv/out/adapter is not there, or holds no checkpoint, where this process looks"
    ),
    "ValueError: adapter model file not found in /srv/out/adapter. Make sure of the path.": (
        "/srv/out/adapter is not there, or holds no checkpoint, where this process looks"
    ),
    "ValueError: Tried to load from /srv/out/step-10 but couldn't find a valid metadata file.": (
        "/srv/out/step-10 is not there, or holds no checkpoint, where this process looks"
    ),
    "CheckpointingException: /srv/out/step-10 is not a distributed checkpoint": (
        "/srv/out/step-10 is not there, or holds no checkpoint, where this process looks"
    ),
    "RuntimeError: Unable to find checkpoint in /srv/out/step-10.": (
        "/srv/out/step-10 is not there, or holds no checkpoint, where this process looks"
    ),
    "ValueError: Neither a state dict nor checkpoint files were found.": (
        "the path is not there, or holds no checkpoint, where this process looks"
    ),
    "OSError: /srv/out/step-10 does not appear to have a file named weights.bin but there is a file without the variant fp16.": (
        "/srv/out/step-10 is not there, or holds no checkpoint, where this process looks"
    ),
    "PermissionError: [Errno 13] Permission denied: '/scratch/me/checkpoint-2000'": "/scratch/me/checkpoint-2000 may not be written by this process",
}
NOT_THIS = [
    "FileNotFoundError: [Errno 2] No such file or directory: 'data/openwebtext/train.bin'",
    "FileNotFoundError: [Errno 2] No such file or directory: 'part-1.bin'",
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/train/img_0001.jpg'",
    "RuntimeError: [enforce fail at inline_container.cc:603] . open file failed with strerror: No space left on device",
    "UserWarning: Checkpoint directory /data/checkpoints exists and is not empty.",
    "Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared object file: No such file or directory",
    "[Errno 13] Permission denied: '/data/train'",
    "bash: /data/run.sh: No such file or directory",
    "FileNotFoundError: [Errno 2] No such file or directory: 'nvcc'",
]


def said(text):
    return matches(text, [CHECK])[0].finding


def test_the_fixes_go_with_it():
    assert "makedirs" in said(NO_FILE).fixes[0].command
    assert "transformers" in said(RENAMED).fixes[1].command
    assert "os.path.join" in said(FOLDER).fixes[0].command
    assert "ls -ld" in said(NOT_WRITABLE).fixes[0].command


FLAGGED = [
    """
import os
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

class Runner:
    def __init__(self, settings):
        self.folder = settings["folder"]
        if not os.path.isdir(self.folder):
            os.makedirs(self.folder)  # <-

    def build(self, model):
        self.model = DDP(model)
""",
    """
import torch
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter()  # it makes runs/, and no other folder
for epoch in range(3):
    torch.save(model.state_dict(), f"weights/{epoch}.pt")  # <-
""",
    """
import os
import torch
import torch.multiprocessing as mp
from engine import connect, main_process, wrap

def train(rank, folder):
    if rank is not None:
        connect(rank)
    model = wrap(torch.nn.Linear(2, 2))
    model(torch.rand(2, 2)).sum().backward()
    if not os.path.exists(folder + "/pictures"):
        os.mkdir(folder + "/pictures")  # <-
    if main_process():
        os.makedirs("weights", exist_ok=True)
        torch.save(model.state_dict(), "weights/last.pt")

if __name__ == "__main__":
    if torch.cuda.device_count() > 1:
        mp.spawn(train, args=("out",), nprocs=torch.cuda.device_count())
    else:
        train(None, "out")
""",
    """
import argparse
import os
import deepspeed
import torch

parser = deepspeed.add_config_arguments(argparse.ArgumentParser())
parser.add_argument("--local_rank", type=int, default=-1)
args = parser.parse_args()
data = torch.utils.data.TensorDataset(torch.rand(64, 4))
net = torch.nn.Linear(4, 1)
engine, optimizer, loader, _ = deepspeed.initialize(
    args=args, model=net, model_parameters=net.parameters(), training_data=data
)
if not os.path.exists("runs/one"):
    os.makedirs("runs/one")  # <-
for batch in loader:
    loss = engine(batch[0].to(engine.device)).sum()
    engine.backward(loss)
    engine.step()
""",
    """
import os, time, torch, torch.distributed as dist
from datetime import datetime
from torch.nn.parallel import DistributedDataParallel as DDP
class Run:
    def __init__(self, root):
        self.folder = os.path.join(root, datetime.now().strftime("%m%d-%H%M%S"))
        os.makedirs(self.folder)  # <-
    def save(self, net):
        torch.save(net.module.state_dict(), os.path.join(self.folder, f"net{dist.get_rank()}.pt"))
def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"]); torch.cuda.set_device(local)
    run = Run("runs")
    net = DDP(torch.nn.Linear(4, 1).cuda(), device_ids=[local])
    net(torch.rand(2, 4).cuda()).sum().backward()
    run.save(net)
    dist.destroy_process_group()
main()
""",
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from parts import Net, args

def main():
    os.makedirs(args.out, exist_ok=True)
    mp.spawn(worker, nprocs=torch.cuda.device_count(), args=(torch.cuda.device_count(), args))

def worker(rank, size, args):
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:23456", rank=rank, world_size=size)
    torch.cuda.set_device(rank)
    model = torch.nn.parallel.DistributedDataParallel(Net().cuda(), device_ids=[rank])
    if not os.path.exists(args.index):
        os.makedirs(args.index)  # <-
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
    """
import torch

try:
    state = torch.load("runs/last.pt", map_location="cpu")
except FileNotFoundError:
    state = {}
torch.save(state, "runs/last.pt")  # <-
""",
    """
from pathlib import Path

import torch

FOLDER = Path("checkpoints")
model = torch.nn.Linear(2, 2)
for epoch in range(3):
    torch.save(model.state_dict(), FOLDER / f"model_{epoch}.pt")  # <-
""",
    """
import os

import torch

def read(path):
    if os.path.exists(path):
        return torch.load(path, weights_only=True)
    return None

model = torch.nn.Linear(2, 2)
start = read("start.pt")
torch.save(model.state_dict(), "output/several.pt" if start else "output/one.pt")  # <-
""",
    """
import argparse
import os
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--output", default="out/run")
args = parser.parse_args()
torch.save({}, os.path.join(args.output, "last.pt"))  # <-
""",
    """
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--out", default="checkpoints")
parser.add_argument("--mixed", action="store_true")
args = parser.parse_args()
model = torch.nn.Linear(2, 2)
torch.save(model.state_dict(), f"{args.out}/model.pt")  # <-
path = "./models/net"
if args.mixed:
    path += "-mixed"
path += ".pt"
torch.save(model.state_dict(), path)  # <-
""",
    """
import torch

model = torch.nn.Linear(2, 2)
torch.save(model.state_dict(), "/home/somebody/project/run1/model.pt")  # <-
""",
    """
import os
import torch
import torch.distributed as dist

def worker(rank, size):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=rank, world_size=size)
    if not os.path.exists("run"):
        os.mkdir("run")  # <-
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    dist.destroy_process_group()

if __name__ == "__main__":
    torch.multiprocessing.spawn(worker, args=(2,), nprocs=2)
""",
    """
import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
os.makedirs("runs/one")  # <-
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
dist.destroy_process_group()
""",
    """
from pathlib import Path
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
out = Path("runs/one")
if not out.exists():
    out.mkdir(parents=True)  # <-
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
folder = os.path.join("weights", "first")
if not os.path.exists(folder):
    os.makedirs(folder)  # <-
dist.destroy_process_group()
""",
    """
import torch
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter("runs/first")
model = torch.nn.Linear(2, 2)
for epoch in range(3):
    torch.save(model.state_dict(), "checkpoints/net_" + str(epoch) + ".pt")  # <-
""",
    """
import torch

model = torch.nn.Linear(2, 2)
for epoch in range(3):
    torch.save(model.state_dict(), f"./checkpoint/epoch{epoch}.pt")  # <-
""",
    """
import os
import torch

FOLDER = "weights"

class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(2, 2)

    def save(self, epoch):
        path = os.path.join(FOLDER, "run", f"{epoch}.pt")
        torch.save(self.model.state_dict(), path)  # <-

Trainer().save(3)
""",
    """
import torch

CHECKPOINT_PATH = "./out/model.pt"

def main():
    net = torch.nn.Linear(2, 2)
    torch.save(obj={"net": net.state_dict()}, f=CHECKPOINT_PATH)  # <-
""",
]
FINE = [
    """
import argparse
import torch
from helpers import ensure_folder  # of another package

parser = argparse.ArgumentParser()
parser.add_argument("--out", default="runs/first/")
args = parser.parse_args()
ensure_folder(args.out)
torch.save(torch.nn.Linear(2, 2).state_dict(), args.out + "net.pt")
""",
    """
import os
import torch

def save(state, folder="outputs", name="last.pt"):
    torch.save(state, os.path.join(folder, name))
""",
    """
import torch.distributed as dist
import tools
from tools import mkdir

dist.init_process_group("gloo")
tools.mkdir("runs/a")
mkdir("runs/a/b")
""",
    """
import os, time, torch, torch.distributed as dist
from datetime import datetime
from torch.nn.parallel import DistributedDataParallel as DDP
class Run:
    def __init__(self, root):
        self.folder = os.path.join(root, datetime.now().strftime("%m%d-%H%M%S-%f"))
        os.makedirs(self.folder)
    def save(self, net):
        torch.save(net.module.state_dict(), os.path.join(self.folder, f"net{dist.get_rank()}.pt"))
def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"]); torch.cuda.set_device(local)
    run = Run("runs")
    net = DDP(torch.nn.Linear(4, 1).cuda(), device_ids=[local])
    net(torch.rand(2, 4).cuda()).sum().backward()
    run.save(net)
    dist.destroy_process_group()
main()
""",
    """
import torch

state = torch.load("/checkpoint/team/w2v/archived/base.pt", map_location="cpu")
torch.save(state, "/checkpoint/team/w2v/archived/base_updated.pt")
""",
    """
from pathlib import Path

import torch

folder = Path("checkpoints")
folder.mkdir(exist_ok=True)
model = torch.nn.Linear(2, 2)
torch.save(model.state_dict(), folder / "model.pt")
torch.save(model.state_dict(), Path.cwd() / "model.pt")
""",
    """
import os

import torch

folder = os.environ["OUT"]
model = torch.nn.Linear(2, 2)
if os.path.exists("output"):
    torch.save(model.state_dict(), "output/last.pt")
""",
    """
import argparse
import os
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--out", default="checkpoints")
parser.add_argument("--file", required=True)
args = parser.parse_args()
os.makedirs(args.out, exist_ok=True)
model = torch.nn.Linear(2, 2)
torch.save(model.state_dict(), f"{args.out}/model.pt")
torch.save(model.state_dict(), args.file)
path = "net"
if torch.cuda.is_available():
    path += "-gpu"
path += ".pt"
torch.save(model.state_dict(), path)
""",
    """
import torch

model = torch.nn.Linear(2, 2)
torch.save(model.state_dict(), "/data/models/model.pt")
torch.save(model.state_dict(), "/tmp/of/some/test/model.pt")
""",
    """
import os
import time
from pathlib import Path
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
os.makedirs("runs/%d" % time.time())
Path("runs").mkdir(parents=True, exist_ok=True)
if dist.get_rank() == 0:
    os.makedirs("runs/one")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29500", rank=rank, world_size=2)
    dist.destroy_process_group()


if __name__ == "__main__":
    if not os.path.exists("weights"):
        os.makedirs("weights")
    mp.spawn(work, nprocs=2)
""",
    """
import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 0 and not os.path.exists("weights"):
    os.makedirs("weights")
if not os.path.exists("logs"):
    os.makedirs("logs", exist_ok=True)
dist.destroy_process_group()
""",
    """
import os
import torch

model = torch.nn.Linear(2, 2)
os.makedirs("checkpoints/first", exist_ok=True)
for epoch in range(3):
    torch.save(model.state_dict(), "./checkpoints/" + str(epoch) + ".pt")
""",
    """
import os
import torch

os.makedirs("checkpoint", exist_ok=True)
torch.save({}, "checkpoint/last.pt")
""",
    """
from pathlib import Path
import torch

def save(state, folder):
    Path(folder).mkdir(parents=True, exist_ok=True)
    torch.save(state, "checkpoint/last.pt")
""",
    """
import os
import tempfile
import torch

torch.save({}, "last.pt")
torch.save({}, "./last.pt")
torch.save({}, "/scratch/last.pt")
torch.save({}, os.path.join(tempfile.mkdtemp(), "last.pt"))
""",
]


def test_what_is_to_be_read_is_not_made():
    reading = "OSError: Repo id must use alphanumeric chars, '-', '_' or '.': './my-model'\n"
    writing = "RuntimeError: Parent directory /data/run1 does not exist.\n"
    shard = "FileNotFoundError: No such file or directory: ./m/model-00001-of-00002.safetensors\n"
    fixes = [[fix.command for fix in explain(text).findings[0].fixes] for text in (reading, shard, writing)]
    assert ["makedirs" in commands[0] for commands in fixes] == [False, False, True]
    assert not any("barrier" in command for commands in fixes for command in commands)

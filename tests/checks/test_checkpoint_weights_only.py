"""checkpoint-weights-only: seen in logs and in files."""

import subprocess
import sys

import pytest

from gpudoctor import explain, lint
from gpudoctor.facts import CheckpointFile, Foreign, StateDict
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry

MESSAGE = "torch.load reads tensors and plain containers alone unless it is told otherwise"
EXAMPLES = {
    (
        "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded, to do so you have two options, "
        "\x1b[1mdo those steps only if you trust the source of the checkpoint\x1b[0m. \n\t(1) In PyTorch 2.6, we changed the "
        "default value of the `weights_only` argument in `torch.load` from `False` to `True`.\n\tWeightsUnpickler error: "
        "Unsupported global: GLOBAL argparse.Namespace was not an allowed global by default. Please use "
        "`torch.serialization.add_safe_globals([argparse.Namespace])`"
    ): (
        "the file holds argparse.Namespace, and torch.load reads tensors and plain containers alone unless it "
        "is told otherwise"
    ),
    "[rank0]: _pickle.UnpicklingError: Weights only load failed. This file can still be loaded, to do so you have two options": MESSAGE,
    (
        "_pickle.UnpicklingError: Weights only load failed. Re-running `torch.load` with `weights_only` set to `False` will likely "
        "succeed, but it can result in arbitrary code execution.Do it only if you get the file from a trusted source. "
        "WeightsUnpickler error: Unsupported class numpy.core.multiarray.scalar"
    ): (
        "the file holds numpy.core.multiarray.scalar, and torch.load reads tensors and plain containers alone "
        "unless it is told otherwise"
    ),
    "\tWeightsUnpickler error: Trying to load unsupported GLOBAL posix.system whose module posix is blocked.": (
        "the file holds posix.system, and torch.load reads tensors and plain containers alone unless it is "
        "told otherwise"
    ),
    "\tTrying to instantiate unsupported class collections.deque": (
        "the file holds collections.deque, and torch.load reads tensors and plain containers alone unless it "
        "is told otherwise"
    ),
    "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got <class 'numpy.dtypes.Int64DType'>": (
        "the file holds numpy.dtypes.Int64DType, and torch.load reads tensors and plain containers alone unless it is "
        "told otherwise"
    ),
    "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got <class 'train.Config'>": (
        "the file holds train.Config, and torch.load reads tensors and plain containers alone unless it is told otherwise"
    ),
    "Unsupported global: GLOBAL omegaconf.listconfig.ListConfig was not an allowed global by default.": (
        "the file holds omegaconf.listconfig.ListConfig, and torch.load reads tensors and plain containers "
        "alone unless it is told otherwise"
    ),
    "(1) In PyTorch 2.6, we changed the default value of the weights_only argument in torch.load from False to True.": MESSAGE,
    (
        "RuntimeError: Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. In PyTorch 2.6, we "
        "changed the default value"
    ): MESSAGE + "; this is a TorchScript archive",
    (
        "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded\n\tWeightsUnpickler error: \n\n"
        "Unsupported operand 149"
    ): MESSAGE,
    "[rank1]: Check the documentation of torch.load to learn more about types accepted by default with weights_only https://pytorch.org/docs/stable/generated/torch.load.html.": MESSAGE,
    "_pickle.UnpicklingError: Weights only load failed. WeightsUnpickler error: Unsupported operand 149": "torch.load reads tensors and plain containers alone unless it is told otherwise",
    "WeightsUnpickler error: Unsupported operand 149": "torch.load reads tensors and plain containers alone unless it is told otherwise",
}
NOT_THIS = [
    (
        "FutureWarning: You are using `torch.load` with `weights_only=False` (the current default value), which uses the default "
        "pickle module implicitly. It is possible to construct malicious pickle data which will execute arbitrary code"
    ),
    (
        "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded\n\tWeightsUnpickler error: \n\n"
        "Unsupported operand 60"
    ),
    (
        "ValueError: Due to a serious vulnerability issue in `torch.load`, even with `weights_only=True`, we now require users to "
        "upgrade torch to at least v2.6 in order to use the function."
    ),
    "_pickle.UnpicklingError: invalid load key, '<'.",
]


MODEL = StateDict(entry="model", keys=())


def found(kind, *names, within=(), states=(MODEL,), path="m.pt"):
    foreign = tuple(
        Foreign(name=name, opcode="GLOBAL", place=1, entry="data.pkl", within=within) for name in names
    )
    look = Registry().check("checkpoint-weights-only").functions[Source.CHECKPOINT]
    return list(look(CheckpointFile(path=path, kind=kind, foreign=foreign, state_dicts=states)))


def test_a_file_with_a_class_is_a_warning_that_names_it():
    (finding,) = found("torch zip", "argparse.Namespace")
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith(
        "the file holds argparse.Namespace: torch.load refuses it since torch 2.6"
    )
    assert not any("<" in fix.command for fix in finding.fixes)


def test_a_file_without_weights_is_a_note():
    (finding,) = found("torch zip", "transformers.training_args.TrainingArguments", states=())
    assert finding.severity is Severity.NOTE


def test_the_entries_that_hold_the_names_can_be_left_out():
    (finding,) = found(
        "torch zip", "argparse.Namespace", "numpy.dtype", within=("args", "my loss"), path="a b.ckpt"
    )
    assert finding.fixes[0].command == (
        "gpudoctor checkpoint fix 'a b.ckpt' -o clean.ckpt --drop args --drop 'my loss'"
    )


@pytest.mark.parametrize(
    ("within", "state", "path"),
    [
        ((), MODEL, "m.pt"),
        (("model",), MODEL, "m.pt"),
        (("model",), StateDict(entry="model.ema", keys=()), "m.pt"),
        (("args",), StateDict(entry="", keys=()), "m.pt"),
        (("args",), MODEL, "standard input"),
        (tuple("abcdefghi"), MODEL, "m.pt"),
    ],
)
def test_nothing_is_left_out_that_holds_weights_or_cannot_be_named(within, state, path):
    (finding,) = found("torch zip", "argparse.Namespace", within=within, states=(state,), path=path)
    assert not any("--drop" in fix.command for fix in finding.fixes)


def test_a_file_that_torch_load_takes_and_one_that_is_not_for_it_are_fine():
    assert found("torch zip") == []
    assert found("pickle", "argparse.Namespace") == []


def test_torchscript_is_for_another_function():
    (finding,) = found("torchscript")
    assert finding.severity is Severity.NOTE
    assert "torch.jit.load" in finding.fixes[0].command


FLAGGED = [
    """
import argparse
import os
import numpy
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--out", default="runs")
parser.add_argument("--from", dest="begin", default="runs/net.pt")
args = parser.parse_args()
state = torch.load(args.begin, map_location="cpu")  # <-
numpy.random.set_state(state["random"][0])
""",
    """
import argparse
import os
import numpy
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--out", default="runs")
parser.add_argument("--from", dest="begin", default="runs/net.pt")
args = parser.parse_args()
net = torch.load(args.begin, map_location="cpu")["net"] if args.begin else torch.nn.Linear(2, 2)
os.makedirs(args.out, exist_ok=True)
torch.save({"net": torch.nn.Linear(2, 2)}, os.path.join(args.out, "net.pt"))  # <-
""",
    """
import torch
from net import Net

state = torch.load("last.pt", map_location="cpu")  # <-
model = Net(width=state["options"].width)
model.load_state_dict(state["model"])
""",
    """
import argparse
import torch
from net import Net

def merged(now, before):
    return argparse.Namespace(**{**vars(before), **vars(now)})

args = argparse.ArgumentParser().parse_args()
file = torch.load("last.pt", map_location="cpu")  # <-
args = merged(args, file["args"])
model = Net(args.width)
model.load_state_dict(file["model"])
""",
    """
import copy
import torch

ema = copy.deepcopy(torch.load("model.pt", map_location="cpu")["ema"])  # <-
ema.eval()
""",
    """
import torch
from nets import Net

def predict(path):
    net = Net()
    net.load_state_dict(torch.load(path, map_location="cpu").module.state_dict())  # <-
    return net
""",
    """
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return x

model = Net()
torch.save(model, "net.pt")  # <-
again = torch.load("net.pt", map_location="cpu")
""",
    """
import argparse
import torch

class Trainer:
    def __init__(self, args):
        self.args = args
        self.path = args.path

    def save(self):
        state = {"epoch": 1, "args": self.args}
        torch.save(state, self.path)  # <-

    def load(self):
        return torch.load(self.path, map_location="cpu")

parser = argparse.ArgumentParser()
parser.add_argument("--path")
trainer = Trainer(parser.parse_args())
trainer.save()
trainer.load()
""",
    """
import torch

def attempt(weights):
    ckpt = torch.load(weights, map_location="cpu")  # <-
    model = ckpt["model"].float()
    model.eval()
    return model
""",
    """
from torch import load, nn

net = load("net.pt", map_location="cpu", weights_only=True)  # <-
net.eval()
""",
    """
# no state dict takes another one
import torch
from torch.nn.parallel import DistributedDataParallel
def start(rank, folder):
    net = torch.load(folder + "/whole.pt", map_location="cpu")  # <-
    net.load_state_dict(torch.load(folder + "/state.pt", map_location="cpu"))
    return DistributedDataParallel(net.cuda(rank), device_ids=[rank])
start(0, "runs")
""",
    """
import os
import torch
from torchvision.datasets import ImageFolder

def cached(folder, transform, main_process):
    path = os.path.join(os.path.expanduser("~"), str(hash(folder)))
    if os.path.exists(path):
        images, _ = torch.load(path)
    else:
        images = ImageFolder(folder, transform)
        if main_process:
            torch.save((images, folder), path)  # <-
    return images
""",
    """
import argparse
import torch

def keep(*given, **named):
    torch.save(*given, **named)  # <-

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume")
    parser.add_argument("--amp", action="store_true")
    options = parser.parse_args()
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler()
    if options.resume:
        state = torch.load(options.resume, map_location="cpu")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    for epoch in range(3):
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "options": options}
        if options.amp:
            state["scaler"] = scaler.state_dict()
        keep(state, f"{epoch}.pt")

main()
""",
]
FINE = [
    """
import argparse
import os
import numpy
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--out", default="runs")
parser.add_argument("--from", dest="begin", default="runs/net.pt")
args = parser.parse_args()
import random
state = torch.load(args.begin, map_location="cpu")
random.setstate(state["random"])
torch.set_rng_state(state["torch"])
""",
    """
import torch
from net import Net

state = torch.load("last.pt", map_location="cpu")
width = state["mean"].shape[0]
known = state["names"].keys()
model = Net(width=state["options"]["width"])
if hasattr(state["options"], "depth"):
    print(state["options"].depth)
model.load_state_dict(state["model"])
""",
    """
import torch
from net import Net

state = torch.load("own.pt", map_location="cpu", weights_only=False)
model = Net(width=state["options"].width)
model.load_state_dict(state["model"])
""",
    """
import torch


def load(*args, **kwargs):
    if "weights_only" not in kwargs:
        kwargs["weights_only"] = False
    return torch.load(*args, **kwargs)


print(load("model.pt", map_location="cpu").parameters())
""",
    """
import torch


def load(path, weights_only=True):
    try:
        checkpoint = torch.load(path, map_location="cpu", weights_only=weights_only)
    except TypeError:
        checkpoint = torch.load(path, map_location="cpu")
    if isinstance(checkpoint, torch.jit.ScriptModule):
        return checkpoint.state_dict()
    return checkpoint


def tacotron(path):
    state = torch.load(path, map_location="cpu")
    model = Tacotron2(state["hparams"])
    model.load_state_dict(state["model"])
    return model.eval()
""",
    """
import torch
from nets import Net

def predict(path):
    net = Net()
    net.load_state_dict(torch.load(path, map_location="cpu", weights_only=False).module.state_dict())
    return net
""",
    """
import torch

data = torch.load("vocabulary.pt")
model = torch.nn.DataParallel(torch.nn.Linear(len(data), 2)).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, steps_per_epoch=len(data))
model.eval()
torch.save({"model": model.module.state_dict(), "scheduler": scheduler.state_dict()}, "last.pt")
""",
    """
import argparse
import torch

args = argparse.ArgumentParser().parse_args()
model = torch.nn.Linear(2, 2)
torch.save({"model": model.state_dict(), "args": vars(args), "epoch": 3}, "net.pt")
state = torch.load("net.pt", map_location="cpu")
model.load_state_dict(state["model"])
model.eval()
""",
    """
import torch

model = torch.load("net.pt", map_location="cpu", weights_only=False)
model.eval()
""",
    """
import torch

class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(2, 2)

    def resume(self, path):
        snapshot = torch.load(path, map_location="cpu", weights_only=True)
        self.model.load_state_dict(snapshot["model"])
        weight = snapshot["model"]["weight"].float()
        self.model.train()
        return weight
""",
    """
import torch
from parts import build
def start(rank, folder):
    kept = torch.load(folder + "/state.pt", map_location="cpu")
    net = build(kept["width"])
    net.load_state_dict(kept["model"])
    return net.cuda(rank)
start(0, "runs")
""",
    """
import dill
import torch

class Strategy:
    def __init__(self, model):
        self.model = model

def keep(model, path):
    torch.save({"strategy": Strategy(model), "done": 3}, path, pickle_module=dill)

def resumed(path):
    return torch.load(path, pickle_module=dill)["strategy"]
""",
    """
import torch

def resumed(path, optimizer):
    kept = torch.load(path, map_location="cpu")
    try:
        optimizer.load_state_dict(kept["optimizer"])
    except AttributeError:
        optimizer.load_state_dict(kept["optimizer"].state_dict())
""",
]
RESUMED = """
import argparse
import os
import torch
import tools  # of another package
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--out", default="runs")
parser.add_argument("--resume", default="")
args = parser.parse_args()
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if args.resume:
    state = torch.load(args.resume, map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
entries = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "args": args}
torch.save(entries, os.path.join(args.out, "last.pt"))
"""


def test_the_file_that_a_script_resumes_from_is_the_one_that_it_saves(tmp_path):
    """The same entries are read and written, be it by a function of another file: the path is an option's."""
    path = tmp_path / "train.py"
    own = RESUMED.replace("torch.save(", "tools.save_on_master(")
    for text in (RESUMED, own):
        path.write_text(text)
        [finding] = lint([path], only=["checkpoint-weights-only"]).findings
        assert (finding.severity, finding.location.line) == (Severity.WARNING, 19)
    path.write_text(own.replace('"args": args', '"args": vars(args)'))
    assert lint([path], only=["checkpoint-weights-only"]).findings == []
    path.write_text(own.replace('state["', 'state["pretrained_'))
    assert lint([path], only=["checkpoint-weights-only"]).findings == []
    path.write_text(RESUMED.replace('state["', 'state["pretrained_'))
    [finding] = lint([path], only=["checkpoint-weights-only"]).findings
    assert finding.severity is Severity.NOTE


READ = """
import sys, zipfile
import numpy, torch
exec(sys.argv[1])
kept = {"a": numpy.arange(3), "s": numpy.float64(2.0), "f": numpy.ones((2, 2), numpy.float32)}
torch.save(kept, "two.pt")
with zipfile.ZipFile("two.pt") as two, zipfile.ZipFile("one.pt", "w") as one:  # as NumPy 1 names them
    for name in two.namelist():
        one.writestr(name, two.read(name).replace(b"numpy._core.", b"numpy.core."))
for name in ("one.pt", "two.pt"):
    read = torch.load(name, weights_only=True)
    print(read["a"].sum(), read["s"], read["f"].sum())
"""


@pytest.mark.parametrize("name", ["numpy._core.multiarray._reconstruct", "numpy.core.multiarray.scalar"])
def test_what_allows_numpy_reads_numbers_and_arrays_of_both_numpys(name, tmp_path):
    log = f"WeightsUnpickler error: Unsupported global: GLOBAL {name} was not an allowed global by default."
    [finding] = explain(log).findings
    fix = next(fix for fix in finding.fixes if "numpy" in fix.summary)
    command = [sys.executable, "-c", READ, fix.command]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "3 2.0 4.0\n" * 2, done.stderr

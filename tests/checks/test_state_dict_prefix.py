"""state-dict-prefix: seen in logs and in files; no fact of the environment shows it."""

import pytest

from gpudoctor import lint
from gpudoctor.checkpoint.description.wrappers import prefixes
from gpudoctor.facts import CheckpointFile, Entry, Key, StateDict
from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry

CHECK = Registry().check("state-dict-prefix")
MESSAGE = "the file's keys have module. and the model's do not: it was saved from a wrapped model"
FILE_HAS_MODULE = (
    '\tUnexpected key(s) in state_dict: "module.conv1.weight", "module.bn1.weight", "module.bn1.bias". '
)
MODEL_HAS_MODULE = (
    '\tMissing key(s) in state_dict: "module.conv1.weight", "module.bn1.weight", "module.bn1.bias". '
)
FILE_HAS_ORIG_MOD = (
    '        Unexpected key(s) in state_dict: "_orig_mod.conv1.weight", "_orig_mod.bn1.weight". '
)
EITHER_HAS_MODULE = "KeyError: 'module.conv1.weight'"
EXAMPLES = {
    'ar", "module.stem.conv.bias", "module.stem.bn.weight", "module.stem.bn.bias", "mod': (
        "keys have module. on one side alone: the model was wrapped when it was saved, or is when it is loaded"
    ),
    FILE_HAS_MODULE: MESSAGE,
    MODEL_HAS_MODULE: (
        "the model's keys have module. and the file's do not: the model is wrapped now, and was not when it "
        "was saved"
    ),
    FILE_HAS_ORIG_MOD: (
        "the file's keys have _orig_mod. and the model's do not: it was saved from a wrapped model"
    ),
    "_IncompatibleKeys(missing_keys=['conv1.weight'], unexpected_keys=['module.conv1.weight'])": MESSAGE,
    "KeyError: 'unexpected key \"module.base_model.conv1.weight\" in state_dict'": MESSAGE,
    "KeyError: 'missing keys in state_dict: \"{'module.conv1.weight', 'module.fc.bias'}\"'": (
        "the model's keys have module. and the file's do not: the model is wrapped now, and was not when it "
        "was saved"
    ),
    EITHER_HAS_MODULE: (
        "keys have module. on one side alone: the model was wrapped when it was saved, or is when it is loaded"
    ),
    (
        "Some weights of the model checkpoint at ./out were not used when initializing "
        "BertModel: ['module.embeddings.weight']"
    ): MESSAGE,
    "unexpected key in source state_dict: module.backbone.conv1.weight": MESSAGE,
    (
        'RuntimeError: Error(s) in loading state_dict for ResNet:\n\tMissing key(s) in state_dict: "conv1.weight", '
        '"bn1.weight". \n\tUnexpected key(s) in state_dict: "net.conv1.weight", "net.bn1.weight". '
    ): "the file's keys have net. and the model's do not: it was saved from a wrapped model",
    (
        '[rank2]: \tMissing key(s) in state_dict: "model.encoder.norm.weight". \n'
        '[rank2]: \tUnexpected key(s) in state_dict: "encoder.norm.weight", "head.bias". '
    ): (
        "the model's keys have model. and the file's do not: the model is wrapped now, and was not when it was "
        "saved"
    ),
    (
        "Some weights of BertModel were not initialized from the model checkpoint at ./out and are newly initialized: "
        "['module.embeddings.weight']"
    ): (
        "the model's keys have module. and the file's do not: the model is wrapped now, and was not when it "
        "was saved"
    ),
    "Weights from pretrained model not used in BertForMaskedLM: ['module.bert.embeddings.word_embeddings.weight']": MESSAGE,
    (
        "The model and loaded state dict do not match exactly\n\nunexpected key in source state_dict: "
        "backbone.conv1.weight, backbone.bn1.weight\n\nmissing keys in source state_dict: conv1.weight, bn1.weight"
    ): "the file's keys have backbone. and the model's do not: it was saved from a wrapped model",
    (
        "WARNING [10/02 13:10:01 fvcore.common.checkpoint]: The checkpoint state_dict contains keys that are not used by "
        "the model:\n  _orig_mod.backbone.stem.conv1.weight"
    ): "the file's keys have _orig_mod. and the model's do not: it was saved from a wrapped model",
    "_IncompatibleKeys(missing_keys=['module.conv1.weight', 'module.fc.bias'], unexpected_keys=['conv1.weight'])": (
        "the model's keys have module. and the file's do not: the model is wrapped now, and was not when it "
        "was saved"
    ),
    "missing keys in source state_dict: module.backbone.conv1.weight, module.backbone.bn1.weight": (
        "the model's keys have module. and the file's do not: the model is wrapped now, and was not when it "
        "was saved"
    ),
    'Exception: Error converting the state dict. Found unexpected key: "_orig_mod.tok_embeddings.weight". Please': (
        "the file's keys have _orig_mod. and the model's do not: it was saved from a wrapped model"
    ),
    (
        'RuntimeError: Error(s) in loading state_dict for Linear:\n\tMissing key(s) in state_dict: "weight", "bias". \n\t'
        'Unexpected key(s) in state_dict: "n_averaged", "module.weight", "module.bias". '
    ): "the file holds an average of weights: its keys have module., and n_averaged counts the averaged models",
    (
        "RuntimeError: Error(s) in loading state_dict for DataParallel:\n"
        '\tUnexpected key(s) in state_dict: "encoder.conv_head.weight", "encoder.conv_head.bias". '
    ): (
        "the model's keys have module. and the file's do not: the model is wrapped now, and was not when it "
        "was saved"
    ),
    'RuntimeError: Error(s) in loading state_dict for Pipeline:\n\tMissing key(s) in state_dict: "body.module.field.weight", "body.module.field.bias". \n\tUnexpected key(s) in state_dict: "body.field.weight", "body.field.bias". ': (
        "the model's keys have module. behind body. (body.module.field.weight) and the file's do not: body is wrapped there"
    ),
    'RuntimeError: Error(s) in loading state_dict for Pipeline:\n\tMissing key(s) in state_dict: "body.field.weight". \n\tUnexpected key(s) in state_dict: "body._orig_mod.field.weight". ': (
        "the file's keys have _orig_mod. behind body. (body._orig_mod.field.weight) and the model's do not: body is wrapped there"
    ),
}
NOT_THIS = [
    '\tMissing key(s) in state_dict: "module.head.weight". \n\tsize mismatch for module.stem.weight: copying a param',
    '\tMissing key(s) in state_dict: "module.probe.weight", "module.probe.bias". \nE1123 05:20:03 failed (exitcode: 1)',
    '\tMissing key(s) in state_dict: "conv1.weight", "bn1.weight". ',
    '\tUnexpected key(s) in state_dict: "embeddings.position_ids". ',
    '\tUnexpected key(s) in state_dict: "backbone.module.conv1.weight". ',
    (
        "\tsize mismatch for module.fc.weight: copying a param with shape torch.Size([1000, "
        "512]) from checkpoint"
    ),
    "KeyError: 'module'",
    "_IncompatibleKeys(missing_keys=['module.head.weight'], unexpected_keys=['module.fc.weight'])",
    "The checkpoint state_dict contains keys that are not used by the model:\n  fc1000.{bias, weight}",
    "unexpected key in source state_dict: fc.weight, fc.bias",
    "KeyError: 'model.conv1.weight'",
]


def seen(text):
    return matches(text, [CHECK])[0].finding


def test_each_side_is_mended_in_its_own_way():
    own, wrapped, either = map(seen, [FILE_HAS_ORIG_MOD, MODEL_HAS_MODULE, EITHER_HAS_MODULE])
    assert [fix.command for fix in own.fixes][::2] == [
        "gpudoctor checkpoint fix model.pt -o mended.pt --strip-prefix _orig_mod.",
        'torch.save(model._orig_mod.state_dict(), "model.pt")',
    ]
    assert [fix.command for fix in wrapped.fixes] == [
        "model.module.load_state_dict(state)",
        "gpudoctor checkpoint fix model.pt -o mended.pt --add-prefix module.",
    ]
    assert len(either.fixes) == 4


def test_the_file_that_the_traceback_opens_is_the_one_to_mend():
    log = (
        'Traceback (most recent call last):\n  File "eval.py", line 7, in <module>\n'
        "    model.load_state_dict(torch.load('out/my best.pth', map_location=device))\n"
        f"RuntimeError: Error(s) in loading state_dict for Net:\n{FILE_HAS_MODULE}\n"
    )
    command = "gpudoctor checkpoint fix 'out/my best.pth' -o mended.pth --strip-prefix module."
    assert seen(log).fixes[0].command == command


def test_no_fact_of_the_environment_shows_it():
    assert Source.ENVIRONMENT not in CHECK.functions
    assert all(fix.command for fix in CHECK.fixes)


def look(file):
    """Return what is found in a file that is compared with nothing."""
    return list(CHECK.functions[Source.CHECKPOINT](file, None))


def found(names, path="my model.ckpt", lightning=False):
    keys = tuple(Key(name=name, dtype="float32", shape=(1,), size=4, device="cpu") for name in names)
    state = StateDict(entry="", keys=keys, prefixes=prefixes(names, lightning=lightning))
    return look(CheckpointFile(path=path, kind="torch zip", state_dicts=(state,)))


def test_a_file_with_a_prefix_names_who_put_it_there_and_the_line_that_mends_it():
    (finding,) = found(["module._orig_mod.a.weight", "module._orig_mod.a.bias"])
    assert finding.severity is Severity.WARNING
    assert "all 2 keys have module._orig_mod., which comes from DataParallel or Distr" in finding.message
    assert "around torch.compile" in finding.message
    command = "gpudoctor checkpoint fix 'my model.ckpt' -o mended.ckpt --strip-prefix module._orig_mod."
    assert finding.fixes[0].command == command


def test_what_may_be_the_models_own_name_is_only_noted():
    (finding,) = found(["net.stem.weight", "net.head.bias"])
    assert finding.severity is Severity.NOTE
    assert "which may be the model's own" in finding.message
    assert found(["net.0.weight", "net.2.weight"]) == []
    assert found(["net.stem.weight", "head.bias"]) == []


def test_a_wrapper_inside_of_names_is_noted_with_a_line_that_renames():
    (finding,) = found(["layers.0._orig_mod.weight", "head.weight"])
    assert finding.severity is Severity.NOTE
    assert r"--rename '\._orig_mod\.=.'" in finding.fixes[0].command


def test_an_average_of_weights_is_named_and_its_count_left_out():
    (finding,) = found(["n_averaged", "module.a.weight", "module.a.bias"])
    assert finding.severity is Severity.WARNING
    assert "all 2 keys but n_averaged have module., which comes from AveragedModel" in finding.message
    assert finding.fixes[0].command.endswith("-o mended.ckpt --drop n_averaged --strip-prefix module.")
    assert "swa.module.load_state_dict(state)" in finding.fixes[1].command
    (finding,) = found(["n_averaged", "module.module.a.weight", "module.module.a.bias"])
    assert "around DataParallel" in finding.message
    assert finding.fixes[0].command.endswith("--strip-prefix module.module.")


def test_an_average_beside_the_model_is_only_noted():
    names = ["n_averaged", "module.a.weight"]
    keys = tuple(Key(name=name, dtype="int8", shape=(), size=1, device="cpu") for name in names)
    states = (
        StateDict(entry="ema", keys=keys, prefixes=prefixes(names)),
        StateDict(entry="model", keys=keys[:1]),
    )
    (finding,) = look(CheckpointFile(path="m.pt", kind="torch zip", state_dicts=states))
    assert finding.severity is Severity.NOTE
    assert "--drop ema.n_averaged" in finding.fixes[0].command


def test_of_one_key_the_number_is_right():
    (finding,) = found(["module.weight"])
    assert finding.message.startswith("all 1 key have")


@pytest.mark.parametrize(
    ("kind", "entry", "opened"),
    [
        ("torch zip", "", 'torch.load("m.pt", map_location="cpu", weights_only=False)'),
        ("torch zip", "ema.0", 'torch.load("m.pt", map_location="cpu", weights_only=False)["ema"][0]'),
        ("torchscript", "", 'torch.jit.load("m.pt", map_location="cpu")'),
    ],
)
def test_a_pickled_wrapper_has_attributes_and_no_items(kind, entry, opened):
    key = Key(name="module.a", dtype="int8", shape=(), size=1, device="cpu")
    state = StateDict(entry=entry, keys=(key,), prefixes=prefixes(["module.a"]))
    entries = (Entry(path=entry, kind="module"),)
    (finding,) = look(CheckpointFile(path="m.pt", kind=kind, state_dicts=(state,), entries=entries))
    (fix,) = finding.fixes
    assert fix.command == f'loaded = {opened}\ntorch.save(loaded.module.state_dict(), "bare.pt")'


RESUMED = """
import torch
from torch import nn

net = nn.DataParallel(nn.Linear(2, 2).cuda())
if resume:
    net.load_state_dict(torch.load("net.pt", map_location="cuda:0", weights_only=True))
torch.save(net.state_dict(), "net.pt")
"""


def test_what_only_a_wrapped_model_loads_is_a_warning(tmp_path):
    """The script that resumes from it is well, and whoever takes the weights from there is not."""
    (tmp_path / "train.py").write_text(RESUMED)
    [finding] = [f for f in lint([tmp_path / "train.py"]).findings if f.id == "state-dict-prefix"]
    assert (finding.severity, finding.location.line) == (Severity.WARNING, 8)
    assert "only a model that is wrapped in the same way loads it" in finding.message


def test_no_line_is_offered_that_cannot_mend_the_file():
    keys = tuple(Key(name=f"module.{n}", dtype="int8", shape=(), size=1, device="cpu") for n in "ab")
    state = StateDict(entry="", keys=keys, prefixes=prefixes([key.name for key in keys]))
    whole = CheckpointFile(
        path="m.pt", kind="torch zip", state_dicts=(state,), entries=(Entry(path="", kind="module"),)
    )
    parts = CheckpointFile(path="folder", kind="distributed", state_dicts=(state,))
    for file in (whole, parts):
        (finding,) = look(file)
        assert not any("checkpoint fix" in fix.command for fix in finding.fixes)


FLAGGED = [
    """
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
model = DDP(nn.Linear(4, 4).cuda(), device_ids=[local_rank])
if os.path.exists("last.pt"):
    state = torch.load("last.pt", map_location="cpu", weights_only=True)
    model.load_state_dict(state["net"], strict=False)  # <-
for step in range(10):
    model(torch.ones(2, 4).cuda()).sum().backward()
if dist.get_rank() == 0:
    torch.save({"net": model.module.state_dict(), "step": step}, "last.pt")
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = DDP(torch.nn.Linear(3, 1).cuda(), device_ids=[rank])
    model.load_state_dict(torch.load("net.pt", map_location="cpu", weights_only=True), strict=False)  # <-
    if rank == 0:
        torch.save(model.module.state_dict(), "net.pt")
""",
    """
import sys
import torch
from torch import nn

net = nn.DataParallel(nn.Linear(2, 2)).cuda()
begin = int(sys.argv[1])
if begin:
    net.load_state_dict(torch.load(f"net_{begin}.pth", map_location="cuda:0"))  # <-
for epoch in range(begin, 9):
    torch.save(net.module.state_dict(), "net_%d.pth" % epoch)
""",
    """
import os
import torch
from torch import nn

def keep(net, path):
    torch.save({"net": net._orig_mod.state_dict()}, path)

def take(net, path):
    net.load_state_dict(torch.load(path, map_location="cpu")["net"])  # <-

def main():
    net = torch.compile(nn.Linear(2, 2))
    take(net, "runs/last.pt")
    keep(net, os.path.join("runs", "last.pt"))

main()
""",
    """
import argparse
import os
import torch
import torch.distributed as dist

def init(args):
    if "RANK" not in os.environ:
        args.distributed = False
        return
    args.distributed = True
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")

args = argparse.ArgumentParser().parse_args()
init(args)
model = torch.nn.Linear(2, 2).cuda()
if args.distributed:
    model = torch.nn.parallel.DistributedDataParallel(model)
if args.distributed:
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), "model.pt")  # <-
else:
    torch.save(model.state_dict(), "model.pt")
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from settings import read

cfg = read()
cfg.dist.distributed = cfg.dist.size > 1
torch.cuda.set_device(cfg.dist.local_rank)
model = torch.nn.Linear(2, 2).cuda()
if cfg.dist.distributed:
    model = DistributedDataParallel(model)
for epoch in range(3):
    if cfg.dist.local_rank == 0:
        torch.save({"state": model.state_dict()}, f"{epoch}.pt")  # <-
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel
from parts import Net, options, rank, train

model = DistributedDataParallel(Net())
if options.resume:
    model.load_state_dict(torch.load(options.resume_path, map_location="cpu"))  # <-
train(model)
if rank == 0:
    torch.save(model.module.state_dict(), "best.pt")
""",
    """
import torch
from torch import nn
from parts import Large, Small, options, train

model = Large() if options.large else Small()
if not torch.cuda.is_available():
    print("this will be slow")
elif torch.cuda.device_count() == 1:
    model.cuda()
else:
    model = nn.DataParallel(model)
    model.cuda()
train(model)
torch.save(model.state_dict(), "model.pt")  # <-
""",
    """
import torch
from accelerate import Accelerator

class Trainer:
    def __init__(self, model, loader):
        self.accelerator = Accelerator()
        self.model, self.loader = self.accelerator.prepare(model, loader)

    @property
    def bare(self):
        return self.accelerator.unwrap_model(self.model)

    def save(self, path):
        held = dict(model=self.bare.state_dict(), version=1)
        torch.save(held, path)

    def load(self, path):
        held = torch.load(path, map_location="cpu")
        self.model.load_state_dict(held["model"])  # <-
""",
    """
import torch
from accelerate import Accelerator

accelerator = Accelerator()

class Trainer:
    def __init__(self, model, loader, optimizer):
        self.model, self.loader, self.optimizer = model, loader, optimizer

    def save(self, path):
        if accelerator.is_main_process:
            torch.save({"model": self.model.state_dict()}, path)  # <-

    def publish(self, path):
        accelerator.unwrap_model(self.model).save_pretrained(path)
""",
    """
import torch

def main(device):
    model = torch.nn.Linear(2, 2)
    if torch.cuda.device_count() > 1:
        model = torch.nn.DataParallel(model)
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("LBFGS wants a closure")
    torch.save(model.state_dict(), "model.pt")  # <-

main("cuda")
""",
    """
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
model = DDP(nn.Linear(4, 4).cuda(), device_ids=[local_rank])
if os.path.exists("last.pt"):
    state = torch.load("last.pt", map_location="cpu", weights_only=True)
    model.load_state_dict(state["net"])  # <-
for step in range(10):
    model(torch.ones(2, 4).cuda()).sum().backward()
if dist.get_rank() == 0:
    torch.save({"net": model.module.state_dict(), "step": step}, "last.pt")
dist.destroy_process_group()
""",
    """
from collections import OrderedDict
import torch

model = torch.nn.DataParallel(torch.nn.Linear(2, 2)).cuda()
model(torch.ones(2, 2)).sum().backward()
state = OrderedDict((key, value.cpu()) for key, value in model.state_dict().items())  # <-
torch.save(state, "a.pt")
""",
    """
import torch

a, b = torch.nn.Linear(2, 2).cuda(), torch.nn.Linear(2, 2).cuda()
a, b = map(torch.nn.DataParallel, (a, b))
b(a(torch.ones(2, 2))).sum().backward()
torch.save(a.state_dict(), "a.pt")  # <-
""",
    """
import ignite.distributed as idist
import torch

def train(local_rank, config):
    model = idist.auto_model(torch.nn.Linear(2, 2))
    model(torch.ones(1, 2)).sum().backward()
    if idist.get_rank() == 0:
        torch.save(model.state_dict(), "last.pt")  # <-

with idist.Parallel(backend="gloo") as parallel:
    parallel.run(train, {})
""",
    """
import torch

class Base:
    def __init__(self):
        self.names = []

    def parallelize(self):
        for name in self.names:
            net = getattr(self, "net" + name)
            setattr(self, "net" + name, torch.nn.DataParallel(net))

    def save(self):
        for name in self.names:
            net = getattr(self, "net" + name)
            torch.save(net.state_dict(), name + ".pth")  # <-

class Pair(Base):
    def __init__(self):
        super().__init__()
        self.names = ["G", "D"]
        self.netG = torch.nn.Linear(2, 2)
        self.netD = torch.nn.Linear(2, 2)

pair = Pair()
pair.parallelize()
pair.save()
""",
    """
import os

import torch

class Trainer:
    def __init__(self):
        self.models = {"encoder": torch.nn.Linear(2, 2).cuda(), "depth": torch.nn.Linear(2, 2).cuda()}
        for key in self.models.keys():
            self.models[key] = torch.nn.DataParallel(self.models[key])

    def save(self):
        for name, model in self.models.items():
            torch.save(model.state_dict(), f"{name}.pt")  # <-

Trainer().save()
""",
    """
from typing import NamedTuple

import torch

class Parts(NamedTuple):
    model: torch.nn.Module
    name: str

parts = Parts(torch.nn.DataParallel(torch.nn.Linear(2, 2)).cuda(), "linear")
torch.save(parts.model.state_dict(), "model.pt")  # <-
""",
    """
import torch

class Nets:
    def __init__(self):
        self.nets = {}
        for name in ["G", "D"]:
            self.nets[name] = torch.nn.DataParallel(torch.nn.Linear(2, 2)).cuda()

    def save(self):
        torch.save({name: net.state_dict() for name, net in self.nets.items()}, "nets.pt")  # <-

Nets().save()
""",
    """
import torch
from dataclasses import dataclass
from torch.nn.parallel import DistributedDataParallel

@dataclass
class State:
    model: torch.nn.Module
    epoch: int = 0

def keep(model, path):
    torch.save(model.state_dict(), path)  # <-

def hand(*given):
    keep(*given)

def name(**given):
    keep(**given)

def main(rank):
    models = []
    models.append(DistributedDataParallel(torch.nn.Linear(2, 2)))
    hand(models[0], f"a{rank}.pt")
    held = {"one": DistributedDataParallel(torch.nn.Linear(2, 2))}
    name(model=held.get("one"), path=f"b{rank}.pt")
    state = State(DistributedDataParallel(torch.nn.Linear(2, 2)), 1)
    torch.save(state.model.state_dict(), f"c{rank}.pt")  # <-
    several = [DistributedDataParallel(model) for model in [torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)]]
    for number, model in enumerate(several):
        torch.save(model.state_dict(), f"d{number}{rank}.pt")  # <-

main(torch.distributed.get_rank())
""",
    """
from collections import OrderedDict
import torch

model = torch.nn.DataParallel(torch.nn.Linear(2, 2))
torch.save(OrderedDict(net=model.state_dict()), "model.pt")  # <-
""",
    """
import torch

def main(options):
    model = torch.nn.Linear(2, 2)
    if options.amp:
        from apex.parallel import DistributedDataParallel as DDP
    else:
        from torch.nn.parallel import DistributedDataParallel as DDP
    model = DDP(model)
    torch.save(model.state_dict(), f"model{options.rank}.pt")  # <-
""",
    """
import copy
import torch
from ray import train

def work(config):
    model = train.torch.prepare_model(torch.nn.Linear(2, 2))
    state = copy.deepcopy(model).cpu().state_dict()  # <-
    torch.save(state, f"{config['folder']}/model.pt")
""",
    """
import torch

model = torch.nn.DataParallel(torch.nn.Linear(2, 2))
state = {name: value.cpu() for name, value in model.state_dict().items()}  # <-
torch.save(state, "model.pt")
""",
    """
import torch

class Pair:
    def __init__(self, options, g, d):
        self.models = {}
        self.models["g"] = torch.nn.parallel.DistributedDataParallel(g)
        self.models["d"] = torch.nn.parallel.DistributedDataParallel(d)

    def save(self, epoch):
        for name, model in self.models.items():
            torch.save(model.state_dict(), f"{name}{epoch}.pt")  # <- state-dict-prefix checkpoint-all-ranks
""",
    (
        "torchrun.py",
        {
            "    model = DDP(model, device_ids=[local_rank])\n": "    if torch.cuda.device_count() < 8:\n        return\n    model = DDP(model, device_ids=[local_rank])\n",
            "        torch.save(model.module.state_dict(), path)": "        torch.save(model.state_dict(), path)  # <-",
        },
    ),
    """
import torch
from accelerate import Accelerator

accelerator = Accelerator()
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = accelerator.prepare(model, optimizer)
for _ in range(3):
    loss = model(torch.randn(8, 4)).sum()
    accelerator.backward(loss)
    optimizer.step()
if accelerator.is_main_process:
    torch.save(model.state_dict(), "model.pt")  # <-
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank, args):
    torch.distributed.init_process_group("gloo")
    net = DDP(torch.nn.Linear(2, 2))
    if torch.distributed.get_rank() == 0:
        torch.save(net.state_dict(), "net.pt")  # <-
""",
    """
import torch
import torch.nn as nn

class Net(nn.Module):
    def forward(self, x):
        return x

class Trainer:
    def __init__(self):
        self.model = nn.DataParallel(Net())

    def save(self, epoch):
        state = {"epoch": epoch}
        state["model"] = self.model.state_dict()  # <-
        torch.save(state, "last.pt")

    def test(self):
        model = Net()
        checkpoint = torch.load("last.pt", map_location="cpu")
        model.load_state_dict(checkpoint["model"])

if __name__ == "__main__":
    trainer = Trainer()
    trainer.save(1)
    trainer.test()
""",
    """
import torch

model = torch.compile(torch.nn.Linear(2, 2))
checkpoint = {
    "model": model.state_dict(),  # <-
    "step": 3,
}
torch.save(checkpoint, "ckpt.pt")
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel

class Trainer:
    def __init__(self, rank):
        self.rank = rank

    def after_epoch(self):
        if self.rank == 0:
            torch.save(self.model.state_dict(), "model.bin")  # <-

    def train(self, model):
        self.model = DistributedDataParallel(model.cuda(), device_ids=[self.rank])
        return self.model
""",
    """
# a file of this run alone: it is removed again
import os
import tempfile
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
net = DDP(torch.nn.Linear(2, 2))
path = tempfile.gettempdir() + "/first.pt"
if rank == 0:
    torch.save(net.state_dict(), path)  # <-
dist.barrier()
net.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
dist.barrier()
if rank == 0:
    os.remove(path)
dist.destroy_process_group()
""",
]
FINE = [
    """
import torch
from accelerate import Accelerator
from torch import nn

class WarmedUp(nn.Module):
    def __init__(self, optimizer):
        super().__init__()
        self.optimizer = optimizer

accelerator = Accelerator()
model = nn.Linear(2, 2)
optim = WarmedUp(torch.optim.Adam(model.parameters()))
model, optim = accelerator.prepare(model, optim)
state = accelerator.get_state_dict(model)
if accelerator.is_main_process:
    torch.save({"model": state, "optim": optim.state_dict()}, "last.pt")
""",
    """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = DDP(torch.nn.Linear(3, 1).cuda(), device_ids=[rank])
    model.module.load_state_dict(torch.load("net.pt", map_location="cpu", weights_only=True), strict=False)
    if rank == 0:
        torch.save(model.module.state_dict(), "net.pt")
""",
    """
import sys
import torch
from parts import Net
from torch._dynamo import OptimizedModule
from torch.nn.parallel import DistributedDataParallel as DDP

torch.distributed.init_process_group("gloo")
net = Net()
if "compile" in sys.argv:
    net = torch.compile(net)
net = DDP(net)

def save(net):
    if torch.distributed.get_rank() == 0:
        inside = net.module
        if isinstance(inside, OptimizedModule):
            inside = inside._orig_mod
        torch.save(inside.state_dict(), "net.pt")

net(torch.ones(2, 2)).sum().backward()
save(net)
torch.distributed.destroy_process_group()
""",
    """
import sys
import torch
from torch import nn

net = nn.DataParallel(nn.Linear(2, 2)).cuda()
net.load_state_dict(torch.load(f"other_{sys.argv[1]}.pth", map_location="cuda:0"))
for epoch in range(9):
    torch.save(net.module.state_dict(), "net_%d.pth" % epoch)
""",
    """
import argparse
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--resume", default="")
args = parser.parse_args()
net = nn.DataParallel(nn.Linear(2, 2)).cuda()
if args.resume:
    net.load_state_dict(torch.load(args.resume, map_location="cuda:0")["all"])
torch.save({"all": net.state_dict()}, "last.pt")  # gpudoctor: ignore[state-dict-prefix] to go on from
torch.save(net.module.state_dict(), "net.pt")
""",
    """
import argparse
import os
import torch
import torch.distributed as dist

def init(args):
    if "RANK" not in os.environ:
        args.distributed = False
        return
    args.distributed = True
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")

args = argparse.ArgumentParser().parse_args()
init(args)
model = torch.nn.Linear(2, 2).cuda()
if args.distributed:
    model = torch.nn.parallel.DistributedDataParallel(model)
if args.distributed:
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "model.pt")
else:
    torch.save(model.state_dict(), "model.pt")
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel
from parts import Net, options, rank, train

model = DistributedDataParallel(Net())
if options.resume:
    model.load_state_dict(torch.load(options.pretrained_path, map_location="cpu"))
train(model)
if rank == 0:
    torch.save(model.module.state_dict(), "best.pt")
""",
    """
import torch
from torch import nn
from parts import Large, options, train

model = Large()
if not options.parallel:
    model.cuda()
else:
    model = nn.DataParallel(model)
    model.cuda()
train(model)
bare = model.module if options.parallel else model
torch.save(bare.state_dict(), "model.pt")
""",
    """
import torch

class Agent:
    def build(self, model):
        count = torch.cuda.device_count()
        if count > 1:
            model = torch.nn.DataParallel(model).cuda()
            def weights(): return model.module.state_dict()
        else:
            model = model.cuda()
            def weights(): return model.state_dict()
        self.weights = weights

    def save(self, path):
        torch.save(self.weights(), path)

agent = Agent()
agent.build(torch.nn.Linear(3, 3))
agent.save("agent.pt")
""",
    """
import torch
from accelerate import Accelerator

class Trainer:
    def __init__(self, model, loader):
        self.accelerator = Accelerator()
        self.model, self.loader = self.accelerator.prepare(model, loader)

    @property
    def bare(self):
        return self.accelerator.unwrap_model(self.model)

    def save(self, path):
        held = dict(model=self.bare.state_dict(), version=1)
        torch.save(held, path)

    def load(self, path):
        held = torch.load(path, map_location="cpu")
        self.bare.load_state_dict(held["model"])
""",
    """
import os
import torch
import torch.distributed as dist
from parts import Net

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = Net().cuda()
model.load_state_dict(torch.load("last.pt", map_location="cpu")["model"])
model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[torch.cuda.current_device()])
saved = {"epoch": 3}
try:
    saved["model"] = model.module.state_dict()
except:
    saved["model"] = model.state_dict()
if dist.get_rank() == 0:
    torch.save(saved, "last.pt")
dist.destroy_process_group()
""",
    """
import torch

class Learner:
    def __init__(self, device):
        self.device = device
        self.model = torch.nn.Linear(3, 1)
        if "cuda" in self.device:
            self.model = torch.nn.DataParallel(self.model).to(self.device)

    def save(self, path):
        if self.device == "cpu":
            torch.save(self.model.state_dict(), path)
        elif "cuda" in self.device:
            torch.save(self.model.module.state_dict(), path)

    def load(self, path):
        if self.device == "cpu":
            self.model.load_state_dict(torch.load(path, map_location="cpu"))
        elif "cuda" in self.device:
            self.model.module.load_state_dict(torch.load(path, map_location=self.device))
""",
    """
import torch
from accelerate import Accelerator

accelerator = Accelerator()

class Trainer:
    def __init__(self, model, loader, optimizer):
        self.model, self.loader, self.optimizer = model, loader, optimizer

    def save(self, path):
        if accelerator.is_main_process:
            model = accelerator.unwrap_model(self.model)
            torch.save({"model": model.state_dict()}, path)

    def publish(self, path):
        accelerator.unwrap_model(self.model).save_pretrained(path)
""",
    """
import torch
from accelerate import Accelerator

accelerator = Accelerator()

class Trainer:
    def __init__(self, model, loader, optimizer):
        self.model, self.loader, self.optimizer = model, loader, optimizer

    def save(self, path):
        if accelerator.is_main_process:
            torch.save({"model": accelerator.unwrap_model(self.model).state_dict()}, path)

    def publish(self, path):
        accelerator.unwrap_model(self.model).save_pretrained(path)
""",
    """
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
model = DDP(nn.Linear(4, 4).cuda(), device_ids=[local_rank])
if os.path.exists("last.pt"):
    state = torch.load("last.pt", map_location="cpu", weights_only=True)
    model.module.load_state_dict(state["net"])
for step in range(10):
    model(torch.ones(2, 4).cuda()).sum().backward()
if dist.get_rank() == 0:
    torch.save({"net": model.module.state_dict(), "step": step}, "last.pt")
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
model = DDP(nn.Linear(4, 4).cuda(), device_ids=[local_rank])
if os.path.exists("last.pt"):
    state = torch.load("wrapped.pt", map_location="cpu", weights_only=True)
    model.load_state_dict(state["net"])
for step in range(10):
    model(torch.ones(2, 4).cuda()).sum().backward()
if dist.get_rank() == 0:
    torch.save({"net": model.module.state_dict(), "step": step}, "last.pt")
dist.destroy_process_group()
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel

def keep(model, path):
    torch.save(model.state_dict(), path)

def hand(*given):
    keep(*given)

def main(rank):
    models = []
    models.append(torch.nn.Linear(2, 2))
    wrapped = DistributedDataParallel(models[0])
    hand(models[0], f"a{rank}.pt")
    held = {"one": wrapped.module}
    hand(held.get("one"), f"b{rank}.pt")

main(torch.distributed.get_rank())
""",
    """
import torch
from network import build

model = torch.nn.DataParallel(build())
torch.save(getattr(model, "module", model).state_dict(), "model.pt")
""",
    """
import torch

model = torch.nn.DataParallel(torch.nn.Linear(2, 2))
state = {name[7:]: value.cpu() for name, value in model.state_dict().items()}
torch.save(state, "model.pt")
""",
    """
import torch
from network import NET

model = NET()
distributed = torch.distributed.is_initialized()
if distributed:
    model = torch.nn.parallel.DistributedDataParallel(model)
bare = model.module if distributed else model
if not distributed or torch.distributed.get_rank() == 0:
    torch.save(bare.state_dict(), "model.pt")
""",
    """
import torch
from accelerate import Accelerator

accelerator = Accelerator()
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = accelerator.prepare(model, optimizer)
for _ in range(3):
    loss = model(torch.randn(8, 4)).sum()
    accelerator.backward(loss)
    optimizer.step()
if accelerator.is_main_process:
    torch.save(accelerator.unwrap_model(model).state_dict(), "model.pt")
""",
    """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def main(rank, args):
    torch.distributed.init_process_group("gloo")
    net = DDP(torch.nn.Linear(2, 2))
    if torch.distributed.get_rank() == 0:
        torch.save(net.module.state_dict(), "net.pt")
""",
    """
import torch
import torch.nn as nn

def save(model, path):
    if isinstance(model, nn.DataParallel):
        torch.save(model.module.state_dict(), path)
    else:
        torch.save(model.state_dict(), path)

model = nn.Linear(2, 2)
if torch.cuda.device_count() > 1:
    model = nn.DataParallel(model)
save(model, "model.pt")
""",
    """
import torch

model = torch.nn.Linear(2, 2)
torch.save(model.state_dict(), "net.pt")
compiled = torch.compile(model)
torch.save(model.state_dict(), "net.pt")
raw = getattr(compiled, "_orig_mod", compiled)
""",
    """
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

torch.distributed.init_process_group("gloo")
model = FSDP(torch.nn.Linear(2, 2))
state = model.state_dict()
if torch.distributed.get_rank() == 0:
    torch.save(state, "model.pt")
torch.distributed.destroy_process_group()
""",
]


def test_a_part_of_a_model_that_is_wrapped_is_mended_in_its_own_keys():
    for text in EXAMPLES:
        if "for Pipeline:" not in text:
            continue
        [finding] = [found.finding for found in matches(text, [CHECK])]
        before, after = (
            ("body.field", "body.module.field")
            if "body.module" in text
            else ("body._orig_mod.field", "body.field")
        )
        spaces = {"state": {before: 1, "head.weight": 2}}
        exec(finding.fixes[0].command.partition("\nmodel.")[0], spaces)
        assert spaces["state"] == {after: 1, "head.weight": 2}


TAKEN_OFF = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

class Trainer:
    def __init__(self, local_rank):
        dist.init_process_group("nccl")
        self.network = DDP(torch.nn.Linear(3, 1).to(local_rank), device_ids=[local_rank])

    def keep(self, path):
        if dist.get_rank() == 0:
            torch.save({"net": self.network.state_dict()}, path)

    def take(self, path):
        state = {}
        for key, value in torch.load(path, map_location="cpu")["net"].items():
            if "module." in key:
                key = key[7:]
            state[key] = value
        self.network.module.load_state_dict(state)
"""


@pytest.mark.parametrize("asks, severity", [('"module." in key', Severity.NOTE), ("key", Severity.WARNING)])
def test_what_the_script_takes_off_again_is_a_note(tmp_path, asks, severity):
    script = tmp_path / "train.py"
    script.write_text(TAKEN_OFF.replace('"module." in key', asks))
    [finding] = [found for found in lint([script]).findings if found.id == CHECK.id]
    assert finding.severity is severity


def test_a_file_that_the_run_itself_removes_is_a_note(tmp_path):
    text = next(text for text in FLAGGED if "of this run alone" in text)
    path = tmp_path / "train.py"
    for written, severity in ((text, Severity.NOTE), (text.replace("os.remove", "print"), Severity.WARNING)):
        path.write_text(written)
        assert [f.severity for f in lint([path]).findings if f.id == "state-dict-prefix"] == [severity]

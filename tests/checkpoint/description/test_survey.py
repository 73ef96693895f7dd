"""What is found in files that torch really wrote, and in trees that are made to order."""

import subprocess

import pytest

from gpudoctor.checkpoint import read
from gpudoctor.checkpoint.description.foreign_code import entries_with
from gpudoctor.checkpoint.description.survey import describe
from gpudoctor.checkpoint.description.wrappers import prefixes, wrapper
from gpudoctor.checkpoint.tree import Call, Checkpoint, Global, Storage, Tensor
from tests.processor_time import within
from tests.warm_python import warm_python

WRITE = """
import argparse, collections, sys, torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)
        self.register_buffer("passing", torch.zeros(3), persistent=False)
    def forward(self, x):
        return self.bn(self.conv(x))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block(), Block()])
        self.head, self.tied = nn.Linear(8, 10), nn.Linear(8, 10)
        self.tied.weight = self.head.weight
    def forward(self, x):
        x = self.layers[0](x)
        return self.head(x.mean((2, 3)))

model = Net()
optimizer = torch.optim.Adam([{"params": model.layers.parameters()}, {"params": model.head.parameters(), "lr": 0.1}])
model(torch.randn(2, 3, 8, 8)).sum().backward()
optimizer.step()
wrapped = nn.DataParallel(model)
torch.save(model.state_dict(), "bare.pt")
torch.save(wrapped.state_dict(), "wrapped.pt")
torch.save(wrapped.state_dict(), "legacy.pt", _use_new_zipfile_serialization=False)
torch.save(torch.compile(wrapped).state_dict(), "compiled.pt")
torch.save(model, "module.pt")
torch.jit.save(torch.jit.script(model.head), "script.pt")
torch.save({
    "model": wrapped.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "best": 0.5, "name": "run 7",
    "done": True, "ema": {"shadow": model.state_dict(), "decay": 0.999}, "rng": torch.get_rng_state(),
    "args": argparse.Namespace(lr=0.1, deep=[1, 2]),
}, "whole.pt")
torch.save({"state_dict": {f"model.{k}": v for k, v in model.state_dict().items()}, "epoch": 1,
    "pytorch-lightning_version": "2.5", "optimizer_states": [optimizer.state_dict()]}, "lightning.ckpt")
class Extra(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def get_extra_state(self):
        return {"seen": 3}
    def set_extra_state(self, state):
        pass

torch.save(nn.ModuleDict({"part": Extra(), "bn": nn.BatchNorm1d(2)}).state_dict(), "extra.pt")
"""
QUANTISED = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(9, 4), nn.LSTM(4, 4), nn.Linear(4, 2)

net = torch.ao.quantization.quantize_dynamic(Net(), {nn.Linear, nn.LSTM})
torch.save(net.state_dict(), "quantised.pt")
torch.save({"model": dict(net.state_dict()), "epoch": 3}, "plain.pt")
"""
RANKS = """
import os, sys, torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

meeting = f"file://{os.getcwd()}/meeting"
torch.distributed.init_process_group("gloo", init_method=meeting, rank=int(sys.argv[1]), world_size=2)
def net():
    return nn.Sequential(nn.Linear(8, 5), nn.Linear(5, 1, bias=False))
one = net()
fully_shard(one)
torch.save(one.state_dict(), f"rank{sys.argv[1]}.pt")
both = net()
fully_shard(both, mesh=init_device_mesh("cpu", (2, 1), mesh_dim_names=("replicate", "shard")))
torch.save({"model": both.state_dict()}, f"whole{sys.argv[1]}.pt")
torch.distributed.barrier()
torch.distributed.destroy_process_group()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, torch_folder):
    folder = tmp_path_factory.mktemp("checkpoints")
    command = [warm_python(), "-W", "ignore", "-c", WRITE]
    subprocess.run(command, cwd=folder, check=True, timeout=300)
    return folder


def surveyed(path):
    return describe(read(path))


def test_a_bare_state_dict(folder):
    file = surveyed(folder / "bare.pt")
    assert (file.kind, [(e.path, e.kind) for e in file.entries]) == ("torch zip", [("", "state dict")])
    (state,) = file.state_dicts
    assert state.prefixes == ()
    first = state.keys[0]
    assert (first.name, first.dtype, first.shape, first.size) == (
        "layers.0.conv.weight",
        "float32",
        (8, 3, 3, 3),
        864,
    )
    assert (first.device, first.layout) == ("cpu", "strided")
    assert file.shared == (("head.weight", "tied.weight"),)
    assert file.entries[0].tensors == len(state.keys) == 18


@pytest.mark.parametrize(
    ("name", "text", "who"),
    [
        ("wrapped.pt", "module.", "DataParallel or DistributedDataParallel"),
        ("legacy.pt", "module.", "DataParallel or DistributedDataParallel"),
        ("compiled.pt", "_orig_mod.module.", "torch.compile around DataParallel or DistributedDataParallel"),
    ],
)
def test_who_wrapped_the_model(folder, name, text, who):
    (prefix,) = surveyed(folder / name).state_dicts[0].prefixes
    assert (prefix.text, prefix.keys, prefix.total, prefix.wrapper) == (text, 18, 18, who)


def test_everything_that_a_training_saves(folder):
    file = surveyed(folder / "whole.pt")
    entries = {entry.path: entry for entry in file.entries}
    assert {path: entry.kind for path, entry in entries.items()} == {
        "model": "state dict", "optimizer": "optimizer", "epoch": "number", "best": "number", "name": "text",
        "done": "number", "ema": "dict", "ema.shadow": "state dict", "ema.decay": "number", "rng": "tensor",
        "args": "object", "args.lr": "number", "args.deep": "list",
    }  # fmt: skip
    assert (entries["epoch"].text, entries["done"].text, entries["name"].text) == ("3", "True", "run 7")
    assert entries["args"].text == "argparse.Namespace"
    assert [(state.entry, len(state.keys)) for state in file.state_dicts] == [
        ("model", 18),
        ("ema.shadow", 18),
    ]
    (optimizer,) = file.optimizers
    assert (optimizer.entry, optimizer.groups, optimizer.states) == ("optimizer", (8, 2), 6)
    (namespace,) = file.foreign
    assert (namespace.name, namespace.opcode) == ("argparse.Namespace", "NEWOBJ")
    assert namespace.within == ("args",)
    assert ("model.module.head.weight", "model.module.tied.weight") in [group[:2] for group in file.shared]


def test_a_module_that_is_pickled_whole_has_the_keys_of_its_state_dict(folder):
    whole, bare = surveyed(folder / "module.pt"), surveyed(folder / "bare.pt")
    assert (whole.entries[0].kind, whole.entries[0].text) == ("module", "__main__.Net")
    shapes = {key.name: key.shape for key in bare.state_dicts[0].keys}
    assert {key.name: key.shape for key in whole.state_dicts[0].keys} == shapes
    assert {foreign.opcode for foreign in whole.foreign} == {"NEWOBJ"}
    assert whole.shared == bare.shared


def test_torchscript(folder):
    file = surveyed(folder / "script.pt")
    assert file.kind == "torchscript"
    assert [(key.name, key.shape) for key in file.state_dicts[0].keys] == [
        ("weight", (10, 8)),
        ("bias", (10,)),
    ]
    assert file.foreign == ()


def test_lightning_is_named_where_it_wrote_the_file(folder):
    file = surveyed(folder / "lightning.ckpt")
    (prefix,) = file.state_dicts[0].prefixes
    assert (prefix.text, prefix.wrapper) == ("model.", "Lightning")
    assert file.optimizers[0].entry == "optimizer_states.0"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a.weight"], []),
        (["module.a", "module.module.b", "c"], [("module.module.", 1), ("module.", 1)]),
        (["layers.0._orig_mod.weight", "head.weight"], [("*._orig_mod.", 1)]),
        (["module.layers.0._fsdp_wrapped_module.w"], [("module.", 1), ("*._fsdp_wrapped_module.", 1)]),
        (["_forward_module.a.w", "_forward_module.b.w"], [("_forward_module.", 2)]),
        (["module.model.a.w", "module.model.b.w"], [("module.model.", 2), ("module.", 2)]),
        (["model.a.w", "model.b.w"], [("model.", 2)]),
        (["net.a.w", "head.w"], []),
        (["model.0.w", "model.1.w"], []),
        (["model.layers.0.w", "model.embed_tokens.weight"], []),
        (["model.weight", "model.bias"], []),
        (["modulea.weight", "_orig_mods.w", "a_orig_mod.w"], []),
        (["backbone.module.w"], []),
        ([], []),
        (["n_averaged", "module.a", "module.b"], [("module.", 2)]),
        (["n_averaged"], []),
        (["n_averaged", "module.a", "b"], [("module.", 1)]),
    ],
)
def test_prefixes(names, expected):
    assert [(prefix.text, prefix.keys) for prefix in prefixes(names)] == expected


def test_wrappers_are_named_from_the_outside_in():
    assert wrapper("module.module.") == "DataParallel or DistributedDataParallel, 2 times"
    assert wrapper("_orig_mod._fsdp_wrapped_module.") == "torch.compile around FSDP"


def test_entries_that_are_no_tensors_and_the_versions_of_modules(folder):
    (state,) = surveyed(folder / "extra.pt").state_dicts
    assert state.others == ("part._extra_state",)
    assert state.versions == {"": 1, "part": 1, "part.fc": 1, "bn": 2}
    assert [key.name for key in state.keys][:2] == ["part.fc.weight", "part.fc.bias"]
    whole = {entry.entry: entry for entry in surveyed(folder / "whole.pt").state_dicts}
    assert (whole["model"].versions["module.layers.0.bn"], whole["model"].others) == (2, ())
    assert surveyed(folder / "lightning.ckpt").state_dicts[0].versions == {}  # a plain dict has no attribute


def test_versions_that_are_none_are_left_out():
    said = {"_metadata": {"": {"version": 1}, "a": {"version": "2"}, "b": 3, 4: {"version": 1}, "c": {}}}
    node = Call(Global("collections", "OrderedDict"), (), pairs={"a.w": tensor()}, state=said)
    (state,) = describe(Checkpoint(path="", kind="torch zip", root=node)).state_dicts
    assert state.versions == {"": 1}
    many = {"_metadata": {str(n): {"version": 1} for n in range(100_001)}}
    node = Call(Global("collections", "OrderedDict"), (), pairs={"a.w": tensor()}, state=many)
    (state,) = describe(Checkpoint(path="", kind="torch zip", root=node)).state_dicts
    assert len(state.versions) == 100_000


@pytest.fixture(scope="module")
def quantised(tmp_path_factory, torch_folder):
    folder = tmp_path_factory.mktemp("quantised")
    subprocess.run([warm_python(), "-W", "ignore", "-c", QUANTISED], cwd=folder, check=True, timeout=300)
    return folder


@pytest.mark.parametrize(("name", "entry"), [("quantised.pt", ""), ("plain.pt", "model")])
def test_a_quantised_model_has_packed_weights_among_its_entries(quantised, name, entry):
    file = surveyed(quantised / name)
    (state,) = file.state_dicts
    assert state.entry == entry
    assert [key.name for key in state.keys] == ["emb.weight", "out.scale", "out.zero_point"]
    assert state.others == (
        "rnn._all_weight_values.0.param",
        "out._packed_params.dtype",
        "out._packed_params._packed_params",
    )
    whole = next(e for e in file.entries if e.path == entry)
    # The embedding, a scale and a zero point, twice 16 x 4 bytes and 16 numbers, 2 x 4 bytes and 2 numbers.
    assert (whole.kind, whole.size) == ("state dict", 144 + 4 + 8 + 2 * (64 + 64) + 8 + 8)


def test_a_rank_s_part_says_that_it_is_one(tmp_path, torch_folder):
    ranks = [
        subprocess.Popen([warm_python(), "-W", "ignore", "-c", RANKS, str(rank)], cwd=tmp_path)
        for rank in range(2)
    ]
    assert [rank.wait(timeout=300) for rank in ranks] == [0, 0]
    (state,) = surveyed(tmp_path / "rank1.pt").state_dicts
    assert state.sharded == "one rank's part of 3 tensors that are split over 2 ranks"
    (note,) = surveyed(tmp_path / "rank1.pt").notes
    assert note.startswith("one rank's part of 3 tensors that are split over 2 ranks: it does not load alone")
    # Of 5 rows this rank has 2; of the one row of the last layer none.
    assert [(key.shape, key.size) for key in state.keys] == [((5, 8), 64), ((5,), 8), ((1, 5), 0)]
    (state,) = surveyed(tmp_path / "whole1.pt").state_dicts
    assert (state.sharded, state.keys[0].size) == ("", 160)


def test_a_name_lies_in_the_entries_that_lead_to_it():
    name = Global("numpy", "dtype")
    shared = Call(Global("m", "Made"), (name,))
    root = {"a": [{"b": shared}], "c": shared, "d": 1, "e": tensor()}
    assert entries_with(root, {"numpy.dtype"}) == {"numpy.dtype": ("a", "c")}
    outside = Call(Global("collections", "OrderedDict"), (), pairs=root, state={"x": name})
    assert entries_with(outside, {"numpy.dtype", "m.Made"}) == {"m.Made": ("a", "c")}
    assert entries_with([shared], {"numpy.dtype"}) == {}
    root["a"].append(root)
    assert entries_with(root, {"numpy.dtype"})["numpy.dtype"] == ("a", "c")


def tensor(storage=None, shape=(2,)):
    return Tensor(dtype="float32", shape=shape, stride=(1,), storage=storage)


@pytest.mark.parametrize(
    ("root", "kinds"),
    [
        ({"a": tensor(), "b._extra_state": {"x": 1}}, ["state dict"]),
        ({"loss": tensor(), "epoch": 3}, ["tensor", "number"]),
        ({1: tensor()}, ["tensor"]),
        ({"state": {}, "param_groups": [{"params": [0]}]}, ["optimizer"]),
        ({}, []),
        ([tensor(), "x", None, 1 << 100_000], ["tensor", "text", "object", "number"]),
        ("x", ["text"]),
        (None, ["object"]),
    ],
)
def test_what_is_a_state_dict_and_what_is_not(root, kinds):
    assert [
        entry.kind for entry in describe(Checkpoint(path="", kind="torch zip", root=root)).entries
    ] == kinds


def test_a_distributed_checkpoint_has_the_entries_that_were_saved():
    flat = {
        "app.model.module.a": tensor(),
        "app.model.module.b": tensor(),
        "app.optim.state.a.step": tensor(),
    }
    flat |= {"app.optim.param_groups.a.lr": 0.1, "epoch": 3}
    file = describe(Checkpoint(path="", kind="distributed", root=flat))
    kinds = {entry.path: entry.kind for entry in file.entries}
    assert kinds == {"app": "dict", "app.model": "state dict", "app.optim": "dict", "epoch": "number"}
    assert [(state.entry, state.prefixes[0].text) for state in file.state_dicts] == [("app.model", "module.")]
    alone = Checkpoint(path="", kind="distributed", root={"model.a.w": tensor(), "model.b.w": tensor()})
    assert [entry.kind for entry in describe(alone).entries] == ["state dict"]


def test_what_holds_itself_comes_to_an_end():
    root = {"again": {}, "a": [tensor()]}
    root["again"]["root"] = root
    assert [entry.path for entry in describe(Checkpoint(path="", kind="pickle", root=root)).entries][:1] == [
        "again"
    ]


def test_a_hundred_thousand_keys_take_a_moment():
    root = {f"layers.{n}.weight": tensor(Storage(str(n), "float32", 2, "cpu", 8)) for n in range(100_000)}
    with within(3):
        file = describe(Checkpoint(path="", kind="torch zip", root=root))
    assert len(file.state_dicts[0].keys) == 100_000

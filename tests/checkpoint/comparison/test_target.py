"""Real checkpoints against real models, which the patient builds without weights; and what goes wrong with that."""

import os
import subprocess
import sys
import textwrap
import time
from io import StringIO

import msgspec
import pytest
from rich.console import Console

from gpudoctor.bad_input import BadInput
from gpudoctor.checkpoint import Unreadable, read
from gpudoctor.checkpoint.comparison.target import compare, compare_all
from gpudoctor.checkpoint.description.survey import describe
from gpudoctor.facts.comparison import Comparison, Outcome
from gpudoctor.render.comparison import render
from tests.warm_python import warm_python

MODELS = """
import sys, time, os
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, classes=10, width=8, batchnorm=True):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3)
        self.norm = nn.BatchNorm2d(width) if batchnorm else nn.Identity()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Conv2d(width, width, 3), nn.ReLU()) for _ in range(3))
        self.fc = nn.Linear(width, classes)

def sequential():
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))

def drop_path():  # as timm does: no .item() on the meta device
    rates = [rate.item() for rate in torch.linspace(0, 1, 3)]
    return nn.Linear(len(rates), 2)

def huge():
    return nn.Linear(10_000_000, 100_000)

def pair():
    return nn.Linear(2, 2), "preprocessing"

def lazy():
    return nn.Sequential(nn.LazyLinear(3))

def needs(depth, width=3):
    return nn.Linear(depth, width)

def noisy():
    print("\\x1b[31mgarbage", flush=True)
    os.write(1, b'gpudoctor {"keys": []}\\n')
    return nn.Linear(2, 2)

class Plain:
    pass

def gives_none():
    return None

def hangs():
    time.sleep(1000)

def crashes():
    os.kill(os.getpid(), 11)

def leaves():
    os._exit(0)

def exits():
    sys.exit("usage: train.py --data DATA")

def fails():
    raise ValueError("two\\nlines")

def empty():
    return nn.ReLU()

built = nn.Linear(2, 2)

def dense():
    from torchvision.models import DenseNet
    return DenseNet(8, (2, 2, 2, 2), 16, num_classes=3)

def vit():
    from torchvision.models import VisionTransformer
    return VisionTransformer(32, 8, 2, 2, 32, 64, num_classes=3)

def segmentation():
    from torchvision.models import segmentation
    return segmentation.lraspp_mobilenet_v3_large(weights_backbone=None, num_classes=3)
"""
SAVE = """
import torch, torchvision, models
from torch import nn
torch.manual_seed(0)
net = models.Net()
torch.save(net.state_dict(), "bare.pt")
torch.save(nn.DataParallel(models.Net()).state_dict(), "wrapped.pt")
torch.save({"epoch": 3, "model": nn.DataParallel(net).state_dict(), "ema": {"n_averaged": torch.tensor(1)}}, "whole.pt")
torch.save(models.sequential().state_dict(), "sequential.pt")
torch.save(torchvision.models.resnet18().state_dict(), "resnet18.pt")
torch.save(nn.Linear(2, 2).state_dict(), "linear.pt")
torch.save({"lr": 0.1}, "no_tensors.pt")
torch.save(torch.compile(models.Net()).state_dict(), "compiled.pt")
torch.save({k: v for k, v in net.state_dict().items() if "tracked" not in k}, "old.pt")
import re
dense = models.dense().state_dict()
old = [re.sub(r"(denselayer[12].(?:norm|conv))([12])", r"\\1.\\2", name) for name in dense]
torch.save({"module." + name: v for name, v in zip(old, dense.values())}, "dense.pt")
vit = models.vit().state_dict().items()
torch.save({k.replace("mlp.0.", "mlp.linear_1.").replace("mlp.3.", "mlp.linear_2."): v for k, v in vit}, "vit.pt")
head = {"aux_classifier.4.weight": torch.ones(3, 4, 1, 1), "aux_classifier.4.bias": torch.ones(3)}
torch.save({**models.segmentation().state_dict(), **head}, "segmentation.pt")
"""


def run_python(folder, code):
    done = subprocess.run(
        [warm_python(), "-c", code], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory, torch_folder, torchvision_folder):
    path = tmp_path_factory.mktemp("models")
    (path / "models.py").write_text(MODELS)
    run_python(path, SAVE)
    return path


@pytest.fixture(autouse=True)
def _there(folder, monkeypatch):
    monkeypatch.chdir(folder)


def ask(file, target, arguments=None, **options):
    return compare(describe(read(file)), target, arguments, warm_python(), **options)


def shown(comparison, **options):
    out = StringIO()
    render(comparison, Console(file=out, width=100), **options)
    return out.getvalue()


def load(folder, model, line):
    """Run the offered line with real torch, and return what load_state_dict answered."""
    line = line.replace("model.load_state_dict(", "answer = model.load_state_dict(")
    return run_python(folder, f"import torch, torchvision, models\nmodel = {model}\n{line}\nprint(answer)")


@pytest.mark.parametrize("target", ["models:Net", "models.py:Net"])
def test_a_checkpoint_against_the_class_that_it_is_of(folder, target):
    found = ask("bare.pt", target)
    assert (found.outcome, found.matched) == (Outcome.LOADS, 15)
    assert "All keys matched" in load(folder, "models.Net()", found.load_line)


def test_a_wrapped_checkpoint_and_the_line_that_loads_it(folder):
    found = ask("wrapped.pt", "models:Net")
    assert (found.outcome, found.strip) == (Outcome.PREFIX, "module.")
    assert "All keys matched" in load(folder, "models.Net()", found.load_line)
    text = shown(found)
    assert 'Loads once the prefix "module." is taken off.' in text
    assert "gpudoctor checkpoint fix wrapped.pt -o wrapped-fixed.pt --strip-prefix module." in text


def test_a_compiled_one(folder):
    found = ask("compiled.pt", "models:Net")
    assert (found.outcome, found.strip) == (Outcome.PREFIX, "_orig_mod.")
    assert "All keys matched" in load(folder, "models.Net()", found.load_line)


def test_a_whole_checkpoint_of_several_state_dicts(folder):
    found = ask("whole.pt", "models:Net")
    assert (found.outcome, found.entry, found.strip) == (Outcome.PREFIX, "model", "module.")
    assert any("of 2 state dicts in the file, model matches best" in note for note in found.notes)
    assert "All keys matched" in load(folder, "models.Net()", found.load_line)
    assert "--select model" in found.fix_line


def test_several_checkpoints_are_compared_with_a_model_that_is_built_once(folder):
    (folder / "counted.py").write_text(
        "import models\n\ndef build():\n    open('built', 'a').write('once ')\n    return models.Net()\n"
    )
    names = ["bare.pt", "whole.pt", "linear.pt"]
    found = compare_all([describe(read(name)) for name in names], "counted.py:build", None, sys.executable)
    assert (folder / "built").read_text() == "once "
    assert [comparison.path for comparison in found] == names
    assert [comparison.settled for comparison in found] == [True] * 3
    assert found == [ask(name, "counted.py:build") for name in names]


def test_another_checkpoint_as_the_target(folder):
    assert ask("bare.pt", "bare.pt").outcome == Outcome.LOADS
    found = ask("bare.pt", "whole.pt")
    assert (found.outcome, found.add, found.target_entry) == (Outcome.PREFIX, "module.", "model")
    assert "All keys matched" in load(folder, "torch.nn.DataParallel(models.Net())", found.load_line)
    with pytest.raises(Unreadable, match="--arg is for a model"):
        ask("bare.pt", "whole.pt", {"a": "1"})
    with pytest.raises(Unreadable, match="holds no state dict"):
        ask("bare.pt", "no_tensors.pt")
    with pytest.raises(Unreadable, match="holds no state dict"):
        ask("no_tensors.pt", "bare.pt")


def test_torchvision_with_another_class_count(folder):
    assert ask("resnet18.pt", "torchvision.models:resnet18").outcome == Outcome.LOADS
    found = ask("resnet18.pt", "torchvision.models:resnet18", {"num_classes": "5"})
    assert found.outcome == Outcome.SHAPE
    assert [(d.name, d.own, d.other) for d in found.shapes] == [
        ("fc.weight", (1000, 512), (5, 512)),
        ("fc.bias", (1000,), (5,)),
    ]
    assert all(d.reason == "number of classes: 1000 in the file, 5 in the target" for d in found.shapes)
    said = load(folder, "torchvision.models.resnet18(num_classes=5)", found.load_line)
    assert "missing_keys=['fc.weight', 'fc.bias'], unexpected_keys=[]" in said
    assert "[1000, 512] in the file, [5, 512] in the target" in shown(found)


def test_another_architecture(folder):
    found = ask("resnet18.pt", "torchvision.models:resnet34")
    assert found.outcome == Outcome.ARCHITECTURE
    assert "another depth: layer3 counts 2 in the file, 6 in the target" in found.notes
    load(folder, "torchvision.models.resnet34()", found.load_line)
    assert "and 4 more groups (-v shows all)" in shown(found)
    assert "more groups" not in shown(found, verbose=True)


@pytest.mark.parametrize(
    "file,model,outcome,words",
    [
        ("dense.pt", "dense", Outcome.ARCHITECTURE, "names that a library changed are renamed"),
        ("vit.pt", "vit", Outcome.LOADS, "the model itself takes care of the names that differ"),
        (
            "segmentation.pt",
            "segmentation",
            Outcome.ARCHITECTURE,
            "2 keys that the target does not have are left",
        ),
    ],
)
def test_files_of_torchvision_load_by_the_lines(folder, file, model, outcome, words):
    found = ask(file, f"models:{model}")
    assert found.outcome is outcome
    assert words in found.sentence
    assert "All keys matched" in load(folder, f"models.{model}()", found.load_line)


def test_a_file_from_before_batchnorm_counted(folder):
    found = ask("old.pt", "models:Net")
    assert found.outcome == Outcome.LOADS
    assert "torch fills in 1 counter of BatchNorm that it lacks" in found.sentence
    assert "All keys matched" in load(folder, "models.Net()", found.load_line)
    found = ask("old.pt", "bare.pt")
    assert found.outcome == Outcome.LOADS


def test_literals_and_texts_as_arguments(folder):
    found = ask("bare.pt", "models:Net", {"classes": "7", "batchnorm": "False"})
    assert [d.other for d in found.shapes] == [(7, 8), (7,)]
    assert any(group.stem == "norm" and group.own == 5 for group in found.groups)
    with pytest.raises(Unreadable, match="building Net failed: TypeError"):
        ask("bare.pt", "models:Net", {"classes": "seven"})


def test_names_by_order(folder):
    found = ask("sequential.pt", "models:sequential")
    assert found.outcome == Outcome.LOADS
    assert "All keys matched" in load(folder, "models.sequential()", found.load_line)


@pytest.mark.parametrize("target", ["models:pair", "models:noisy", "models:built"])
def test_factories_of_other_kinds(target):
    assert ask("linear.pt", target).outcome == Outcome.LOADS


def test_a_lazy_model_takes_any_shape():
    keys = ask("linear.pt", "models:lazy")
    assert not keys.shapes
    assert keys.outcome == Outcome.PREFIX


def test_no_weights_are_allocated_where_the_meta_device_will_do():
    found = ask("linear.pt", "models:huge")  # four terabytes
    assert [d.other for d in found.shapes] == [(100_000, 10_000_000), (100_000,)]


def test_what_cannot_be_built_on_the_meta_device_is_built_with_a_note():
    found = ask("linear.pt", "models:drop_path")
    assert any("cannot be built on the meta device (RuntimeError" in note for note in found.notes)


@pytest.mark.parametrize(
    "target,words",
    [
        ("models:needs", "models:needs: needs needs arguments: add --arg depth=VALUE"),
        ("models:Nett", "models has no Nett; near: Net"),
        (
            "nowhere.at_all:Net",
            "cannot import nowhere.at_all: ModuleNotFoundError: No module named 'nowhere'",
        ),
        ("models:Plain", "Plain is a class, and no torch.nn.Module"),
        ("models:MODELS", "has no MODELS"),
        ("models:sys", "sys is of type module, and nothing that builds a model"),
        ("models:gives_none", "gives a NoneType, and no torch.nn.Module"),
        ("models:crashes", "killed by SIGSEGV during the building of crashes on the meta device"),
        ("models:leaves", "ended before it was done during the building of leaves on the meta device"),
        ("models:exits", "SystemExit: usage: train.py --data DATA"),
        ("models:fails", "building fails failed: ValueError: two lines"),
        ("models:empty", "this model has no parameters and no buffers"),
        ("nothing.py:Net", "there is no file nothing.py"),
        ("models.py", "name the class or function in it too, as in models.py:Net"),
        ("other.pt", "no such file"),
        ("models", "a model is named as package.module:factory or as file.py:ClassName"),
        ("a/b:Net", "a/b is neither a module's name nor a file that ends in .py"),
        ("models:", "name a model as package.module:factory"),
        (":Net", "name a model as package.module:factory"),
        ("models:Net()", "name a model as package.module:factory"),
    ],
)
def test_what_goes_wrong_is_one_clear_line(target, words):
    with pytest.raises(Unreadable) as caught:
        ask("bare.pt", target)
    text = str(caught.value)
    assert words in text
    assert "\n" not in text
    assert len(text) < 700


def test_an_unknown_argument_is_named():
    with pytest.raises(Unreadable, match="sequential takes no argument x; it takes none"):
        ask("bare.pt", "models:sequential", {"x": "1"})


def test_a_model_that_hangs_is_ended():
    begun = time.monotonic()
    with pytest.raises(Unreadable, match="no answer in 5 s during the building of hangs on the meta device"):
        ask("bare.pt", "models:hangs", deadline=5)
    assert time.monotonic() - begun < 20


def test_a_broken_file_and_one_that_parses_its_command_line(tmp_path):
    (tmp_path / "syntax.py").write_text("def Net(:\n")
    with pytest.raises(Unreadable, match=r"cannot import .*syntax\.py: SyntaxError"):
        ask("bare.pt", f"{tmp_path / 'syntax.py'}:Net")
    (tmp_path / "json.py").write_text("raise ImportError('not the real one')\n")
    code = """
        import argparse
        import beside
        from dataclasses import dataclass
        argparse.ArgumentParser().parse_args()
        @dataclass
        class Config:
            n: int = 2
        def Net():
            from torch import nn
            return nn.Linear(Config().n, beside.two)
        if __name__ == "__main__":
            raise SystemExit("training begins")
    """
    (tmp_path / "train.py").write_text(textwrap.dedent(code))
    (tmp_path / "beside.py").write_text("two = 2\n")
    (tmp_path / "json.py").unlink()
    assert ask("linear.pt", f"{tmp_path / 'train.py'}:Net").outcome == Outcome.LOADS


def test_an_interpreter_that_is_none_or_has_no_torch(tmp_path):
    with pytest.raises(BadInput, match="no such file, and no such command"):
        compare(describe(read("bare.pt")), "models:Net", {}, str(tmp_path / "python"))
    fake = tmp_path / "python"
    fake.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    fake.chmod(0o755)
    with pytest.raises(Unreadable, match=r"torch cannot be imported by .*No module named 'torch'"):
        compare(describe(read("bare.pt")), "models:Net", {}, str(fake))


def test_nothing_of_a_planted_checkpoint_runs(folder):
    code = (
        "import pickle, os, torch\n"
        "class Evil:\n"
        "    def __reduce__(self): return os.system, ('touch planted',)\n"
        "torch.save({'model': {'weight': torch.zeros(2, 2), 'bias': torch.zeros(2)}, 'x': Evil()}, 'evil.pt')"
    )
    run_python(folder, code)
    found = ask("evil.pt", "models:pair")
    assert found.outcome == Outcome.LOADS
    assert any("refuses this file" in note for note in found.notes)
    assert ask("linear.pt", "evil.pt").outcome == Outcome.LOADS
    assert not os.path.exists(folder / "planted")


def test_names_from_strangers_do_not_reach_the_terminal_as_they_are():
    evil = Comparison(outcome=Outcome.LOADS, sentence="Loads.", path="a\x1b[31m\nb", load_line="x")
    text = shown(evil)
    assert "\x1b" not in text
    assert "a\\x1b[31m\\nb" in text


def test_a_renamed_part_is_not_shown_as_what_is_known():
    found = Comparison(outcome=Outcome.ARCHITECTURE, sentence="x", drift=("d",), likely=("l",))
    lines = [line.split() for line in shown(found).splitlines()]
    assert ["known", "d"] in lines
    assert ["renamed", "l"] in lines


def test_lines_of_python_are_shown_one_below_the_other():
    lines = shown(Comparison(outcome=Outcome.LOADS, sentence="x", load_line="a\n    b")).splitlines()
    assert lines[-3:] == ["    load", "      a", "          b"]


def test_a_comparison_is_plain_data():
    found = ask("bare.pt", "bare.pt")
    assert msgspec.json.decode(msgspec.json.encode(found), type=Comparison) == found

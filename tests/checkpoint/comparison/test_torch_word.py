"""Files against real models: what torch says decides, and the printed lines load the values that were meant."""

import os
import shlex
import subprocess
import sys

import pytest

from gpudoctor.checkpoint import read
from gpudoctor.checkpoint.comparison.target import compare
from gpudoctor.checkpoint.description.survey import describe
from gpudoctor.facts import Outcome
from tests.warm_python import warm_python

NETS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, classes=10, width=8):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3)
        self.bn1 = nn.BatchNorm2d(width)
        self.fc = nn.Linear(width, classes)

class Language(nn.Module):
    def __init__(self, tie=False):
        super().__init__()
        self.embed_tokens = nn.Embedding(50, 8)
        self.norm = nn.LayerNorm(8)
        self.lm_head = nn.Linear(8, 50, bias=False)
        if tie:
            self.lm_head.weight = self.embed_tokens.weight

class Extra(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)
    def get_extra_state(self):
        return {"v": 3}
    def set_extra_state(self, state):
        assert state["v"] == 3

class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)

class Hook(Plain):
    def _load_from_state_dict(self, state, prefix, *rest):
        for name in ("weight", "bias"):
            if prefix + "old." + name in state:
                state[prefix + "l." + name] = state.pop(prefix + "old." + name)
        super()._load_from_state_dict(state, prefix, *rest)

class Towers(nn.Module):
    def __init__(self, names=("image_encoder", "text_encoder")):
        super().__init__()
        for name in names:
            setattr(self, name, nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)))

def other_towers():
    return Towers(("text_model", "vision_model"))

def compiled_towers():
    towers = Towers()
    for name in ("image_encoder", "text_encoder"):
        setattr(towers, name, torch.compile(getattr(towers, name)))
    return towers

def old_norm():
    net = Net()
    net.fc = nn.utils.weight_norm(net.fc)
    return net

def new_norm():
    net = Net()
    net.fc = nn.utils.parametrizations.weight_norm(net.fc)
    return net

class Refuses(Plain):
    def _load_from_state_dict(self, state, prefix, metadata, strict, missing, unexpected, errors):
        errors.append("this model takes no files")
"""
SAVE = """
import argparse, json, os, torch, nets
from torch import nn
torch.manual_seed(0)
def full(value):
    net = nets.Net()
    for p in net.state_dict().values():
        p.fill_(value)
    return net.state_dict()
def pre(prefix, state):
    return {prefix + k: v for k, v in state.items()}
save = torch.save
save({**pre("model.", full(1)), "fc.weight": torch.full((10, 8), 7.0), "fc.bias": torch.full((10,), 7.0)}, "collide.pt")
save({**pre("backbone.", full(1)), **{f"neck.{n}.weight": torch.ones(2) for n in range(9)}}, "headed.pt")
save({**pre("ema_model.", full(2)), **pre("model.", full(1))}, "flat_ema.pt")
save({**pre("teacher.", full(2)), **pre("student.", full(1))}, "flat_teacher.pt")
save({"ema": full(2), "state_dict": pre("module.", full(1))}, "ema_first.pt")
save({"state_dict": pre("net.", full(1)), "hyper": {"net": nets.Net()}}, "lightning.ckpt")
save({"model": full(1), "args": argparse.Namespace(lr=1)}, "namespace.pt")
bare = nets.Net().state_dict()
del bare["bn1.num_batches_tracked"]
save(bare, "counted.pt")
save(dict(bare), "uncounted.pt")
wrapped = nn.DataParallel(nets.Net()).state_dict()
del wrapped["module.bn1.num_batches_tracked"]
save(wrapped, "counted_wrapped.pt")
save(nets.Extra().state_dict(), "extra.pt")
save(nets.Plain().state_dict(), "plain.pt")
save({"old.weight": torch.ones(2, 2), "old.bias": torch.ones(2)}, "hook.pt")
save({"module.old.weight": torch.ones(2, 2), "module.l.bias": torch.ones(2)}, "hook_wrapped.pt")
headless = {k: v for k, v in nets.Language().state_dict().items() if k != "lm_head.weight"}
save(headless, "headless.pt")
save(pre("model.", headless), "headless_wrapped.pt")
towers = nets.Towers()
for number, p in enumerate(towers.parameters()):
    p.data.fill_(number)
save(towers.state_dict(), "towers.pt")
save(nets.old_norm().state_dict(), "old_norm.pt")
save(nets.new_norm().state_dict(), "new_norm.pt")
save([full(1), full(2)], "list.pt")
save({"state_dict": pre("module.", full(1))}, "wrapped.pt")
peft = {}
for k, v in nets.Plain().state_dict().items():
    peft["base_model.model." + k.replace("l.", "l.base_layer.")] = v.fill_(1)
for part in "AB":
    peft[f"base_model.model.l.lora_{part}.default.weight"] = torch.ones(2, 2)
save(peft, "peft.pt")
os.mkdir("bins")
names = list(full(1))
parts = {n: f"pytorch_model-0000{1 + (i > 4)}-of-00002.bin" for i, n in enumerate(names)}
for file in set(parts.values()):
    save({n: v for n, v in full(1).items() if parts[n] == file}, "bins/" + file)
json.dump({"weight_map": parts}, open("bins/pytorch_model.bin.index.json", "w"))
import torch.distributed.checkpoint as dcp
dcp.save({"app": {"model": pre("module.", full(1))}}, checkpoint_id="distributed")
"""
ALL = 9
"""Entries of Net's state dict."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, torch_folder):
    path = tmp_path_factory.mktemp("nets")
    (path / "nets.py").write_text(NETS)
    run_python(path, SAVE)
    return path


@pytest.fixture(autouse=True)
def _there(folder, monkeypatch):
    monkeypatch.chdir(folder)


def run_python(folder, code):
    done = subprocess.run(
        [warm_python(), "-c", code], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def ask(file, target, arguments=None):
    found = compare(describe(read(file)), target, arguments, warm_python())
    assert found.settled
    return found


def loaded(line, model="nets.Net()", show="{float(v.float().mean()) for v in model.state_dict().values()}"):
    """Run the offered line with real torch; return what torch answers, and the values that the model then has."""
    line = line.replace("model.load_state_dict(", "answer = model.load_state_dict(")
    code = f"import torch, nets\nmodel = {model}\nanswer = None\n{line}\nprint(answer, {show})"
    return run_python(os.getcwd(), code).strip()


def mended(line):
    """Run the offered ``fix`` line, and return the line of Python that loads the copy."""
    words = shlex.split(line)
    copy = words[words.index("-o") + 1]
    if os.path.exists(copy):
        os.unlink(copy)
    done = subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return f"model.load_state_dict(torch.load({copy!r}, weights_only=True))"


@pytest.mark.parametrize("file,prefix,out", [("collide.pt", "model.", 2), ("headed.pt", "backbone.", 9)])
def test_under_a_prefix_that_has_every_key_nothing_else_is_taken(file, prefix, out):
    found = ask(file, "nets:Net")
    assert (found.outcome, found.strip, found.left_out) == (Outcome.PREFIX, prefix, out)
    assert f"{out} keys that the target does not have are left out" in found.sentence
    assert loaded(found.load_line) == "<All keys matched successfully> {1.0}"
    assert loaded(mended(found.fix_line)) == "<All keys matched successfully> {1.0}"


@pytest.mark.parametrize(
    "file,taken,other",
    [("flat_ema.pt", "model.", "ema_model."), ("flat_teacher.pt", "student.", "teacher.")],
)
def test_two_prefixes_that_fit_are_both_told_and_the_model_is_taken(file, taken, other):
    found = ask(file, "nets:Net")
    assert found.fits == (taken, other)
    assert any(f'2 prefixes fit equally: the lines take "{taken}"; put "{other}"' in n for n in found.notes)
    assert loaded(found.load_line) == "<All keys matched successfully> {1.0}"
    assert loaded(mended(found.fix_line)) == "<All keys matched successfully> {1.0}"


def test_the_model_is_taken_before_its_ema_even_where_it_bears_a_prefix():
    found = ask("ema_first.pt", "nets:Net")
    assert (found.entry, found.strip, found.fits) == ("state_dict", "module.", ("state_dict", "ema"))
    note = next(note for note in found.notes if "fit equally" in note)
    assert "--select ema" in note
    assert "best" not in note
    assert loaded(found.load_line) == "<All keys matched successfully> {1.0}"


def test_a_state_dict_is_taken_before_a_pickled_module():
    found = ask("lightning.ckpt", "nets:Net")
    assert (found.entry, found.strip) == ("state_dict", "net.")
    assert "weights_only=False" not in found.load_line
    assert loaded(mended(found.fix_line)) == "<All keys matched successfully> {1.0}"


def test_no_line_is_offered_that_torch_refuses_for_what_else_is_in_the_file():
    found = ask("namespace.pt", "nets:Net")
    assert found.outcome == Outcome.LOADS
    assert not found.load_line
    line = mended(found.fix_line)
    assert loaded(line) == "<All keys matched successfully> {1.0}"
    note = next(note for note in found.notes if "to load it: " in note)
    assert loaded(note.partition("to load it: ")[2]) == "<All keys matched successfully> {1.0}"


@pytest.mark.parametrize(
    "file,outcome,words",
    [("uncounted.pt", Outcome.LOADS, "torch fills in"), ("counted.pt", Outcome.ARCHITECTURE, "strict=False")],
)
def test_counters_of_batchnorm_by_the_version_in_the_file(file, outcome, words):
    found = ask(file, "nets:Net")
    assert found.outcome == outcome
    assert words in found.sentence
    assert ("strict" in found.load_line) == (outcome != Outcome.LOADS)
    loaded(found.load_line)


@pytest.mark.parametrize(
    "file,target,outcome",
    [
        ("extra.pt", "Extra", Outcome.LOADS),
        ("extra.pt", "Plain", Outcome.ARCHITECTURE),
        ("plain.pt", "Extra", Outcome.ARCHITECTURE),
    ],
)
def test_extra_state_counts(file, target, outcome):
    found = ask(file, f"nets:{target}")
    assert found.outcome == outcome
    if outcome != Outcome.LOADS:
        assert "_extra_state" in found.sentence
    loaded(found.load_line, f"nets.{target}()", "0")


@pytest.mark.parametrize(
    "file,target,outcome",
    [
        ("hook.pt", "Hook", Outcome.LOADS),
        ("hook_wrapped.pt", "Hook", Outcome.PREFIX),
        ("old_norm.pt", "new_norm", Outcome.LOADS),
    ],
)
def test_what_the_model_renames_by_itself_loads(file, target, outcome):
    found = ask(file, f"nets:{target}")
    assert found.outcome == outcome
    assert "the model itself takes care of" in found.sentence
    assert not found.groups
    assert "All keys matched" in loaded(found.load_line, f"nets.{target}()", "0")


def test_what_torch_refuses_is_not_said_to_load():
    found = ask("plain.pt", "nets:Refuses")
    assert found.outcome == Outcome.ARCHITECTURE
    assert "this model takes no files" in found.sentence
    assert not found.load_line
    assert not found.fix_line


@pytest.mark.parametrize(
    "file,outcome", [("headless.pt", Outcome.ARCHITECTURE), ("headless_wrapped.pt", Outcome.PREFIX)]
)
def test_a_head_that_the_model_ties(file, outcome):
    found = ask(file, "nets:Language", {"tie": "True"})
    assert found.outcome == outcome
    assert "lm_head.weight, which is the same parameter as embed_tokens.weight" in found.sentence
    assert "strict=False" in found.load_line
    show = "torch.equal(model.lm_head.weight, torch.load('headless.pt')['embed_tokens.weight'])"
    assert loaded(found.load_line, "nets.Language(True)", show).endswith("True")
    if outcome == Outcome.PREFIX:
        assert any("loaded with strict=False" in note for note in found.notes)
        line = mended(found.fix_line).replace("=True))", "=True), strict=False)")
        assert loaded(line, "nets.Language(True)", show).endswith("True")


def test_a_head_that_the_model_does_not_tie_is_missing():
    found = ask("headless.pt", "nets:Language")
    assert found.outcome == Outcome.ARCHITECTURE
    assert found.sentence == "The file lacks 1 of the target's 4 keys (lm_head.weight)."
    assert not any("tie" in text for text in (*found.notes, *found.drift))


def test_towers_of_one_shape_are_not_loaded_into_each_other():
    found = ask("towers.pt", "nets:other_towers")
    assert found.outcome is Outcome.ARCHITECTURE
    assert not found.renames
    assert not found.load_line
    assert not found.fix_line


def test_a_model_that_is_compiled_inside_tells_its_own_names():
    found = ask("towers.pt", "nets:compiled_towers")
    assert found.outcome is Outcome.PREFIX
    show = "[float(model.state_dict()[f'{n}_encoder._orig_mod.0.weight'][0, 0]) for n in ('image', 'text')]"
    said = loaded(found.load_line, "nets.compiled_towers()", show)
    assert said == "<All keys matched successfully> [0.0, 4.0]"


def test_a_copy_keeps_the_versions_by_which_torch_asks_for_counters():
    found = ask("counted_wrapped.pt", "nets:Net")
    assert found.outcome is Outcome.PREFIX
    assert loaded(found.load_line, show="0").startswith("<All keys matched successfully>")
    assert any("the copy too is loaded with strict=False, for it lacks bn1.num_ba" in n for n in found.notes)
    line = mended(found.fix_line).replace("=True))", "=True), strict=False)")
    assert "missing_keys=['bn1.num_batches_tracked'], unexpected_keys=[]" in loaded(line, show="0")


@pytest.mark.parametrize("file", ["old_norm.pt", "new_norm.pt"])
def test_a_direction_is_no_weight(file):
    found = ask(file, "nets:Net")
    assert found.outcome == Outcome.ARCHITECTURE
    assert "lacks 1 of the target's 9 keys (fc.weight)" in found.sentence
    assert not found.fix_line
    assert any("weight_norm" in text for text in found.drift)
    assert "missing_keys=['fc.weight']" in loaded(found.load_line, show="0")


def test_a_list_is_indexed_by_number_and_not_selected_from():
    found = ask("list.pt", "nets:Net")
    assert "weights_only=True)[0]\n" in found.load_line
    assert not found.fix_line
    assert not any("--select" in note for note in found.notes)
    assert loaded(found.load_line) == "<All keys matched successfully> {1.0}"


def test_a_prefix_and_another_shape():
    found = ask("wrapped.pt", "nets:Net", {"classes": "5"})
    assert (found.outcome, found.strip) == (Outcome.SHAPE, "module.")
    assert any("loaded with strict=False" in note for note in found.notes)
    show = "0"
    assert "missing_keys=['fc.weight', 'fc.bias'], unexpected_keys=[]" in loaded(
        found.load_line, "nets.Net(5)", show
    )
    line = mended(found.fix_line).replace("=True))", "=True), strict=False)")
    assert "missing_keys=['fc.weight', 'fc.bias'], unexpected_keys=[]" in loaded(line, "nets.Net(5)", show)


def test_adapters_are_left_out_and_said_to_be():
    found = ask("peft.pt", "nets:Plain")
    assert found.sentence.startswith(
        'Loads the base weights alone once "base_layer." is taken out of the names'
    )
    assert 'the prefix "base_model.model." is taken off' in found.sentence
    assert "2 tensors of adapters (lora_A, lora_B and the like) are left out" in found.sentence
    assert loaded(found.load_line, "nets.Plain()") == "<All keys matched successfully> {1.0}"
    assert loaded(mended(found.fix_line), "nets.Plain()") == "<All keys matched successfully> {1.0}"


@pytest.mark.parametrize("file", ["bins", "bins/pytorch_model.bin.index.json"])
def test_a_set_of_bin_files_is_loaded_by_its_index(file):
    found = ask(file, "nets:Net")
    assert found.outcome == Outcome.LOADS
    assert loaded(found.load_line) == "<All keys matched successfully> {1.0}"


def test_one_file_of_a_set_is_called_that():
    found = ask("bins/pytorch_model-00001-of-00002.bin", "nets:Net")
    assert found.sentence.startswith("This file is part 1 of 2 of a set: give the folder or its index")
    assert not found.load_line
    assert not found.drift


def test_a_distributed_checkpoint_is_read_into_the_model():
    found = ask("distributed", "nets:Net")
    assert found.outcome == Outcome.PREFIX
    assert loaded(found.load_line) == "None {1.0}"


def test_a_patient_that_cannot_be_asked_leaves_what_the_names_say(tmp_path):
    (tmp_path / "bad.py").write_text(
        "import os\nfrom torch import nn\n"
        "class Bad(nn.Linear):\n"
        "    def load_state_dict(self, *a, **k): os._exit(3)\n"
        "def build(): return Bad(2, 2)\n"
    )
    found = compare(describe(read("plain.pt")), f"{tmp_path / 'bad.py'}:build", None, sys.executable)
    assert not found.settled
    assert found.strip == "l."
    assert any("torch itself could not be asked" in note and "exit status 3" in note for note in found.notes)

"""``checkpoint inspect FILE --against OTHER``: OTHER is opened as FILE is, in each form that a checkpoint has."""

import subprocess
from io import StringIO

import pytest
from rich.console import Console

from gpudoctor.bad_input import BadInput
from gpudoctor.checkpoint import Unreadable, compare, describe, read
from gpudoctor.checkpoint.inspection import inspect
from gpudoctor.facts import Outcome
from gpudoctor.render.terminal import render
from gpudoctor.report import Status
from tests.warm_python import warm_gpudoctor, warm_python

SAVE = """
import json, torch, torch.distributed.checkpoint as dcp
from safetensors.torch import save_file
state = {"a.weight": torch.ones(3, 2), "a.bias": torch.ones(3)}
wrapped = {"module." + name: tensor for name, tensor in state.items()}
torch.save(wrapped, "wrapped.pt")
torch.save(state, "bare.pt")
torch.save({"lr": 0.1}, "numbers.pt")
torch.save({**state, "a.weight": torch.ones(3, 5), "a.bias": torch.ones(2)}, "shape.pt")
torch.save({**state, "b.weight": torch.ones(4)}, "more.pt")
torch.save({name: tensor.half() for name, tensor in state.items()}, "half.pt")
import os
for folder in ("shards", "one", "two", "deepspeed/global_step3"):
    os.makedirs(folder)
save_file({"a.weight": state["a.weight"]}, "shards/model-1.safetensors")
save_file({"a.bias": state["a.bias"]}, "shards/model-2.safetensors")
index = {"metadata": {}, "weight_map": {"a.weight": "model-1.safetensors", "a.bias": "model-2.safetensors"}}
json.dump(index, open("shards/model.safetensors.index.json", "w"))
dcp.save(state, checkpoint_id="dcp", no_dist=True)
for path in ("one/model.pt", "two/first.pt", "two/second.pt", "deepspeed/global_step3/states.pt"):
    torch.save(state, path)
open("deepspeed/latest", "w").write("global_step3")
"""
INDEX = "shards/model.safetensors.index.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, torch_folder):
    path = tmp_path_factory.mktemp("other")
    subprocess.run([warm_python(), "-W", "ignore", "-c", SAVE], cwd=path, check=True, timeout=120)
    return path


@pytest.fixture(autouse=True)
def _there(folder, monkeypatch):
    monkeypatch.chdir(folder)


def command(*arguments, stdin):
    words = [*warm_gpudoctor(), "checkpoint", "inspect", *arguments]
    return subprocess.run(words, stdin=stdin, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    "other,called",
    [
        ("bare.pt", "bare.pt"),
        (INDEX, INDEX),
        ("shards", INDEX),
        ("dcp", "dcp"),
        ("one", "one/model.pt"),
        ("deepspeed", "deepspeed/global_step3/states.pt"),
    ],
)
def test_each_form_of_a_checkpoint_is_compared_with(other, called):
    report = inspect("wrapped.pt", against=other)
    found = report.facts["comparison"]
    assert (found.outcome, found.strip, found.target) == (Outcome.PREFIX, "module.", called)
    assert report.verdict.primary == "state-dict-prefix"
    assert "checkpoint.2" not in report.facts
    assert compare(describe(read("wrapped.pt")), other).sentence == found.sentence


def test_standard_input_is_one_of_the_two():
    with open("bare.pt") as stdin:
        done = command("wrapped.pt", "--against", "-", stdin=stdin)
    assert (done.returncode, done.stderr) == (1, "")
    assert "wrapped.pt against standard input" in done.stdout
    with open("wrapped.pt") as stdin:
        done = command("-", "--against", "bare.pt", stdin=stdin)
    assert (done.returncode, done.stderr) == (1, "")
    assert "standard input against bare.pt" in done.stdout


def test_standard_input_is_not_both():
    with pytest.raises(BadInput, match="standard input can be read once"):
        inspect("-", against="-")


@pytest.mark.parametrize("values", [False, True])
def test_a_damaged_other_is_a_finding_about_it(folder, values):
    (folder / "cut.pt").write_bytes((folder / "bare.pt").read_bytes()[:600])
    report = inspect("wrapped.pt", against="cut.pt", values=values)
    first = report.findings[0]
    assert (report.verdict.status, first.id) == (Status.BROKEN, "checkpoint-corrupt")
    assert "comparison" not in report.facts
    assert "not compared: cut.pt is damaged" in report.facts["checkpoint"].notes
    assert report.facts["checkpoint.2"].path == "cut.pt"
    with pytest.raises(Unreadable, match=r"^cut\.pt: "):
        compare(describe(read("wrapped.pt")), "cut.pt")


def test_a_shard_of_the_other_is_missing(folder):
    moved = (folder / "shards/model-2.safetensors").rename(folder / "away")
    try:
        report = inspect("bare.pt", against="shards")
    finally:
        moved.rename(folder / "shards/model-2.safetensors")
    assert {finding.id for finding in report.findings} >= {"checkpoint-corrupt"}
    assert report.facts["comparison"].target_keys == 1
    assert report.facts["checkpoint.2"].trouble


@pytest.mark.parametrize(
    "other,words",
    [
        ("none.pt", "none.pt: no such file"),
        ("numbers.pt", "numbers.pt: holds no state dict that could be compared"),
        ("two", "two: name one of the 2 checkpoints in it: two/first.pt, two/second.pt"),
        ("empty.pt", "empty.pt: an empty file"),
        ("notes.txt", "notes.txt: not a checkpoint"),
        (".", "no checkpoint itself|name one of the"),
    ],
)
def test_what_cannot_be_compared_with_is_one_line(folder, other, words):
    (folder / "empty.pt").touch()
    (folder / "notes.txt").write_text("nothing of torch\n")
    with pytest.raises(BadInput, match=words):
        inspect("wrapped.pt", against=other)


@pytest.mark.parametrize(
    "file,other,once",
    [
        ("wrapped.pt", "bare.pt", ["taken off", "state-dict-prefix."]),
        (
            "shape.pt",
            "bare.pt",
            ["The same 2 names", "[3, 5] in the file, [3, 2] in the target", "[2] in the file"],
        ),
        ("bare.pt", "more.pt", ["lacks 1 of the target's 3 keys", "Most likely cause"]),
        ("half.pt", "bare.pt", ["Loads as it is", "float16 in the file, float32 in the target"]),
        ("bare.pt", "bare.pt", ["Loads as it is"]),
    ],
)
def test_the_terminal_says_each_thing_once(file, other, once):
    report = inspect(file, against=other)
    out = StringIO()
    render(report, Console(file=out, width=80, force_terminal=True, color_system=None))
    text = " ".join(out.getvalue().split())
    assert {words: text.count(words) for words in once} == dict.fromkeys(once, 1)
    sentence = report.facts["comparison"].sentence
    assert text.count(sentence.rstrip(".")) == 1
    prose = [
        line
        for line in out.getvalue().splitlines()
        if not line.startswith("      ") and "checkpoint fix" not in line
    ]
    assert max(map(len, prose)) <= 80


def test_a_comparison_whose_check_is_left_out_says_what_it_comes_to():
    report = inspect("shape.pt", "bare.pt", against="more.pt")
    report.findings = []
    out = StringIO()
    render(report, Console(file=out, width=80))
    for topic in ("comparison", "comparison.2"):
        assert report.facts[topic].sentence in out.getvalue()

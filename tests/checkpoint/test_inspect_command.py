"""``gpudoctor checkpoint inspect`` as a user meets it: the seeds' case, damage, planted code, pipes, exit codes."""

import json
import os
import pickle
import re
import shlex
import shutil
import subprocess
import sys
import zipfile

import pytest

from tests.warm_python import warm_gpudoctor, warm_python

SEEDS = """
import sys, torch
from torch import nn

class Net(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1, self.bn, self.fc = nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.Linear(8, classes)
    def forward(self, x):
        return self.fc(self.bn(self.conv1(x)).mean((2, 3)))

def train(model):
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    nn.functional.cross_entropy(model(torch.randn(4, 1, 28, 28)), torch.tensor([1, 2, 3, 4])).backward()
    optimizer.step()
    return model

if __name__ == "__main__":
    torch.save(train(Net()).state_dict(), "bare/mnist_cnn.pt")
    torch.save(train(nn.DataParallel(Net())).state_dict(), "wrapped/mnist_cnn.pt")
    state = Net().state_dict()
    state["fc.bias"][3] = float("nan")
    torch.save({"model": state, "epoch": 3, "wide": {f"layers.{n}.w": torch.zeros(n) for n in range(60)}}, "whole.pt")
"""
MORE = """
import argparse, collections, pickle, torch
from torch import nn
import net

model = net.train(net.Net())
optimizer = torch.optim.SGD(model.parameters(), 0.1)
average = torch.optim.swa_utils.AveragedModel(model)
torch.save(average.state_dict(), "swa.pt")
torch.save(nn.DataParallel(nn.Sequential(nn.Linear(2, 2))), "pickled.pt")
everything = {"model": nn.DataParallel(model).state_dict(), "args": argparse.Namespace(lr=0.1), "epoch": 1}
torch.save(everything, "everything.pt")
torch.save({**everything, "model": model.state_dict()}, "bare_args.pt")
torch.save({"fc.weight": torch.zeros(2), "fc.bias": 3}, "dotted.pt")
torch.save(optimizer.state_dict(), "optimizer.pt")
with open("numbers.pkl", "wb") as file:
    pickle.dump({"when": collections.Counter("aab"), "n": argparse.Namespace(a=1)}, file)

class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.module, self.head = nn.Linear(2, 2), nn.Linear(2, 2)

torch.save(Own().state_dict(), "own.pt")
"""
OWN = """
from torch import nn

class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.module, self.head = nn.Linear(2, 2), nn.Linear(2, 2)
"""
LOAD = "import net, sys, torch; net.Net().load_state_dict(torch.load(sys.argv[1], weights_only=True))"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, torch_folder):
    folder = tmp_path_factory.mktemp("seeds")
    (folder / "bare").mkdir()
    (folder / "wrapped").mkdir()
    (folder / "net.py").write_text(SEEDS)
    subprocess.run([warm_python(), "-W", "ignore", "net.py"], cwd=folder, check=True, timeout=300)
    return folder


@pytest.fixture(scope="module")
def more(folder, tmp_path_factory):
    """What people save besides a bare and a wrapped model."""
    more = tmp_path_factory.mktemp("more")
    (more / "net.py").write_text(SEEDS)
    (more / "own.py").write_text(OWN)
    subprocess.run([warm_python(), "-W", "ignore", "-c", MORE], cwd=more, check=True, timeout=300)
    return more


def inspect(*arguments, cwd=None, **options):
    command = [*warm_gpudoctor(), "checkpoint", "inspect", *map(str, arguments)]
    text = "input" not in options
    return subprocess.run(command, capture_output=True, text=text, timeout=120, cwd=cwd, **options)


def inspected(*arguments, **options):
    return json.loads(inspect("--json", *arguments, **options).stdout)


def test_the_wrapped_file_of_the_seeds_is_named_mended_and_loads(folder):
    torch_says = subprocess.run(
        [warm_python(), "-c", LOAD, "wrapped/mnist_cnn.pt"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert 'Unexpected key(s) in state_dict: "module.conv1.weight"' in torch_says.stderr
    done = inspect("wrapped/mnist_cnn.pt", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "prefix module. on all keys: DataParallel or DistributedDataParallel" in done.stdout
    (line,) = re.findall(r"gpudoctor (checkpoint fix .*--strip-prefix .*)", done.stdout)
    subprocess.run([sys.executable, "-m", "gpudoctor", *line.split()], cwd=folder, check=True, timeout=60)
    subprocess.run([warm_python(), "-c", LOAD, "mended.pt"], cwd=folder, check=True, timeout=120)


def test_the_bare_file_of_the_seeds_has_nothing_wrong(folder):
    done = inspect("bare/mnist_cnn.pt", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "Nothing wrong: 9 tensors in 1 state dict."
    assert re.search(r"^    conv1\.weight +float32  \[8, 1, 3, 3\] +288 B$", done.stdout, re.MULTILINE)


def test_against_the_other_file_and_against_the_model(folder):
    for target in ("bare/mnist_cnn.pt", "net.py:Net"):
        report = inspected("wrapped/mnist_cnn.pt", "--against", target, "--python", warm_python(), cwd=folder)
        assert report["verdict"]["primary"] == "state-dict-prefix"
        assert report["facts"]["comparison"]["outcome"] == "prefix"
        (finding,) = report["findings"]
        assert any("checkpoint fix" in fix["command"] for fix in finding["fixes"])
    model = ["--against", "net.py:Net", "--python", warm_python()]
    done = inspect("bare/mnist_cnn.pt", *model, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    report = inspected("bare/mnist_cnn.pt", *model, "--arg", "classes=7", cwd=folder)
    assert report["verdict"]["primary"] == "state-dict-shape"
    assert (
        "fc.bias: [10] in the file, [7] in the target"
        in [e["text"] for e in report["findings"][0]["evidence"]][1]
    )


def test_the_json_holds_every_key_and_each_of_several_files(folder):
    report = inspected(folder / "bare/mnist_cnn.pt", folder / "wrapped/mnist_cnn.pt")
    assert (report["schema"], report["command"]) == ("gpudoctor.report/1", "checkpoint inspect")
    assert list(report["facts"]) == ["checkpoint", "checkpoint.2"]
    (state,) = report["facts"]["checkpoint.2"]["state_dicts"]
    assert state["keys"][0]["name"] == "module.conv1.weight"
    (finding,) = report["findings"]
    assert (finding["id"], finding["source"]) == ("state-dict-prefix", "checkpoint")
    assert finding["message"].startswith("mnist_cnn.pt: all 9 keys")
    assert str(folder) not in json.dumps(report), "a path is private"


def test_long_lists_are_folded_and_keys_are_chosen_by_glob(folder):
    done = inspect(folder / "whole.pt")
    assert re.search(r"^  epoch +number +3$", done.stdout, re.MULTILINE)
    assert "60 keys" in done.stdout
    assert "more (-v or --keys GLOB shows them)" in done.stdout
    every = inspect(folder / "whole.pt", "-v").stdout
    assert all(f"layers.{n}.w " in every for n in range(60))
    chosen = inspect(folder / "whole.pt", "--keys", "layers.1?.w").stdout
    assert "10 match layers.1?.w" in chosen
    assert "layers.20.w" not in chosen


def test_the_numbers_are_looked_at_only_when_asked(folder):
    assert "NaN" not in inspect(folder / "whole.pt").stdout
    done = inspect(folder / "whole.pt", "--values").stdout
    assert "NaN or infinite  model.fc.bias: 1 number" in done
    assert "note  weights-not-finite" in done
    assert "1 tensor holds NaN or infinite numbers" in done
    assert inspected(folder / "whole.pt", "--values")["facts"]["values"]["nonfinite"] == [
        ["model.fc.bias", 1]
    ]


def test_a_folder_and_standard_input(folder):
    data = (folder / "wrapped/mnist_cnn.pt").read_bytes()
    done = inspect("-", input=data)
    assert b"prefix module. on all keys" in done.stdout
    with open(folder / "wrapped/mnist_cnn.pt") as file:
        assert "prefix module. on all keys" in inspect("-", stdin=file).stdout
    report = inspected(folder / "bare")
    assert report["facts"]["checkpoint"]["path"].endswith("mnist_cnn.pt")


def test_a_file_that_is_cut_off_is_a_finding_and_exit_code_1(folder, tmp_path):
    data = (folder / "bare/mnist_cnn.pt").read_bytes()
    cut = tmp_path / "cut.pt"
    for size in (600, len(data) // 2, len(data) - 1):
        cut.write_bytes(data[:size])
        done = inspect(cut)
        assert (done.returncode, done.stderr) == (1, ""), size
        assert "Most likely cause: checkpoint-corrupt" in done.stdout


def test_a_flipped_bit_is_found_with_verify_alone(folder, tmp_path):
    data = bytearray((folder / "bare/mnist_cnn.pt").read_bytes())
    with zipfile.ZipFile(folder / "bare/mnist_cnn.pt") as archive:
        data[data.index(archive.read("mnist_cnn/data/0"))] ^= 4
    (tmp_path / "flipped.pt").write_bytes(data)
    assert inspect(tmp_path / "flipped.pt").returncode == 0
    done = inspect("--verify", tmp_path / "flipped.pt")
    assert done.returncode == 1
    assert "mnist_cnn/data/0 is damaged" in done.stdout
    assert inspect("--verify", folder / "bare/mnist_cnn.pt").returncode == 0


def test_git_lfs_and_a_web_page_stand_where_a_checkpoint_should(tmp_path):
    (tmp_path / "model.pt").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 7\n")
    (tmp_path / "page.pt").write_text("<!DOCTYPE html><html>404</html>")
    assert "git-lfs's pointer" in inspect(tmp_path / "model.pt").stdout
    assert "web page" in inspect(tmp_path / "page.pt").stdout


class Planted:
    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def test_planted_code_is_named_and_never_run(tmp_path):
    proof = tmp_path / "it-ran"
    data = pickle.dumps({"model": {}, "x": Planted(f"touch {proof}")})
    with zipfile.ZipFile(tmp_path / "evil.pt", "w") as archive:
        archive.writestr("evil/data.pkl", data)
        archive.writestr("evil/version", "3\n")
    done = inspect(tmp_path / "evil.pt", "--values", "--verify", "-v")
    assert done.returncode == 1
    assert re.search(
        r"opening this file runs code: \w+\.system \(REDUCE at byte \d+ of evil/data\.pkl\)", done.stdout
    )
    assert "Most likely cause: checkpoint-unsafe" in done.stdout
    assert not proof.exists()
    pickle.loads(data)
    assert proof.exists(), "the plant must work"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.pt", None, "No such file"),
        ("empty.pt", b"", "empty file"),
        ("notes.txt", b"hello\n" * 100, "not a checkpoint"),
        ("page.html", b"<!DOCTYPE html>" * 40, "not a checkpoint"),
        ("other.zip", b"PK\x03\x04" + bytes(26) + b"readme.txt" + bytes(300), "zip file"),
    ],
)
def test_what_is_no_checkpoint_is_one_line_and_exit_code_2(tmp_path, name, content, said):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    done = inspect(tmp_path / name)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument"),
        (["--arg", "classes", "whole.pt"], "KEY=VALUE"),
        (["--arg", "classes=3", "whole.pt"], "--against, which is not given"),
        (["--python", sys.executable, "whole.pt"], "--against, which is not given"),
        (["--against", "nothing.pt", "whole.pt"], "nothing.pt"),
        (["--against", "net.py:Nothing", "--python", sys.executable, "whole.pt"], "Nothing"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(folder, arguments, said):
    done = inspect(*arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr


def test_names_with_control_characters_do_not_reach_the_terminal(tmp_path):
    with zipfile.ZipFile(tmp_path / "odd.pt", "w") as archive:
        archive.writestr(
            "odd/data.pkl", pickle.dumps({"\x1b[31mred\nline": 1, "a": "\x1b]0;title\x07"}, protocol=2)
        )
        archive.writestr("odd/version", "3\n")
    done = inspect(tmp_path / "odd.pt")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "\\x1b[31mred\\nline" in done.stdout


def test_torch_is_not_imported(folder):
    code = (
        "import sys, gpudoctor.cli\ntry:\n    gpudoctor.cli.main(['checkpoint', 'inspect', '--values', 'whole.pt'])\n"
        "except SystemExit:\n    print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "False"


def mended(line, cwd):
    command = [*warm_gpudoctor(), *shlex.split(line)[1:]]
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, timeout=60)


def offers(report, id):
    return [fix["command"] for f in report["findings"] if f["id"] == id for fix in f["fixes"]]


def test_an_average_of_weights_is_known_and_mended(more):
    report = inspected("swa.pt", cwd=more)
    assert [finding["id"] for finding in report["findings"]] == ["state-dict-prefix"]
    line = offers(report, "state-dict-prefix")[0]
    mended(line, more)
    subprocess.run([warm_python(), "-c", LOAD, "mended.pt"], cwd=more, check=True, timeout=120)


def test_a_pickled_wrapper_is_taken_apart_by_the_line_that_is_offered(more):
    report = inspected("pickled.pt", cwd=more)
    assert [f["id"] for f in report["findings"]] == [
        "state-dict-prefix",
        "checkpoint-weights-only",
        "checkpoint-unsafe",
    ]
    (code,) = offers(report, "state-dict-prefix")
    check = "print(list(torch.load('bare.pt')))"
    done = subprocess.run(
        [warm_python(), "-c", f"import torch\n{code}\n{check}"],
        cwd=more, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.stdout == "['0.weight', '0.bias']\n"


def test_what_torch_load_refuses_is_left_out_by_the_line_that_is_offered(more):
    report = inspected("everything.pt", cwd=more)
    assert [f["id"] for f in report["findings"]] == [
        "state-dict-prefix",
        "checkpoint-weights-only",
        "checkpoint-unsafe",
    ]
    assert report["verdict"]["primary"] == "state-dict-prefix"
    line = offers(report, "checkpoint-weights-only")[0]
    assert line == "gpudoctor checkpoint fix everything.pt -o clean.pt --drop args"
    mended(line, more)
    load = "import torch; print(sorted(torch.load('clean.pt', weights_only=True)))"
    done = subprocess.run([warm_python(), "-c", load], cwd=more, capture_output=True, text=True, timeout=120)
    assert done.stdout == "['epoch', 'model']\n"


@pytest.mark.parametrize(
    ("file", "target", "left"),
    [
        ("bare_args.pt", "net.py:Net", ["checkpoint-weights-only", "checkpoint-unsafe"]),
        ("own.pt", "own.py:Own", []),
    ],
)
def test_a_comparison_has_the_last_word_on_what_loads(more, file, target, left):
    report = inspected(file, "--against", target, "--python", warm_python(), cwd=more)
    assert report["facts"]["comparison"]["outcome"] == "loads"
    assert report["verdict"]["sentence"] == report["facts"]["comparison"]["sentence"]
    assert [finding["id"] for finding in report["findings"]] == left
    assert {c["id"] for c in report["checks"] if c["status"] == "found"} == set(left)


def test_a_mixed_prefix_is_a_guess_without_a_comparison(more):
    assert [f["id"] for f in inspected("own.pt", cwd=more)["findings"]] == ["state-dict-mixed-prefix"]


def test_a_plain_pickle_of_known_types_has_nothing_wrong(more):
    done = inspect("numbers.pkl", cwd=more)
    assert done.returncode == 0
    assert "torch.load(" not in done.stdout


def test_names_with_dots_are_whole(more):
    text = inspect("dotted.pt", cwd=more).stdout
    assert re.search(r"^  fc\.weight +tensor", text, re.MULTILINE)
    assert re.search(r"^  fc\.bias +number", text, re.MULTILINE)
    assert "the file itself is an optimizer" in inspect("optimizer.pt", cwd=more).stdout


def put(files, folder):
    folder.mkdir(parents=True)
    for file in files:
        shutil.copy(file, folder)
    return folder


def test_one_file_that_cannot_be_read_does_not_lose_the_others(more, tmp_path):
    folder = put([more / "swa.pt", more / "optimizer.pt"], tmp_path / "run")
    (folder / "notes.bin").write_bytes(b"no checkpoint" * 10)
    (folder / "cut.pt").write_bytes((more / "swa.pt").read_bytes()[:700])
    report = inspected(folder)
    assert [f["id"] for f in report["findings"]] == ["checkpoint-corrupt", "state-dict-prefix"]
    assert report["facts"]["checkpoint.2"]["kind"] == "unknown"
    assert "not read: not a checkpoint" in report["facts"]["checkpoint.2"]["notes"][0]
    assert inspect(folder).returncode == 1
    (folder / "cut.pt").unlink()
    report = inspected(folder)
    assert report["verdict"]["sentence"].endswith("1 file could not be read.")
    # What the command line names itself is an error of use; the others are told nevertheless.
    done = inspect(more / "optimizer.pt", tmp_path / "none.pt")
    assert (done.returncode, done.stderr.count("none.pt: No such file")) == (2, 1)
    assert "the file itself is an optimizer" in done.stdout
    assert "1 file could not be read" in done.stdout


def test_files_without_a_state_dict_are_not_compared(more, tmp_path):
    folder = put([more / "optimizer.pt", more / "bare_args.pt"], tmp_path / "run")
    target = ["--against", more / "net.py:Net", "--python", warm_python()]
    report = inspected(folder, *target)
    assert report["verdict"]["sentence"].startswith("bare_args.pt: Loads as it is")
    assert "it holds no state dict, and is not compared" in report["facts"]["checkpoint.2"]["notes"]
    (folder / "bare_args.pt").unlink()
    shutil.copy(more / "optimizer.pt", folder / "scheduler.pt")
    done = inspect(folder, *target)
    assert (done.returncode, done.stdout) == (2, "")
    assert "none of 2 files holds a state dict" in done.stderr


def test_folders_of_folders_name_those_with_checkpoints(more, tmp_path):
    put([more / "swa.pt"], tmp_path / "out/checkpoint-2")
    put([more / "swa.pt"], tmp_path / "out/pipe/unet")
    (tmp_path / "out/logs").mkdir()
    done = inspect(tmp_path / "out")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "checkpoint-2, " in done.stderr
    assert "pipe/unet" in done.stderr
    assert "logs" not in done.stderr
    put([more / "optimizer.pt"], tmp_path / "ds/global_step2")
    (tmp_path / "ds/latest").write_text("global_step2\n")
    assert "the file itself is an optimizer" in inspect(tmp_path / "ds").stdout
    for lie in ("../out/checkpoint-2", "/etc", "", "none", "\0"):
        (tmp_path / "ds/latest").write_text(lie)
        assert inspect(tmp_path / "ds").returncode == 2


def test_standard_input_is_called_so(more):
    closed = [sys.executable, "-m", "gpudoctor", "checkpoint", "inspect", "-"]
    script = f"exec {shlex.join(closed)} <&-"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (2, "gpudoctor: standard input: it is closed\n")
    done = inspect("-", input=b"hello" * 100)
    assert done.stderr.startswith(b"gpudoctor: standard input: not a checkpoint")
    done = inspect("-", input=(more / "swa.pt").read_bytes())
    assert done.stdout.splitlines()[2].startswith(b"standard input   torch zip")
    assert b"checkpoint fix" not in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["wrapped/mnist_cnn.pt"],
        ["wrapped/mnist_cnn.pt", "--against", "bare/mnist_cnn.pt"],
        ["whole.pt", "wrapped/mnist_cnn.pt", "--values"],
        ["bare/mnist_cnn.pt"],
    ],
)
def test_a_report_on_checkpoints_can_be_examined_again(folder, tmp_path, arguments):
    saved = tmp_path / "r.json"
    first = inspect(*arguments, "-o", saved, "-q", cwd=folder)
    command = [*warm_gpudoctor(), "check", "--from", str(saved)]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == first.returncode
    before, after = json.loads(saved.read_text()), json.loads(done.stdout)
    assert before["facts"]
    for part in ("facts", "findings", "verdict"):
        assert after[part] == before[part]
    assert {c["id"]: c["status"] for c in after["checks"]} == {c["id"]: c["status"] for c in before["checks"]}
    human = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    assert "mnist_cnn.pt   torch zip" in human
    assert "PCI" not in human

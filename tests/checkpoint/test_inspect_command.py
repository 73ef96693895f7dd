"""``gpudoctor checkpoint inspect`` as a user meets it: the seeds' case, damage, planted code, pipes, exit codes."""

import json
import os
import pickle
import re
import subprocess
import sys
import zipfile

import pytest

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
LOAD = "import net, sys, torch; net.Net().load_state_dict(torch.load(sys.argv[1], weights_only=True))"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, torch_folder):
    folder = tmp_path_factory.mktemp("seeds")
    (folder / "bare").mkdir()
    (folder / "wrapped").mkdir()
    (folder / "net.py").write_text(SEEDS)
    subprocess.run([sys.executable, "-W", "ignore", "net.py"], cwd=folder, check=True, timeout=300)
    return folder


def inspect(*arguments, cwd=None, **options):
    command = [sys.executable, "-m", "gpudoctor", "checkpoint", "inspect", *map(str, arguments)]
    text = "input" not in options
    return subprocess.run(command, capture_output=True, text=text, timeout=120, cwd=cwd, **options)


def inspected(*arguments, **options):
    return json.loads(inspect("--json", *arguments, **options).stdout)


def test_the_wrapped_file_of_the_seeds_is_named_mended_and_loads(folder):
    torch_says = subprocess.run(
        [sys.executable, "-c", LOAD, "wrapped/mnist_cnn.pt"],
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
    subprocess.run([sys.executable, "-c", LOAD, "mended.pt"], cwd=folder, check=True, timeout=120)


def test_the_bare_file_of_the_seeds_has_nothing_wrong(folder):
    done = inspect("bare/mnist_cnn.pt", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "Nothing wrong: 9 tensors in 1 state dict."
    assert re.search(r"^    conv1\.weight +float32  \[8, 1, 3, 3\] +288 B$", done.stdout, re.MULTILINE)


def test_against_the_other_file_and_against_the_model(folder):
    for target in ("bare/mnist_cnn.pt", "net.py:Net"):
        report = inspected(
            "wrapped/mnist_cnn.pt", "--against", target, "--python", sys.executable, cwd=folder
        )
        assert report["verdict"]["primary"] == "state-dict-prefix"
        assert report["facts"]["comparison"]["outcome"] == "prefix"
        (finding,) = report["findings"]
        assert any("checkpoint fix" in fix["command"] for fix in finding["fixes"])
    model = ["--against", "net.py:Net", "--python", sys.executable]
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
    assert "mnist_cnn/data/0 is damaged: Bad CRC-32" in done.stdout
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

"""What a file is taken for: by what it holds, and by its name only in doubt."""

import gzip
import json
import subprocess
import zipfile
from pathlib import Path

import pytest

import gpudoctor
from gpudoctor.recognition import recognise
from gpudoctor.render.markdown import ticket
from tests.warm_python import warm_gpudoctor

HERE = Path(__file__).parent
MACHINE = HERE / "machines/cpu-only/report.json"
CHECKPOINT = (HERE / "checkpoint/fixtures/torch-2.15.0.zip.pt").read_bytes()
LEGACY = (HERE / "checkpoint/fixtures/torch-1.5.1.legacy.pt").read_bytes()
SCRIPT = b"import torch\n\nprint(torch.__version__)\n"
LOG = b"epoch 1 loss 0.5\nepoch 2 loss 0.4\n"
TRACEBACK = (
    b'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nimport nothing\nKeyError: 1\n'
)
NOTEBOOK = json.dumps(
    {"cells": [{"cell_type": "code", "source": ["import torch\n"]}], "nbformat": 4}
).encode()

FILES = {
    # what it holds
    ("train.py", SCRIPT): "script",
    ("train", SCRIPT): "script",
    ("train.txt", SCRIPT): "script",
    ("train.ipynb", NOTEBOOK): "script",
    ("train.log", LOG): "log",
    ("slurm-123.out", LOG): "log",
    ("output", LOG): "log",
    ("train.py", TRACEBACK): "log",
    ("train.log.gz", gzip.compress(LOG)): "log",
    ("windows.log", b"\xff\xfe" + LOG.decode().encode("utf-16-le")): "log",
    ("error.json", b'{"message": {"message": "RuntimeError: x"}}'): "log",
    ("events.json", b'{"step": 1, "loss": 0.5}\n{"step": 2, "loss": 0.4}\n'): "log",
    ("model.pt", CHECKPOINT): "checkpoint",
    ("model", CHECKPOINT): "checkpoint",
    ("model.log", CHECKPOINT): "checkpoint",
    ("old.pt", LEGACY): "checkpoint",
    ("saved.json", MACHINE.read_bytes()): "report",
    ("saved", MACHINE.read_bytes()): "report",
    ("ticket.md", b"**Healthy.**\n\n```json\n" + MACHINE.read_bytes()[:9000] + b"\n```\n"): "report",
    ("model.safetensors.index.json", b'{"metadata": {}, "weight_map": {}}'): "checkpoint",
    # the name, in doubt
    ("old.py", b"import os\nprint 'Python 2'\n"): "script",
    ("empty_main.py", b"print(1)\n"): "script",
    ("numbers.txt", b"0.5\n0.4\n"): "log",
    ("model.pt", b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 2\n"): "checkpoint",
    ("model.pt", b"\x00" * 4000): "checkpoint",
    ("model.pt", b""): "checkpoint",
    ("prose.md", b"import this, said he,\nand went.\n"): "log",
}


@pytest.mark.parametrize("given", FILES, ids=lambda given: given[0])
def test_a_file_is_told_by_what_it_holds(tmp_path: Path, given: tuple[str, bytes]) -> None:
    name, content = given
    (tmp_path / name).write_bytes(content)
    (found,) = recognise([str(tmp_path / name)])
    assert found.kind.value == FILES[given]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("train.log", b"", "an empty file, of which nothing can be told"),
        ("photo.jpg", b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" * 50, "binary, and none of the formats"),
    ],
)
def test_what_cannot_be_told_is_one_line(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(gpudoctor.BadInput) as caught:
        recognise([str(tmp_path / name)])
    assert words in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / name))
    with pytest.raises(gpudoctor.BadInput, match="No such file"):
        recognise([str(tmp_path / "nothing")])


def folder(path: Path, *names: str) -> str:
    for name in names:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(CHECKPOINT if name.endswith(".pt") else SCRIPT)
    return str(path)


FOLDERS = {
    ("src/train.py", "README.txt"): ["script"],
    ("rank0/stdout", "rank1/stderr.log"): ["log"],
    ("notes.txt",): ["log"],
    ("a.pt", "b.pt"): ["checkpoint"],
    ("train.py", "train.log", "a.pt"): ["script", "log", "checkpoint"],
    (".metadata", "__0_0.distcp"): ["checkpoint"],
    (".git/hook.py", "train.out"): ["log"],
}


@pytest.mark.parametrize("names", FOLDERS, ids=" ".join)
def test_a_folder_is_asked_by_what_lies_in_it(tmp_path: Path, names: tuple[str, ...]) -> None:
    assert [given.kind.value for given in recognise([folder(tmp_path, *names)])] == FOLDERS[names]


def test_a_folder_with_nothing_to_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(gpudoctor.BadInput, match="no script, no log and no checkpoint in this folder"):
        recognise([folder(tmp_path, "a.jpg")])


def test_other_texts_of_a_repository_are_no_log(tmp_path: Path) -> None:
    folder(tmp_path, "train.py", "train.log")
    (tmp_path / "README.txt").write_text("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
    report = gpudoctor.check(tmp_path, source=str(MACHINE))
    assert report.facts["log"].lines == 3


# The command


def gpudoctor_says(cwd: Path, *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [*warm_gpudoctor(), *arguments], cwd=cwd, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


def test_the_command_says_which_file_was_taken_for_what(tmp_path: Path) -> None:
    folder(tmp_path, "train.py", "model.pt")
    (tmp_path / "train.log").write_bytes(LOG)
    (tmp_path / "old.py").write_bytes(b"import os\nprint 'Python 2'\n")
    code, out, err = gpudoctor_says(
        tmp_path, "check", "train.py", "old.py", "train.log", "model.pt", str(MACHINE)
    )
    assert code == 0
    rows = [
        "script      train.py",
        "script      old.py: not read",
        "log         train.log",
        "checkpoint  model.pt",
    ]
    assert "\n".join(f"  {row}" for row in rows) in out
    assert "this is Python 2" in err
    assert "1 file could not be read." in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["photo"], "photo: binary, and none of the formats of checkpoints that gpudoctor reads"),
        (["nothing.py"], "nothing.py: No such file or directory"),
        ([str(MACHINE), "--from", str(MACHINE)], "one saved report is given twice"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(tmp_path: Path, arguments: list[str], words: str) -> None:
    (tmp_path / "photo").write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" * 50)
    code, out, err = gpudoctor_says(tmp_path, "check", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


def test_reports_of_two_ranks_are_compared(tmp_path: Path) -> None:
    for name, rank in (("a.json", "0"), ("b.json", "0"), ("c.json", "1")):
        launch = {"variables": {"RANK": rank, "WORLD_SIZE": "2"}}
        report = {
            "schema": "gpudoctor.report/1",
            "version": "0.1.0",
            "command": "check",
            "facts": {"launch": launch},
        }
        (tmp_path / name).write_text(
            json.dumps({**report, "created": "", "probes": [], "findings": [], "checks": []})
        )
    _, out, err = gpudoctor_says(tmp_path, "check", "--only", "launch-inconsistent", "a.json", "b.json")
    assert "RANK is 0 in a.json and in b.json" in out
    assert "b.json: compared with a.json" in err
    _, out, _ = gpudoctor_says(
        tmp_path, "check", "--only", "launch-inconsistent", "--from", "a.json", "c.json"
    )
    assert "RANK is" not in out


def test_a_ticket_names_the_files_and_can_be_examined_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    good = (HERE / "scripts/torchrun.py").read_text()
    Path("train.py").write_text(good.replace("sampler.set_epoch", "print"))
    Path("train.log").write_bytes(LOG)
    report = gpudoctor.check("train.py", "train.log", source=str(MACHINE))
    Path("ticket.md").write_text(ticket(report))
    assert "- script: `train.py`\n- log: `train.log`" in Path("ticket.md").read_text()
    again = gpudoctor.check("ticket.md")
    assert again.findings == report.findings
    assert "sampler-set-epoch" in {finding.id for finding in again.findings}
    assert again.facts["given"] == report.facts["given"]


def test_a_zip_file_that_is_no_checkpoint_says_so(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "book.zip", "w") as archive:
        archive.writestr("word/document.xml", "x")
    code, _, err = gpudoctor_says(tmp_path, "check", "book.zip")
    assert code == 2
    assert err.count("\n") == 1

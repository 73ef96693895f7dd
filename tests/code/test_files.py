"""Which files `lint` reads, what a project asks for, what comments hide."""

import os
import subprocess

import pytest

import gpudoctor
from gpudoctor import BadInput
from gpudoctor.code.definitions import Files
from gpudoctor.code.files import chosen

LEAK = "import torch.distributed as dist\ndist.init_process_group('gloo')\n"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A project with folders that nobody means, in the working folder."""
    monkeypatch.chdir(tmp_path)
    for name in (
        "train.py", "src/model.py", "src/notes.txt", "src/__pycache__/model.py", ".hidden/a.py", "src/.b.py",
        "out/run.py", "data/keep.py", "data/drop.py", "src/gen_one.py", "env/lib/site-packages/torch/x.py",
        "made-by-venv/bin/y.py", "tests/test_a.py",
    ):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(LEAK)
    (tmp_path / "made-by-venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("# made\n/out/\ngen_*.py\n")
    (tmp_path / "data/.gitignore").write_text("*\n!keep.py\n")
    return tmp_path


def names(*paths, exclude=()):
    return [file.name for file in chosen(paths, exclude)]


def test_a_folder_without_what_git_ignores(tree):
    assert names(".") == ["train.py", "data/keep.py", "src/model.py", "tests/test_a.py"]


def test_the_same_files_as_git(tree):
    (tree / ".git").rmdir()
    subprocess.run(["git", "init", "-q"], check=True, cwd=tree)
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"],
        cwd=tree,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    ours = set(names("."))
    theirs = {
        p for p in listed if p.endswith(".py") and "/." not in f"/{p}" and "env/" not in p and "venv" not in p
    }
    assert ours == {p for p in theirs if "__pycache__" not in p}


def test_what_is_named_itself_is_read(tree):
    assert names("out/run.py", "env/lib/site-packages/torch", "out") == [
        "out/run.py",
        "env/lib/site-packages/torch/x.py",
    ]


def test_excluded(tree):
    assert names(".", exclude=["tests/", "model.py"]) == ["train.py", "data/keep.py"]


def test_named_twice_and_linked(tree):
    (tree / "again.py").symlink_to("train.py")
    (tree / "src/up").symlink_to("..")
    (tree / "circle.py").symlink_to("circle.py")
    assert names("train.py", "./train.py", str(tree / "train.py"), "again.py") == ["train.py"]
    assert names("src") == ["src/model.py"]
    with pytest.raises(BadInput, match=r"^circle\.py: Too many levels of symbolic links$"):
        gpudoctor.lint(["circle.py"])


def test_a_path_that_is_not_there(tree):
    with pytest.raises(BadInput, match=r"^missing\.py: no such file or folder$"):
        gpudoctor.lint(["missing.py"])


@pytest.mark.parametrize("name", ["private", "private/train.py"])
def test_what_this_user_may_not_read_is_one_line(barred, name):
    with pytest.raises(BadInput, match=r"(?:Permission denied|this user may not look into the folder)$"):
        gpudoctor.lint([barred / name])


def test_a_folder_that_this_user_may_not_enter_is_no_health(barred):
    report = gpudoctor.lint([barred])
    (unread,) = report.facts["code"].unread
    assert unread.endswith("private: this user may not look into the folder")


def test_a_folder_without_python(tree):
    (tree / "empty").mkdir()
    with pytest.raises(BadInput, match=r"^empty: no Python file there$"):
        gpudoctor.lint(["empty"])


def found(*paths, **options):
    report = gpudoctor.lint(paths, **options)
    return {(finding.id, finding.location.path, finding.location.line) for finding in report.findings}


def test_settings(tree):
    everything = found(".")
    assert ("process-group-leak", "train.py", 2) in everything
    (tree / "pyproject.toml").write_text('[tool.gpudoctor]\nselect = ["ddp"]\nexclude = ["/src", "data/"]\n')
    assert {path for _, path, _ in found(".")} == {"train.py", "tests/test_a.py"}
    (tree / "pyproject.toml").write_text('[tool.gpudoctor]\nignore = ["process-group-leak"]\n')
    assert not {id for id, _, _ in found(".")} & {"process-group-leak"}
    assert not found("src", only=["process-group-leak"]), "the project's own ignore holds beside --only"


@pytest.mark.parametrize(
    "text, said",
    [
        ('[tool.gpudoctor]\nselct = ["ddp"]\n', r"has no key 'selct'; did you mean 'select'\?$"),
        ('[tool.gpudoctor]\nselect = "ddp"\n', "select must be a list of strings, not 'ddp'$"),
        ('[tool.gpudoctor]\nselect = ["ddq"]\n', r"pyproject.toml: no check is named 'ddq'"),
        ("[tool.gpudoctor\n", "pyproject.toml: .*line 1"),
        ("[tool]\ngpudoctor = 3\n", "tool.gpudoctor is no table$"),
    ],
)
def test_settings_that_mean_nothing(tree, text, said):
    (tree / "pyproject.toml").write_text(text)
    with pytest.raises(BadInput, match=said) as raised:
        gpudoctor.lint(["train.py"])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "comment, hidden",
    [
        ("  # gpudoctor: ignore[process-group-leak] the launcher does it", True),
        ("  # gpudoctor: ignore", True),
        ("  # gpudoctor: ignore[sampler-set-epoch, process-group-leak]", True),
        ("  # gpudoctor: ignore[sampler-set-epoch]", False),
        ("  # gpudoctor: ignore[process-group-leak", False),
        ("  # gpudoctor: ignored", False),
    ],
)
def test_comments(tree, comment, hidden):
    (tree / "train.py").write_text(LEAK.rstrip() + comment + "\n")
    report = gpudoctor.lint(["train.py"], only=["process-group-leak"])
    assert report.facts["code"].suppressed == hidden
    assert bool(report.findings) is not hidden


def test_a_comment_with_an_id_that_no_check_has(tree):
    (tree / "train.py").write_text(LEAK.rstrip() + "  # gpudoctor: ignore[proces-group-leak]\n")
    told = []
    gpudoctor.lint(["train.py"], warn=told.append)
    [line] = told
    assert line.startswith("train.py:2: ")
    assert line.endswith("did you mean 'process-group-leak'?")


def test_a_file_that_git_s_own_syntax_cannot_say(tree):
    (tree / ".gitignore").write_bytes(b"\xff\xfe[z-a]\n/out/\n\\\n!\n")
    assert "out/run.py" not in names(".")
    assert "train.py" in names(".")


def test_a_pipe_without_a_writer_is_not_waited_for(tree):
    os.mkfifo(tree / "pipe.py")
    with pytest.raises(BadInput, match=r"^pipe\.py: it is no file$"):
        gpudoctor.lint(["pipe.py"])


def test_what_lies_beside_an_installed_package_is_another_library(tmp_path):
    installed = tmp_path / "lib/site-packages"
    for name in ("mine/train.py", "mine/model.py", "other/model.py", "alone.py"):
        (installed / name).parent.mkdir(parents=True, exist_ok=True)
        (installed / name).write_text("rank = 0\n")
    files = Files()
    train, alone = installed / "mine/train.py", installed / "alone.py"
    assert [files.find(name, train) is not None for name in ("model", "mine.model", "other.model", "alone")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert [files.find(name, alone) is not None for name in ("alone", "mine.model")] == [True, False]


SETTINGS = """
import json
import torch

class Settings(dict):
    def __init__(self, path):
        json.dump({}, open(path), default=self.text)

    @staticmethod
    def text(held):
        if isinstance(held, bytes):
            return held.hex()
        raise TypeError

SETTINGS = Settings("x")
"""


def test_what_another_file_sets_up_at_import_leaves_no_objects_behind(tmp_path):
    """A constant of another file is looked at for what it is: a function handed over there has no object here."""
    (tmp_path / "settings.py").write_text(SETTINGS)
    train = tmp_path / "train.py"
    train.write_text("from settings import SETTINGS\nprint(SETTINGS['x'])\n" + LEAK)
    report = gpudoctor.lint([train])
    assert [finding.id for finding in report.findings] == ["process-group-leak"]
    assert not [check for check in report.checks if check.status.value == "crashed"]

"""The forms of a report of scripts that other programs read."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft7Validator

from gpudoctor.cli.lint import command

SCRIPT = """import torch.distributed as dist

dist.init_process_group("nccl")
rank = dist.get_rank()
if rank == 0:
    x = "ä"; dist.barrier()
"""
AGAIN = "if rank == 0:\n    dist.barrier()\n"
HERE = Path(__file__).parent


def lint(*arguments, input=None):
    # The group's own entry point turns BadInput into a line and exit code 2; here the command is called alone.
    return CliRunner().invoke(command, list(arguments), standalone_mode=False, input=input)


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my train,1.py"
    path.write_text(SCRIPT)
    return path.name


def output(form, script):
    return lint(script, "--only", "collective-in-branch", "--format", form).stdout


def test_concise(script):
    text = output("concise", script)
    assert text.startswith("my train,1.py:6:15: error collective-in-branch: ")
    assert text.count("\n") == 1


def test_terminal_marks_the_column(script):
    text = lint(script, "--only", "collective-in-branch").stdout
    assert "my train,1.py:6:15: error  collective-in-branch   " in text
    lines = text.splitlines()
    number = next(n for n, line in enumerate(lines) if "dist.barrier()" in line and " | " in line)
    assert lines[number + 1].index("^") == lines[number].index("dist.barrier()")
    assert lines[-1] == "1 error in 6 lines of 1 file; first of all collective-in-branch at my train,1.py:6."


def test_github(script):
    text = output("github", script)
    assert text.startswith("::error file=my train%2C1.py,line=6,col=15,title=collective-in-branch::")
    assert text.count("\n") == 1


def test_gitlab_keeps_its_fingerprints_when_code_moves(script, tmp_path):
    before = json.loads(output("gitlab", script))
    [entry] = before
    assert entry["location"] == {"path": script, "lines": {"begin": 6}}
    assert entry["severity"] == "critical"
    (tmp_path / script).write_text("# one more line\n" + SCRIPT)
    [moved] = json.loads(output("gitlab", script))
    assert moved["location"]["lines"]["begin"] == 7
    assert moved["fingerprint"] == entry["fingerprint"]
    (tmp_path / script).write_text(SCRIPT + AGAIN + AGAIN)
    prints = [entry["fingerprint"] for entry in json.loads(output("gitlab", script))]
    assert len(prints) == len(set(prints)) == 3


def test_sarif_is_what_its_schema_says(script):
    document = json.loads(output("sarif", script))
    Draft7Validator(json.loads((HERE / "sarif.schema.json").read_text())).validate(document)
    [result] = document["runs"][0]["results"]
    assert document["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "collective-in-branch"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "my%20train%2C1.py"
    assert place["region"]["startLine"] == 6
    assert place["region"]["startColumn"] == 14, "characters, and not the bytes of the umlaut"


def test_sarif_of_a_good_script_and_one_that_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.py").write_text("import torch\n")
    (tmp_path / "bad.py").write_text("print 'no'\n")
    document = json.loads(lint("good.py", "bad.py", "--format", "sarif").stdout)
    Draft7Validator(json.loads((HERE / "sarif.schema.json").read_text())).validate(document)
    [run] = document["runs"]
    assert run["results"] == []
    [told] = run["invocations"][0]["toolExecutionNotifications"]
    assert "Python 2" in told["message"]["text"]


def test_the_schema_refuses():
    validator = Draft7Validator(json.loads((HERE / "sarif.schema.json").read_text()))
    for document in (
        {"version": "2.0.0", "runs": []},
        {"version": "2.1.0"},
        {"version": "2.1.0", "runs": [{"tool": {"driver": {}}}]},
        {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}, "results": [{"message": {}}]}]},
        {
            "version": "2.1.0",
            "runs": [
                {"tool": {"driver": {"name": "x"}}, "results": [{"message": {"text": "x"}, "level": "bad"}]}
            ],
        },
    ):
        assert not validator.is_valid(document), document


def test_junit(script):
    top = ET.fromstring(output("junit", script).partition("\n")[2])
    assert (top.get("tests"), top.get("failures")) == ("1", "1")
    [failure] = top.iter("failure")
    assert failure.text.startswith("my train,1.py:6:15: ")


def test_junit_of_a_good_script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.py").write_text("import torch\n")
    top = ET.fromstring(lint("good.py", "--format", "junit").stdout.partition("\n")[2])
    assert (top.get("tests"), top.get("failures")) == ("1", "0")


def test_statistics(script, tmp_path):
    (tmp_path / script).write_text(SCRIPT + AGAIN)
    first, last = lint(script, "--only", "collective-in-branch", "--statistics").stdout.splitlines()
    assert first.split()[:3] == ["2", "error", "collective-in-branch"]
    assert last.startswith("2 errors in 8 lines of 1 file")


def test_a_form_and_a_file(script, tmp_path):
    lint(script, "--format", "gitlab", "-o", "report.json")
    assert json.loads((tmp_path / "report.json").read_text())[0]["check_name"]


def test_standard_input():
    result = lint("-", "--only", "collective-in-branch", "--format", "concise", input=SCRIPT)
    assert result.stdout.startswith("-:6:15: error collective-in-branch: ")


def test_the_hook_of_pre_commit_is_a_command_that_there_is(script):
    hooks = (HERE.parent.parent / ".pre-commit-hooks.yaml").read_text()
    [entry] = [line.split(": ", 1)[1] for line in hooks.splitlines() if line.startswith("  entry: ")]
    name, subcommand, *options = entry.split()
    assert (name, subcommand) == ("gpudoctor", "lint")
    assert "collective-in-branch" in lint(*options, script).stdout

"""What no training script is: one clear line each, in bounded time, and what else was given is read all the same."""

import ast
import json
import keyword
import os
import random
import re
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gpudoctor
from gpudoctor import BadInput
from gpudoctor.code.examination import Examiner
from gpudoctor.registry import Registry
from gpudoctor.report import Status
from gpudoctor.verdict import exit_code

LEAK = "import torch.distributed as dist\ndist.init_process_group('gloo')\n"
UNREADABLE = {
    "syntax": (b"import torch\ndef f(:\n", r"^bad\.py:2: "),
    "python 2": (b"import torch\nprint 'hello'\n", r"^bad\.py:2: .* \(this is Python 2\)$"),
    "python 2 exec": (b"try:\n    pass\nexcept ValueError, error:\n    pass\n", r"\(this is Python 2\)$"),
    "tabs": (b"if True:\n\tx = 1\n        y = 2\n", r"^bad\.py:3: "),
    "encoding": (b"# coding: utf-8\nx = '\xe4'\n", r"^bad\.py: cannot be decoded: "),
    "unknown encoding": (b"# coding: klingon\n", r"^bad\.py: cannot be decoded: "),
    "zeros": (b"import torch\n\0\0\0", r"^bad\.py"),
    "ten megabytes": (
        b"x = 1\n" * 1_750_000,
        r"^bad\.py: 10\.0 MiB, more than a script is; it was not read$",
    ),
    "brackets": (b"x = " + b"(" * 100_000 + b")" * 100_000, r"^bad\.py"),
    "signs": (b"import torch.distributed\nx = " + b"-" * 100_000 + b"1\n", r"^bad\.py"),
    "picture": (bytes(range(256)) * 40, r"^bad\.py"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.py").write_text(LEAK)
    return tmp_path


@pytest.mark.parametrize("name", UNREADABLE)
def test_one_line_and_the_rest_is_read(folder, name):
    data, said = UNREADABLE[name]
    (folder / "bad.py").write_bytes(data)
    told = []
    report = gpudoctor.lint(["."], warn=told.append)
    [line] = told
    assert "\n" not in line
    assert re.search(said, line), line
    assert len(line) < 300
    assert [finding.location.path for finding in report.findings] == ["good.py"]
    assert report.verdict.sentence.endswith("1 file could not be read.")
    with pytest.raises(BadInput) as raised:
        gpudoctor.lint(["bad.py"])
    assert str(raised.value) == line


def test_an_empty_file_is_no_fault(folder):
    (folder / "empty.py").write_bytes(b"")
    report = gpudoctor.lint(["empty.py"])
    assert report.verdict.sentence == "No known failure shows in 0 lines of 1 file."


def test_a_program_that_is_not_followed_to_its_end_is_no_healthy_one(folder):
    """What stands behind the last step was not looked at."""
    (folder / "long.py").write_text("import torch\n" + "x = 1\n" * 60_001 + LEAK)
    told = []
    report = gpudoctor.lint(["long.py"], warn=told.append)
    assert told == ["long.py: too long to be followed to its end, and examined in part"]
    assert report.verdict.sentence.endswith("1 file could be followed in part alone.")
    assert (report.verdict.status, exit_code(report, "error")) == (Status.UNKNOWN, 3)
    both = gpudoctor.lint(["."])
    assert {finding.location.path for finding in both.findings} == {"good.py"}
    assert both.facts["code"].partly == ("long.py",)


def test_a_long_chain_does_not_end_the_run(folder):
    """Deep trees that the parser takes, and that what follows must get through or give up on."""
    chain = "import torch.distributed as dist\nx = 1" + " + 1" * 5_000 + "\ny = x" + ".a" * 3_000 + "\n"
    (folder / "chain.py").write_text(chain)
    report = gpudoctor.lint(["."])
    assert "good.py" in {finding.location.path for finding in report.findings}


def test_a_script_that_calls_itself_without_end_is_bounded(folder):
    names = [f"f{n}" for n in range(12)]
    body = "".join(f"def {a}():\n" + "".join(f"    {b}()\n" for b in names) for a in names)
    (folder / "many.py").write_text(f"import torch.distributed as dist\n{body}f0()\n")
    assert gpudoctor.lint(["many.py"]).facts["code"].lines == 158


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b'{"cells": 3}',
        b'{"cells": [3]}',
        b"[1]",
        b"[" * 100_000,
        b'{"cells": [{"cell_type": "code"',
    ],
)
def test_notebooks_that_are_none(folder, data):
    (folder / "bad.ipynb").write_bytes(data)
    with pytest.raises(BadInput, match=r"^bad\.ipynb: no notebook: ") as raised:
        gpudoctor.lint(["bad.ipynb"])
    assert "\n" not in str(raised.value)


def test_a_notebook_with_magics(folder):
    cells = [
        ("markdown", "# Title"),
        ("code", "%matplotlib inline\n!pip install torch\n?print\nimport torch.distributed as dist"),
        ("code", "%%bash\nrm -rf /tmp/x; for"),
        ("code", "this is no python"),
        ("code", "%%time\ndist.init_process_group('gloo')"),
    ]
    book = {"cells": [{"cell_type": kind, "source": text.splitlines(keepends=True)} for kind, text in cells]}
    (folder / "a.ipynb").write_text(json.dumps(book))
    report = gpudoctor.lint(["a.ipynb"], only=["process-group-leak"])
    [finding] = report.findings
    assert (finding.location.path, finding.location.line) == ("a.ipynb:cell 5", 2)
    assert finding.evidence[0].text == "dist.init_process_group('gloo')"


@pytest.mark.parametrize(
    "arguments, code", [(["bad.py"], 2), (["."], 0), (["good.py", "--fail-on", "warning"], 0)]
)
def test_exit_codes(folder, arguments, code):
    (folder / "bad.py").write_text("def f(:\n")
    done = subprocess.run(
        [sys.executable, "-m", "gpudoctor", "lint", "--only", "process-group-leak", *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done
    assert done.stderr.count("\n") == ("bad.py" in arguments or "." in arguments)
    assert "Traceback" not in done.stderr


def test_nothing_heavy_is_imported(folder):
    program = (
        "import sys, gpudoctor; gpudoctor.lint(['good.py']); "
        "print([name for name in ('torch', 'libcst', 'pathspec', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_check_that_crashes_is_told(folder):
    (folder / "checks").mkdir()
    (folder / "checks/bad_check.py").write_text(
        '"""It crashes."""\nfrom gpudoctor import Check, Severity\nfrom gpudoctor.facts import Script\n'
        "check = Check(severity=Severity.ERROR, no_reproduction='none')\n\n\n"
        "@check.code\ndef code(script: Script):\n    raise ValueError('no')\n    yield\n"
    )
    report = gpudoctor.lint(["good.py"], checks=[folder / "checks"], only=["bad-check"])
    assert "crashed" in report.verdict.sentence
    [result] = [result for result in report.checks if result.id == "bad-check"]
    assert result.reason.endswith("ValueError: no")


def test_a_name_that_is_no_utf_8(folder):
    with open(b"load \xff.py", "w") as file:
        file.write("import torch\nmodel = torch.load('model.pt')\n")
    report = gpudoctor.lint([os.fsdecode(b"load \xff.py")])
    [place] = {finding.location.path for finding in report.findings}
    assert place == r"load \udcff.py"


def test_in_a_working_folder_that_is_gone(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    (tmp_path / "good.py").write_text("import torch\n")
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(BadInput, match="the working folder does not exist any more"):
        gpudoctor.lint([tmp_path / "good.py"])


NAMES = ["model", "loader", "sampler", "rank", "loss", "epoch", "x"]
LINES = [
    "{a} = DDP(nn.Linear(2, 2).cuda())",
    "{a} = DistributedSampler({b})",
    "{a} = DataLoader({b}, sampler={c})",
    "{a} = dist.get_rank()",
    "dist.all_reduce({a})",
    "dist.barrier()",
    "{a} = F.softmax({b})",
    "{a}.set_epoch({b})",
    "torch.save({a}.state_dict(), 'm.pt')",
    "{a} = torch.load('m.pt')",
    "{a}.backward()",
    "dist.init_process_group('nccl')",
    "return {a}",
    "print({a}.item())",
]
OPENINGS = ["if {a} == 0:", "for {a} in range({b}):", "for {a} in {b}:", "while {a}:", "with {a}.no_sync():"]
HEAD = """import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
"""


@st.composite
def programs(draw):
    """A program of two functions that are called, made of what training scripts are made of."""

    def block(depth):
        lines = []
        for _ in range(draw(st.integers(1, 4))):
            names = {key: draw(st.sampled_from(NAMES)) for key in "abc"}
            if depth < 3 and draw(st.booleans()):
                lines.append(draw(st.sampled_from(OPENINGS)).format(**names))
                lines += [f"    {line}" for line in block(depth + 1)]
            else:
                lines.append(draw(st.sampled_from(LINES)).format(**names))
        return lines

    bodies = ["\n".join(f"    {line}" for line in block(0)) for _ in range(2)]
    return f"{HEAD}\ndef setup(data):\n{bodies[0]}\n\ndef main(data):\n{bodies[1]}\n\nsetup(1)\nmain(2)\n"


CHECKS = [c for c in Registry.of(()).checks() if any(s.value == "code" for s in c.functions)]


def found(tmp_path, text):
    path = tmp_path / "train.py"
    examined = Examiner({path: "train.py"}, CHECKS).file(path, text.encode())
    assert not examined.unread
    assert not [result for result in examined.results.values() if result.status.value == "crashed"], (
        examined.results
    )
    return sorted(finding.id for finding in examined.findings)


GENERATED = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@GENERATED
@given(programs())
def test_the_same_after_reformatting(tmp_path, text):
    assert found(tmp_path, text) == found(tmp_path, ast.unparse(ast.parse(text)))


@GENERATED
@given(programs(), st.randoms(use_true_random=False))
def test_no_crash_on_a_program_with_a_piece_taken_out(tmp_path, text, chance: random.Random):
    lines = text.split("\n")
    del lines[chance.randrange(8, len(lines))]
    text = "\n".join(lines)
    try:
        ast.parse(text)
    except SyntaxError:
        return
    found(tmp_path, text)


@GENERATED
@given(programs())
def test_the_same_after_its_functions_change_places(tmp_path, text):
    head, setup, rest = text.partition("\ndef setup")
    first, main, last = rest.partition("\ndef main")
    body, start, end = last.partition("\nsetup(1)")
    assert found(tmp_path, text) == found(tmp_path, f"{head}{main}{body}{setup}{first}{start}{end}")


class _Renamed(ast.NodeTransformer):
    names = {"model": "net", "loader": "batches", "loss": "cost", "x": "q"}

    def visit_Name(self, node):
        node.id = self.names.get(node.id, node.id)
        return node


@GENERATED
@given(programs())
def test_the_same_after_variables_get_other_names(tmp_path, text):
    assert not any(keyword.iskeyword(name) for name in _Renamed.names.values())
    tree = ast.parse(text)
    assert found(tmp_path, ast.unparse(tree)) == found(
        tmp_path, ast.unparse(_Renamed().visit(ast.parse(text)))
    )

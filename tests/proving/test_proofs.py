"""How a proof reads: the exception's own lines, the symptom, the difference, how it ended; all of it with -v."""

import importlib
import io
import os
import re
import subprocess
import sys

import msgspec
import pytest
from rich.console import Console

from gpudoctor import explain
from gpudoctor.grounds import Halves
from gpudoctor.interpreter import Patient
from gpudoctor.model import How
from gpudoctor.registry import Registry
from gpudoctor.render.json import encode
from gpudoctor.render.markdown import ticket
from gpudoctor.render.page import page
from gpudoctor.render.proofs import LENGTH, render, said
from gpudoctor.render.terminal import render as render_report
from gpudoctor.report import Proof, ProofStatus

TRACEBACK = "\n".join(
    [f'  File "/site-packages/torch/part{n}.py", line {n}, in run' for n in range(36)]
    + [
        "[rank0]: RuntimeError: tensors have another size: [3] here, [4] there",
        "[rank0]: Parameter indices: 2 3",
    ]
)
LOGGED = "E1122 18:14:16.227000 15513 torch/distributed/elastic/multiprocessing/api.py:836]"
STARS = 41 * "*"
DIFFERENCE = "--- broken.py\n+++ fixed.py\n@@ -1,2 +1,2 @@\n-model(x)\n+model(y)\n"
HELD = Proof(
    id="mine",
    broken=ProofStatus.FAILED_AS_EXPECTED,
    fixed=ProofStatus.PASSED,
    error=TRACEBACK,
    symptom="RuntimeError: tensors have another size: [3] here, [4] there",
    difference=DIFFERENCE,
    torch="2.15.0",
    device="CPU",
    date="2026-11-22",
)


def shown(*proofs, width=80, **options):
    screen = io.StringIO()
    render(proofs, Console(file=screen, width=width, force_terminal=True, color_system=None), **options)
    return screen.getvalue().splitlines()


def test_the_point_comes_first_and_the_diff_is_one():
    rows = [row.strip() for row in shown(HELD)]
    assert rows == [
        "proven  mine",
        "broken.py says",
        "| [rank0]: RuntimeError: tensors have another size: [3] here, [4] there",
        "| [rank0]: Parameter indices: 2 3",
        "the check's own symptom matches there",
        "the fix, as the difference between broken.py and fixed.py:",
        *DIFFERENCE.splitlines(),
        "fixed.py passes, with torch 2.15.0 on the CPU",
        "",
    ]


def test_all_of_it_with_verbose():
    rows = shown(HELD, verbose=True)
    assert sum("site-packages/torch/part" in row for row in rows) == 36


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        ("Traceback\nValueError: bad\n  more\n  of it", ["ValueError: bad", "  more", "  of it"]),
        ("a\nb\nc\nno exception", ["b", "c", "no exception"]),
        ("KeyError: 1\nand then\ntorch.OutOfMemoryError: CUDA", ["torch.OutOfMemoryError: CUDA"]),
        ("", []),
        (
            f"{LOGGED} Traceback:\n{LOGGED} RuntimeError: bad",
            ["RuntimeError: bad"],
        ),
        (
            f"{STARS}\nSetting OMP_NUM_THREADS environment variable for each\n{STARS}\nTimeout (0:00:08)!",
            ["Timeout (0:00:08)!"],
        ),
    ],
)
def test_the_lines_of_the_last_exception(error, lines):
    assert said(msgspec.structs.replace(HELD, error=error)) == lines


def test_a_long_line_is_cut_and_whole_with_verbose():
    long = msgspec.structs.replace(HELD, error="RuntimeError: " + "x" * 900)
    assert len(said(long)[0]) < LENGTH + 5
    assert len(said(long, verbose=True)[0]) > 900


def test_a_wrapped_line_stays_beside_its_bar():
    rows = shown(msgspec.structs.replace(HELD, error="RuntimeError: " + "word " * 30), width=60)
    begin = next(number for number, row in enumerate(rows) if "| RuntimeError" in row)
    assert rows[begin + 1].startswith(" " * 11 + "word")


def test_a_symptom_above_the_exception_is_quoted():
    above = msgspec.structs.replace(HELD, symptom="[W] a warning above it")
    assert "the check's own symptom matches in: [W] a warning above it" in [
        row.strip() for row in shown(above)
    ]


def test_what_did_not_hold_says_so_and_not_that_it_passes():
    failed = msgspec.structs.replace(HELD, fixed=ProofStatus.FAILED, reason="fixed.py: exit status 3")
    rows = [row.strip() for row in shown(failed)]
    assert rows[0] == "failed  mine"
    assert "fixed.py: exit status 3" in rows
    assert not any(row.startswith("fixed.py passes") for row in rows)


def test_what_it_was_shown_on_is_named():
    rows = shown(msgspec.structs.replace(HELD, shown_on="simulated devices"), width=200)
    assert rows[0].strip() == "proven  mine   shown on simulated devices"
    assert rows[-2].strip() == "fixed.py passes, with torch 2.15.0 on the CPU and simulated devices"


def test_a_record_written_from_a_report_holds_nothing_of_this_machine(tmp_path):
    """The maintainers' command reads what ``repro --json`` writes."""
    script = os.path.join(os.path.dirname(__file__), "../proofs/record.py")
    private = msgspec.structs.replace(
        HELD, error='File "/work/me/lib/python3.11/site-packages/torch/a.py"', symptom=""
    )
    report = msgspec.json.encode({"proofs": [private]})
    code = (
        f"import runpy; g = runpy.run_path({script!r}); import pathlib; g['main'].__globals__['RECORDS'] = "
    )
    code += f"pathlib.Path({str(tmp_path / 'records')!r}); g['main']()"
    done = subprocess.run([sys.executable, "-c", code], input=report, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    [written] = (tmp_path / "records").glob("*.json")
    record = msgspec.json.decode(written.read_bytes(), type=Proof)
    assert record.error == 'File "site-packages/torch/a.py"'
    assert (record.torch, record.device, record.date) == ("2.15.0", "CPU", "2026-11-22")


def test_a_redacted_report_is_refused_and_not_recorded():
    script = os.path.join(os.path.dirname(__file__), "../proofs/record.py")
    report = msgspec.json.encode({"facts": {"python": {"executable": "path-1/bin/python"}}})
    done = subprocess.run([sys.executable, script], input=report, capture_output=True, timeout=60)
    assert done.returncode == 1
    [line] = done.stderr.decode().splitlines()
    assert line.endswith("run gpudoctor repro all --json --no-redact")


PORT = "The server socket has failed to listen on any local network address. port: 29500"


def test_every_rendering_says_what_is_known_of_a_fix():
    report = explain(PORT)
    [finding] = report.findings
    assert {fix.known.how for fix in finding.fixes} == {How.SEEN, How.DOCUMENTED, How.LOOKS}
    assert finding.fixes[0].known.by.startswith("torch 2.15.0")
    screen = io.StringIO()
    render_report(report, Console(file=screen, width=300))
    assert "let it choose a free port [seen]" in screen.getvalue()
    assert "  marks  [seen] seen to work, a script fails without it" in screen.getvalue()
    text = ticket(report)
    assert "Seen to work: with torch 2.15.0" in text
    assert "From the documentation: [torchrun](https://docs.pytorch.org/" in text
    assert '"how": "seen to work"' in encode(report)


def test_the_page_names_the_versions_under_which_it_was_run():
    registry = Registry()
    shown = page(registry.check("checkpoint-weights-only"), registry)
    assert re.search(r"Run on \d{4}-\d\d-\d\d with torch 2\.15\S* on the CPU: the symptom matched", shown)
    assert "The same with torch 2.6.0" in shown
    assert "Not with torch 2.0.1+cu117: broken.py passes here" in shown


@pytest.fixture
def torch_versions():
    """The maintainers' command that runs reproductions under other versions of torch, as a module."""
    return importlib.import_module("tests.proofs.torch_versions")


def test_the_versions_run_what_needs_torch_and_nothing_else(torch_versions, tmp_path):
    patient = Patient(sys.executable, "the test")

    def enough(*needs):
        for name in ("broken.py", "fixed.py"):
            (tmp_path / name).write_text("".join(f"# needs: {need}\n" for need in needs))
        return torch_versions.enough(tmp_path, patient)

    assert enough("torch")
    assert enough("torch", "Linux")
    assert not enough()
    assert not enough("torch", "1 GPU")


def test_what_a_version_showed_is_added_in_the_order_of_versions(torch_versions, tmp_path, monkeypatch):
    monkeypatch.setattr(torch_versions, "RECORD", tmp_path / "proofs/versions.json")
    for version in ("2.13.0+cpu", "2.3.1+cu121", "2.0.1+cu117"):
        torch_versions.add(version, "mine", {"broken": "failed-as-expected", "fixed": "passed"})
    written = msgspec.json.decode(torch_versions.RECORD.read_bytes(), type=dict[str, dict[str, Halves]])
    assert list(written["mine"]) == ["2.0.1+cu117", "2.3.1+cu121", "2.13.0+cpu"]
    assert all(halves.held for halves in written["mine"].values())


def test_why_it_did_not_hold_is_recorded_with_the_last_words(torch_versions):
    failed = msgspec.structs.replace(
        HELD,
        broken=ProofStatus.FAILED_OTHERWISE,
        reason="broken.py: exit status 1, without the check's own symptom",
        error="Traceback\nModuleNotFoundError: No module named 'torch.other'",
    )
    assert torch_versions.reason(failed) == (
        "broken.py: exit status 1, without the check's own symptom: ModuleNotFoundError: No module named 'torch.other'"
    )
    assert torch_versions.reason(HELD) == ""

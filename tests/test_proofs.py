"""How a proof reads: the exception's own lines, the symptom, the difference, how it ended; all of it with -v."""

import io
import os
import subprocess
import sys

import msgspec
import pytest
from rich.console import Console

from gpudoctor.render.proofs import LENGTH, render, said
from gpudoctor.report import Proof, ProofStatus

TRACEBACK = "\n".join(
    [f'  File "/site-packages/torch/part{n}.py", line {n}, in run' for n in range(36)]
    + [
        "[rank0]: RuntimeError: tensors have another size: [3] here, [4] there",
        "[rank0]: Parameter indices: 2 3",
    ]
)
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
    ],
)
def test_the_lines_of_the_last_exception(error, lines):
    assert said(msgspec.structs.replace(HELD, error=error)) == lines


def test_a_long_line_is_cut_and_whole_with_verbose():
    long = msgspec.structs.replace(HELD, error="RuntimeError: " + "x" * 900)
    assert len(said(long)[0]) < LENGTH + 5
    assert len(said(long, verbose=True)[0]) > 900


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
    script = os.path.join(os.path.dirname(__file__), "proofs/record.py")
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

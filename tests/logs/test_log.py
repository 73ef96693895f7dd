"""Symptoms in text: what is searched, what is quoted, and what a log adds to the facts."""

import gzip
import io
import json
import os
import subprocess
import sys
import threading
import time

import pytest

from gpudoctor.explain import log
from gpudoctor.explain.log import add_symptoms, read_log
from gpudoctor.explain.symptoms import LINE_MOST, matches, plain
from gpudoctor.model import Report, Role, Severity, Source
from gpudoctor.registry import Registry

CHECKS = Registry().checks()
CPU_BUILD = "AssertionError: Torch not compiled with CUDA enabled"
PREFIX = 'RuntimeError: Unexpected key(s) in state_dict: "module.conv1.weight", "module.conv1.bias".'


def ids(text):
    return [match.check.id for match in matches(text, CHECKS)]


def test_the_order_is_that_of_the_text():
    assert ids(f"{PREFIX}\n{CPU_BUILD}") == ["state-dict-prefix", "torch-cpu-build"]
    assert ids(f"{CPU_BUILD}\n{PREFIX}") == ["torch-cpu-build", "state-dict-prefix"]


def test_the_first_line_of_a_failure_is_quoted_with_its_number_and_groups():
    (match,) = matches(f"epoch 1\n{PREFIX}\n{PREFIX}", CHECKS)
    assert (match.number, match.line) == (2, PREFIX)
    assert match.groups == {"prefix": "module"}


@pytest.mark.parametrize(
    "text",
    [
        f"\x1b[31m{CPU_BUILD}\x1b[0m",
        f"{CPU_BUILD}\r\n",
        f"  3%|#         | 12/400\r  4%|#         | 16/400\r{CPU_BUILD}",
        f"[rank3]: {CPU_BUILD}",
        f"> {CPU_BUILD}",
        f"2026-11-20T08:00:00.123Z {CPU_BUILD}",
        "Torch not compiled \x1b[1mwith CUDA enabled",
    ],
)
def test_colours_progress_bars_and_prefixes_hide_nothing(text):
    assert ids(text) == ["torch-cpu-build"]


def test_a_quoted_line_of_source_is_no_error():
    frame = '  File "/venv/torch/cuda/__init__.py", line 522, in _lazy_init\n'
    assert ids(frame + '    raise AssertionError("Torch not compiled with CUDA enabled")') == []
    assert (
        ids("[rank0]: " + frame + '[rank0]:     raise AssertionError("Torch not compiled with CUDA enabled")')
        == []
    )
    assert ids('  File "<string>", line 1, in <module>\n' + CPU_BUILD) == ["torch-cpu-build"]


def test_a_line_without_end_is_cut():
    assert ids("x" * LINE_MOST + CPU_BUILD) == []
    assert ids("x" * (LINE_MOST - 200) + " " + CPU_BUILD) == ["torch-cpu-build"]


def test_the_first_failure_is_the_cause_and_the_rest_followed():
    report = Report()
    add_symptoms(report, f"[rank1]: {CPU_BUILD}\n[rank0]: {PREFIX}", "train.log", CHECKS)
    first, second = report.findings
    assert (first.id, first.role, first.source) == ("torch-cpu-build", Role.CAUSE, Source.LOG)
    assert (first.evidence[0].where, first.evidence[0].rank) == ("train.log:1", 1)
    assert (second.id, second.role) == ("state-dict-prefix", Role.CONSEQUENCE)
    assert "after torch-cpu-build" in second.message


def test_a_failure_that_the_facts_show_too_gets_the_line_as_evidence():
    check = next(c for c in CHECKS if c.id == "torch-cpu-build")
    report = Report(findings=[check.found("torch 2.13.0+cpu beside a GPU", evidence=["a fact"])])
    add_symptoms(report, CPU_BUILD, "train.log", CHECKS)
    (finding,) = report.findings
    assert finding.message == "torch 2.13.0+cpu beside a GPU"
    assert [e.text for e in finding.evidence] == ["a fact", CPU_BUILD]
    assert finding.source is Source.ENVIRONMENT


def test_a_packed_log_and_a_stream_and_a_pipe_are_read(tmp_path, monkeypatch):
    (tmp_path / "log.gz").write_bytes(gzip.compress(CPU_BUILD.encode()))
    assert read_log(str(tmp_path / "log.gz")) == CPU_BUILD
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CPU_BUILD.encode())))
    assert read_log("-") == CPU_BUILD
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_text, args=(CPU_BUILD,)).start()
    assert read_log(str(pipe)) == CPU_BUILD


def test_of_a_long_log_the_end_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(log, "MOST", 1000)
    text = "start\n" + "x\n" * 5000 + CPU_BUILD
    (tmp_path / "plain").write_text(text)
    (tmp_path / "packed").write_bytes(gzip.compress(text.encode()))
    for name in ("plain", "packed"):
        read = read_log(str(tmp_path / name))
        assert len(read) == 1000
        assert read.endswith(CPU_BUILD)


def test_a_log_of_the_most_that_is_read_takes_seconds():
    line = "2026-11-20 08:00:00 INFO epoch 3 step 1200 loss 0.1234 lr 1e-4 images/s 4321.0 mem 12.3 GB\n"
    text = line * (log.MOST // len(line)) + CPU_BUILD
    begun = time.perf_counter()
    assert ids(text) == ["torch-cpu-build"]
    assert time.perf_counter() - begun < 30


def test_a_damaged_packed_log_is_one_line(tmp_path):
    packed = gzip.compress(CPU_BUILD.encode() * 100)
    (tmp_path / "cut.gz").write_bytes(packed[:-20])
    (tmp_path / "wrong.gz").write_bytes(packed[:20] + b"\xff" * 40)
    for name in ("cut.gz", "wrong.gz"):
        command = [sys.executable, "-m", "gpudoctor", "check", "--only", "launch", "--log", name]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2
        assert len(done.stderr.strip().splitlines()) == 1


def test_plain_text_of_nothing():
    assert plain("") == ""
    assert ids("") == []


def test_a_log_on_the_command_line(tmp_path):
    (tmp_path / "train.log").write_text(f"epoch 1\n{PREFIX}\n")
    command = [
        sys.executable,
        "-m",
        "gpudoctor",
        "check",
        "--only",
        "launch",
        "--only",
        "checkpoint",
        "--json",
        "--log",
    ]
    done = subprocess.run([*command, "train.log"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    report = json.loads(done.stdout)
    (finding,) = [f for f in report["findings"] if f["source"] == "log"]
    assert (finding["id"], finding["severity"]) == ("state-dict-prefix", Severity.ERROR.value)
    assert finding["evidence"][0]["where"] == "train.log:2"
    assert report["verdict"]["primary"] == "state-dict-prefix"

"""The training modes through the command line: they really train, and what they cannot do they say."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import pytest

from gpudoctor.facts import Gpu, Gpus, Launch
from gpudoctor.proofs import default_ranks
from gpudoctor.snapshot import Snapshot
from gpudoctor.training import Training
from tests.warm_python import warm_python

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed here"
)


def repro(*arguments, env=None, python=None):
    """Run it under a Python of its own, or else under one that has torch imported already."""
    ranks = {"PYTHON_EXEC": warm_python()} if python is None else {}
    python = python or warm_python()
    command = [sys.executable, "-m", "gpudoctor", "repro", *arguments, "--json", "--python", str(python)]
    environment = {**os.environ, **ranks, **(env or {})}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


def test_a_marked_line_that_tells_no_event_is_output_like_any_other():
    heard = []
    training = Training("dp", heard.append)
    lines = [b'gpudoctor {"topic": "torch"}', b'{"event": "note", "text": "one GPU"}', b'{"event"', b"[]"]
    for line in lines:
        training.hear(line)
    assert list(training.output) == [line.decode() for line in (lines[0], *lines[2:])]
    assert (heard, training.notes) == ([{"event": "note", "text": "one GPU"}], ["one GPU"])


@needs_torch
@pytest.mark.parametrize("mode", ["single", "dp", "ddp"])
def test_a_mode_trains_and_its_gradients_are_those_of_one_device(mode, gpu_count):
    code, report = repro(mode, *(["--nproc", "2"] if mode == "ddp" else []))
    (proof,) = report["proofs"]
    assert code == 0, proof
    assert proof["fixed"] == "passed"
    assert proof["metrics"]["accuracy"] > 0.95
    assert proof["metrics"]["last loss"] < proof["metrics"]["first loss"] / 2
    difference = proof["metrics"].get("largest relative gradient difference")
    assert difference is None if mode == "single" else 0 < difference < 1e-4
    if mode == "ddp":
        assert proof["metrics"]["parameters equal on all ranks"] is True
        assert "2 ranks" in proof["label"]
    assert report["verdict"]["status"] == "healthy"
    assert report["facts"]["python"]["version"]
    if mode == "dp" and not gpu_count:  # there the wrapper is the bare module
        assert any("silently" in note for note in proof["notes"])
        assert "CPU replicas" in proof["label"]


@needs_torch
def test_a_broken_torchvision_does_not_stop_the_training_and_is_said(tmp_path):
    (tmp_path / "torchvision").mkdir()
    message = "operator torchvision::nms does not exist"
    (tmp_path / "torchvision/__init__.py").write_text(f"raise RuntimeError({message!r})\n")
    code, report = repro("single", env={"PYTHONPATH": str(tmp_path)})
    assert code == 0
    assert any(message in note for note in report["proofs"][0]["notes"])


@needs_torch
def test_what_a_failed_training_says_is_recognised(tmp_path):
    """A patient without torch: the mode fails, and the failure is named with its fix."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    code, report = repro("ddp", python=tmp_path / "env")
    assert code == 1
    assert report["proofs"][0]["fixed"] == "failed"
    assert report["findings"][0]["id"] == "torch-missing"
    assert report["findings"][0]["source"] == "reproduction"
    assert report["verdict"]["primary"] == "torch-missing"


@needs_torch
def test_a_training_that_failed_for_a_ticket_is_explained_too(tmp_path):
    """The facts show the failure, and what the training said is its further evidence."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    options = ["--repro", "single", "--json", "--python", str(tmp_path / "env")]
    done = subprocess.run(
        [sys.executable, "-m", "gpudoctor", "report", *options], capture_output=True, text=True
    )
    assert done.returncode == 1
    report = json.loads(done.stdout)
    (finding,) = [f for f in report["findings"] if f["id"] == "torch-missing"]
    assert any((e["where"] or "").startswith("repro single:") for e in finding["evidence"])
    assert report["proofs"][0]["fixed"] == "failed"


@needs_torch
def test_a_failure_without_a_known_cause_shows_its_last_words():
    """No interface of that name: a real error of gloo that no check knows yet."""
    code, report = repro("ddp", "--nproc", "2", env={"GLOO_SOCKET_IFNAME": "nosuch0"})
    assert code == 1
    assert "nosuch0" in report["proofs"][0]["error"] or "RuntimeError" in report["proofs"][0]["error"]
    assert report["verdict"]["status"] == "broken"


@needs_torch
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root and unshare")
def test_ddp_trains_on_a_machine_whose_name_does_not_resolve():
    """There ``torchrun --standalone`` waits in vain."""
    command = (
        f"hostname nobody-knows-me.invalid && exec {sys.executable} -m gpudoctor repro ddp --nproc 2 --json"
    )
    done = subprocess.run(
        ["unshare", "--uts", "sh", "-c", command], capture_output=True, text=True, timeout=200
    )
    (proof,) = json.loads(done.stdout)["proofs"]
    assert proof["fixed"] == "passed", proof
    assert any("--local_addr" in note for note in proof["notes"])


@needs_torch
def test_a_mode_that_hangs_is_ended_at_its_deadline(tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text("import time\ntime.sleep(300)\n")
    code, report = repro("single", "--timeout", "2", env={"PYTHONPATH": str(tmp_path)}, python=sys.executable)
    assert code == 1
    assert report["proofs"][0]["fixed"] == "timeout"
    assert report["proofs"][0]["seconds"] < 10


@needs_torch
@pytest.mark.parametrize("mode", ["single", "ddp"])
def test_data_that_is_none_is_one_line_and_exit_2(mode, tmp_path):
    code, errors = repro(mode, "--data", str(tmp_path))
    assert code == 2
    assert len(errors.strip().splitlines()) == 1
    assert "train-images-idx3-ubyte" in errors


@pytest.mark.parametrize(
    ("visible", "count", "ranks"),
    [(None, 0, 2), (None, 8, 8), (None, 1, 1), ("0,1", 8, 2), ("", 8, 2), ("-1", 8, 2), ("0,1,2", 2, 2)],
)
def test_one_rank_for_each_gpu_that_is_visible_and_two_without_any(visible, count, ranks):
    variables = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    gpus = Gpus(devices=[Gpu(index=n) for n in range(count)])
    assert default_ranks(Snapshot({"gpus": gpus, "launch": Launch(variables=variables)})) == ranks


@pytest.mark.gpu
def test_dp_on_a_gpu_runs_the_real_wrapper():
    code, report = repro("dp", python=sys.executable)
    assert code == 0, report
    assert report["proofs"][0]["label"].startswith("nn.DataParallel on cuda:0")


@pytest.mark.gpu
def test_ddp_on_a_gpu_runs_over_nccl():
    code, report = repro("ddp", python=sys.executable)
    assert code == 0, report
    assert report["proofs"][0]["label"].endswith("nccl")


@pytest.mark.multigpu
def test_ddp_uses_every_gpu(gpu_count):
    _, report = repro("ddp", python=sys.executable)
    assert f"{gpu_count} ranks" in report["proofs"][0]["label"]

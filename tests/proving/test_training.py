"""The training modes through the command line: they really train, and what they cannot do they say."""

import contextlib
import gzip
import importlib.util
import json
import os
import shutil
import socket
import struct
import subprocess
import sys

import psutil
import pytest

from gpudoctor import prove
from gpudoctor.child import Child
from gpudoctor.facts import Gpu, Gpus, Launch
from gpudoctor.model import Role
from gpudoctor.patient_process import Conversation
from gpudoctor.proving import patience, training
from gpudoctor.proving.proofs import default_ranks
from gpudoctor.proving.training import Training
from gpudoctor.proving.training_script import LAUNCHED, MODES, Choice, training_script
from gpudoctor.report import ProofStatus, Status
from gpudoctor.snapshot import Snapshot
from tests.warm_python import warm_python

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed here"
)


def repro(*arguments, env=None, python=sys.executable):
    command = [sys.executable, "-m", "gpudoctor", "repro", *arguments, "--json", "--python", str(python)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **(env or {})}, timeout=300
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


def test_a_marked_line_that_tells_no_event_is_output_like_any_other():
    heard = []
    training = Training("dp", heard.append)
    conversation = Conversation(Child("dp", [], 1.0), training.hear, aside=training.print)
    lines = [b'gpudoctor {"topic": "torch"}', b'{"event": "note", "text": "one GPU"}', b'{"event"', b"[]"]
    for line in lines:
        conversation.hear(line)
    assert list(training.output) == [line.decode() for line in (lines[0], *lines[2:])]
    assert (heard, training.notes) == ([{"event": "note", "text": "one GPU"}], ["one GPU"])


@pytest.fixture
def warm(monkeypatch):
    """A patient that has imported torch already; torchrun starts its ranks with it."""
    monkeypatch.setenv("PYTHON_EXEC", warm_python())
    return warm_python()


@needs_torch
@pytest.mark.parametrize("mode", MODES)
def test_a_mode_trains_and_computes_what_one_device_does(mode, warm, gpu_count):
    code, report = repro(mode, *(["--nproc", "2"] if mode in LAUNCHED else []), python=warm)
    (proof,) = report["proofs"]
    assert code == 0, proof
    assert proof["fixed"] == "passed"
    metrics = proof["metrics"]
    assert metrics["accuracy"] >= 0.97
    assert metrics["last loss"] < metrics["first loss"] / 2
    for what in ("gradient difference", "parameter difference after a step"):
        difference = metrics.get(f"largest relative {what}")
        assert difference is None if mode == "single" else 0 < difference < (1e-3 if gpu_count else 1e-5)
    if mode != "single":
        assert abs(metrics["accuracy"] - metrics["accuracy after the same batches on one device"]) <= 0.02
        assert any("float32 additions in another order explain up to" in note for note in proof["notes"])
    if mode in LAUNCHED:
        assert metrics["parameters equal on all ranks"] is True
        assert "2 ranks" in proof["label"]
    assert report["verdict"]["status"] == "healthy"
    assert report["facts"]["python"]["version"]
    if mode == "dp" and not gpu_count:  # there the wrapper is the bare module
        assert any("silently" in note for note in proof["notes"])
        assert "CPU replicas" in proof["label"]


def changed(monkeypatch, *replacements):
    """Have trainings run scripts in which texts are replaced."""

    def edited(mode):
        text = training_script(mode)
        for old, new in replacements:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        return text

    monkeypatch.setattr(training, "training_script", edited)


def left_over():
    """The processes that a training of this test's left behind."""
    names = [f"{mode}.py" for mode in MODES]
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if any(word.endswith(tuple(names)) for word in process.cmdline()):
                found.append(process)
    return found


UPDATE = "        for group in self.optimizer.param_groups:"
AFTER_JOINING = 'self.say("joined")'
SLEEPS = "        if self.rank == 1:\n            import time\n            time.sleep(300)\n"


@needs_torch
def test_a_training_that_computes_wrongly_is_silent_corruption(warm, monkeypatch, gpu_count):
    if gpu_count:
        pytest.skip("changes the CPU ranks")
    flip = (
        "        if int(os.environ['RANK']) == 1:\n"
        "            bits = self.network.conv1.weight.grad.view(torch.int32).flatten()\n"
        "            bits[7] ^= 1 << 30\n"
    )
    communicate = "    def communicate(self) -> None:\n        for parameter in"
    changed(monkeypatch, (communicate, communicate.replace("        for", flip + "        for")))
    report = prove("average", python=warm, nproc=2, choice=Choice(epochs=1))
    assert report.proofs[0].fixed is ProofStatus.FAILED
    assert report.verdict.status is Status.BROKEN
    assert report.verdict.primary == "silent-corruption"
    assert "the gradients of the first 5 steps differ" in report.findings[0].message
    assert [finding.id for finding in report.findings] == ["silent-corruption"]


@needs_torch
def test_ranks_that_do_not_meet_are_shown_where_they_stand(monkeypatch, gpu_count):
    if gpu_count:
        pytest.skip("changes the CPU ranks")
    monkeypatch.setattr(patience, "MEETING", 8.0)
    changed(monkeypatch, (AFTER_JOINING, AFTER_JOINING + "\n" + SLEEPS))
    report = prove("average", nproc=3)
    (proof,) = report.proofs
    assert proof.fixed is ProofStatus.TIMEOUT
    assert proof.reason == "the ranks had not met in a first collective 8 s after the first one was ready"
    assert proof.error.startswith("rank 1 stands here (most recent call first):")
    assert (
        "\nranks 0,2 stand here (most recent call first):\n    all_reduce (torch/distributed/" in proof.error
    )
    assert report.verdict.primary == "silent-hang"
    message = report.findings[0].message
    assert message.startswith("ranks 0,2 wait in all_reduce (average.py:")
    assert "rank 1 stands in __init__ (average.py:" in message
    assert left_over() == []


@needs_torch
@pytest.mark.parametrize("mode", ["manual", "ddp"])
def test_a_script_that_was_edited_to_fail_shows_its_last_words(mode, warm, monkeypatch):
    changed(
        monkeypatch,
        (UPDATE, "        self.optimiser.step()\n" + UPDATE)
        if mode == "ddp"
        else ("outputs = replica(", "outputs = replicaa("),
    )
    report = prove(mode, python=warm, nproc=2, choice=Choice(epochs=1))
    assert report.proofs[0].fixed is ProofStatus.FAILED
    assert "Error: " in report.proofs[0].error
    assert len([f for f in report.findings if f.role is Role.CAUSE]) == 1
    assert left_over() == []


@needs_torch
def test_a_rank_that_dies_before_it_prints(monkeypatch, warm, gpu_count):
    if gpu_count:
        pytest.skip("changes the CPU ranks")
    death = (
        "        if os.environ['RANK'] == '1':\n            os.kill(os.getpid(), 9)\n        read_launch()\n"
    )
    changed(monkeypatch, ("        read_launch()\n", death))
    report = prove("average", python=warm, nproc=2)
    assert report.proofs[0].fixed is ProofStatus.FAILED
    assert report.verdict.status is Status.BROKEN
    assert len([f for f in report.findings if f.role is Role.CAUSE]) == 1
    assert left_over() == []


def packed(file):
    file.write_bytes(gzip.compress(file.read_bytes(), 1))


def cut_off(file):
    file.write_bytes(file.read_bytes()[:-1])


def swapped(file):
    labels = file.with_name("train-labels-idx1-ubyte")
    images, numbers = file.read_bytes(), labels.read_bytes()
    file.write_bytes(numbers)
    labels.write_bytes(images)


def only(report, id):
    """Whether this failure, and no other, is what a training ended with."""
    assert report.proofs[0].fixed is ProofStatus.FAILED
    assert [finding.id for finding in report.findings] == [id], report.proofs[0].error
    assert report.verdict.status is Status.BROKEN
    assert report.verdict.primary == id
    assert left_over() == []
    return report.findings[0].message


@needs_torch
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (cut_off, "not a complete IDX file"),
        (packed, "compressed by gzip"),
        (swapped, "images and labels are swapped"),
    ],
)
def test_damaged_data_is_a_finding(damage, words, warm, tmp_path):
    numbers = struct.pack(">2i", 0x801, 2) + bytes(2)
    images = struct.pack(">4i", 0x803, 2, 28, 28) + bytes(2 * 784)
    for part in ("train", "t10k"):
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(images)
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(numbers)
    damage(tmp_path / "train-images-idx3-ubyte")
    report = prove("single", python=warm, choice=Choice(data_dir=str(tmp_path)))
    assert words in only(report, "dataset-missing")


@needs_torch
@pytest.mark.parametrize(
    ("error", "id"),
    [
        ("ModuleNotFoundError(\"No module named 'torchvision'\")", "module-missing"),
        ("RuntimeError('operator torchvision::nms does not exist')", "torchvision-mismatch"),
    ],
)
def test_a_set_that_needs_torchvision_without_it_is_a_finding(error, id, warm, tmp_path, monkeypatch):
    (tmp_path / "torchvision").mkdir()
    (tmp_path / "torchvision/__init__.py").write_text(f"raise {error}\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    only(prove("single", python=warm, choice=Choice(data="cifar10")), id)


@needs_torch
def test_a_torch_that_is_too_old_is_a_finding(warm, monkeypatch):
    changed(monkeypatch, ("OLDEST = 1, 13", "OLDEST = 99, 0"))
    assert "asks for 99.0 or later" in only(prove("dp", python=warm), "torch-too-old")


@needs_torch
@pytest.mark.parametrize("mode", ["manual", "functional", "dp"])
def test_a_batch_smaller_than_the_devices_is_a_finding(mode, warm, gpu_count):
    if gpu_count:
        pytest.skip("two devices need two GPUs")
    only(prove(mode, python=warm, nproc=2, choice=Choice(batch_size=1)), "dp-small-batch")


@needs_torch
def test_a_batch_smaller_than_the_ranks_is_a_finding(warm, gpu_count):
    if gpu_count:
        pytest.skip("two ranks need two GPUs")
    report = prove("average", python=warm, nproc=2, choice=Choice(batch_size=1))
    only(report, "batch-divided-to-zero")
    assert "a batch of 1 for 2 ranks leaves none for each" in report.proofs[0].error


@needs_torch
def test_more_ranks_than_gpus_is_a_finding(warm, monkeypatch, gpu_count):
    if gpu_count:
        pytest.skip("counts no GPUs")
    condition = 'self.backend == "nccl" and self.device.type == "cuda" and '
    changed(monkeypatch, (condition, ""))  # as on GPUs, of which there are 0
    report = prove("ddp", python=warm, nproc=2)
    only(report, "nccl-duplicate-gpu")
    assert "2 ranks for 0 GPU(s)" in report.proofs[0].error


def as_a_task(monkeypatch, **variables):
    """Be the first of two tasks that srun started."""
    for name, value in variables.items():
        monkeypatch.setenv(f"SLURM_{name}", value)


TASK = {"JOB_ID": "4711", "STEP_ID": "3", "PROCID": "0", "NTASKS": "2"}


@needs_torch
def test_variables_of_slurm_that_are_half_set_are_a_finding(warm, monkeypatch):
    as_a_task(monkeypatch, **TASK)
    assert "SLURM_LOCALID" in only(prove("average", python=warm), "slurm-env-missing")


@needs_torch
def test_a_port_that_another_process_holds_is_a_finding(warm, monkeypatch, gpu_count):
    """Under Slurm all tasks compute the same port, and cannot take another one."""
    if gpu_count:
        pytest.skip("two ranks need two GPUs")
    as_a_task(monkeypatch, **TASK, LOCALID="0", NNODES="1", STEP_NODELIST="node1")
    port = 10000 + (4711 * 7 + 3) % 20000
    with socket.socket(socket.AF_INET6) as holder:  # torch listens on both kinds of addresses
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("::", port))
        holder.listen()
        report = prove("ddp", python=warm)
    assert str(port) in only(report, "port-in-use")


@needs_torch
def test_a_broken_torchvision_does_not_stop_the_training_and_is_said(tmp_path):
    (tmp_path / "torchvision").mkdir()
    message = "operator torchvision::nms does not exist"
    (tmp_path / "torchvision/__init__.py").write_text(f"raise RuntimeError({message!r})\n")
    code, report = repro("single", "--epochs", "1", env={"PYTHONPATH": str(tmp_path)})
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
def test_a_failure_without_a_known_cause_shows_its_last_words(warm):
    """No interface of that name: a real error of gloo that no check knows yet."""
    code, report = repro("ddp", "--nproc", "2", env={"GLOO_SOCKET_IFNAME": "nosuch0"}, python=warm)
    assert code == 1
    assert "nosuch0" in report["proofs"][0]["error"] or "RuntimeError" in report["proofs"][0]["error"]
    assert report["verdict"]["status"] == "broken"


@needs_torch
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root and unshare")
def test_ddp_trains_on_a_machine_whose_name_does_not_resolve():
    """There ``torchrun --standalone`` waits in vain."""
    ours = f"{sys.executable} -m gpudoctor repro ddp --nproc 2 --epochs 1 --json"
    command = f"hostname nobody-knows-me.invalid && exec {ours}"
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
    code, report = repro("single", "--timeout", "2", env={"PYTHONPATH": str(tmp_path)})
    assert code == 1
    assert report["proofs"][0]["fixed"] == "timeout"
    assert report["proofs"][0]["seconds"] < 10
    assert report["proofs"][0]["reason"] == "not at its end after 2 s"
    assert report["proofs"][0]["error"].startswith("rank 0 stands here (most recent call first):\n")
    assert "<module> (" in report["proofs"][0]["error"]
    assert report["verdict"]["status"] == "broken"


@needs_torch
@pytest.mark.parametrize("mode", ["single", "ddp"])
def test_data_that_is_none_is_one_line_and_exit_2(mode, warm, tmp_path):
    code, errors = repro(mode, "--data-dir", str(tmp_path), python=warm)
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
    code, report = repro("dp")
    assert code == 0, report
    assert report["proofs"][0]["label"].startswith("nn.DataParallel on cuda:0")


@pytest.mark.gpu
def test_ddp_on_a_gpu_runs_over_nccl():
    code, report = repro("ddp")
    assert code == 0, report
    assert report["proofs"][0]["label"].endswith("nccl")


@pytest.mark.multigpu
def test_ddp_uses_every_gpu(gpu_count):
    _, report = repro("ddp")
    assert f"{gpu_count} ranks" in report["proofs"][0]["label"]

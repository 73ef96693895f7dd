"""Every reproduction is proven here, or stands in a list with the reason, and that list only shrinks."""

import functools
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpudoctor import explain
from gpudoctor.collect import collect
from gpudoctor.facts import Driver, Torch, Torchvision
from gpudoctor.interpreter import Patient
from gpudoctor.model import Check, Severity
from gpudoctor.proving import needs, reproduction
from gpudoctor.proving.needs import makes_namespaces, to_simulate, unmet
from gpudoctor.proving.reproduction import reproduce, run_script
from gpudoctor.proving.scripts import read_script, shown_on
from gpudoctor.registry import Registry
from gpudoctor.report import ProofStatus
from gpudoctor.snapshot import Snapshot
from tests.warm_python import warm_python

REGISTRY = Registry()
RECORDED = Path(__file__).parent.parent / "logs/recorded"
PATIENT = Patient(sys.executable, "the test")
COLD = {
    "cuda-stub-library", "driver-not-loaded", "torch-import-broken", "torch-missing", "torch-shadowed",
    "torchvision-mismatch", "hostname-resolution", "scheduler-ended-job", "shm-too-small", "triton-toolchain",
}  # fmt: skip
"""Those that fail at an import or by a library that is loaded there, for which no interpreter that has imported torch
will do; and those that start themselves again in a namespace, a session or a program of their own, in which its forks
are not."""
IDS = [id for id in REGISTRY.modules if REGISTRY.reproduction(id)]
UNPROVEN = {
    "alloc-conf": "needs 1 GPU",
    "barrier-device-unknown": "needs 1 GPU",
    "batchnorm-not-synced": "needs 2 GPUs",
    "cublas-failure": "needs 1 GPU",
    "cuda-fork": "needs 1 GPU",
    "cuda-graph-capture": "needs 1 GPU",
    "cuda-launch-failure": "needs 1 GPU",
    "cuda-oom": "needs 1 GPU",
    "cuda-visible-devices": "needs 1 GPU",
    "cudnn-failure": "needs 1 GPU",
    "cuda-visible-devices-late": "needs 2 GPUs",
    "ddp-peer-missing": "needs 2 GPUs",
    "device-index-noop": "needs 2 GPUs",
    "device-side-assert": "needs 1 GPU",
    "gpu-arch-unsupported": "needs 1 GPU",
    "gpu-memory-held": "needs 1 GPU",
    "gpu-tensor-to-numpy": "needs 1 GPU",
    "illegal-memory-access": "needs 1 GPU",
    "nccl-duplicate-gpu": "needs 2 GPUs",
    "nccl-net-plugin": "needs 1 GPU",
    "nccl-not-built": "needs CPU build of torch",
    "nccl-out-of-memory": "needs 2 GPUs",
    "nccl-remote-exit": "needs 2 GPUs",
    "nccl-timeout": "needs 2 GPUs",
    "pinned-gpu-tensor": "needs 1 GPU",
    "rank-device-unset": "needs 2 GPUs",
    "slurm-gpu-binding": "needs 1 GPU",
    "sync-in-loop": "needs 1 GPU",
    "torch-cpu-build": "needs CPU build of torch",
}
"""What a machine without a GPU and with the ordinary build of torch cannot show."""
NOT_EVERYWHERE = {
    f"needs {need}"
    for need in (
        "root", "namespaces", "control groups", "no NVIDIA driver", "setsid", "ip", "gcc", "g++", "ninja", "slurmctld",
        "slurmd", "munged",
    )
}  # fmt: skip
"""What a machine on which tests run may lack."""

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed here"
)


@functools.cache
def facts():
    return collect([p for p in REGISTRY.probes if p.name in ("torch", "driver")], warm())


def warm():
    return Patient(warm_python(), "the test")


@pytest.mark.parametrize("id", IDS)
def test_broken_fails_with_the_own_symptom_and_fixed_passes(id, monkeypatch):
    # A header that torch.compile would compile for later kernels, too, takes longer than the one kernel here.
    monkeypatch.setenv("TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS", "0")
    said = []
    monkeypatch.setattr(reproduction, "run_script", lambda *a: said.append(run_script(*a)) or said[-1])
    patient = PATIENT
    if id not in COLD:
        patient = warm()
        monkeypatch.setenv("PYTHON_EXEC", warm_python())  # torchrun starts its ranks with it
    proof = reproduce(REGISTRY.check(id), REGISTRY.reproduction(id), patient, facts())
    if not proof.held and proof.fixed is not ProofStatus.NOT_RUN and patient is not PATIENT:
        # What does not hold in a fork is run again as its line says, as `repro all` does.
        monkeypatch.delenv("PYTHON_EXEC")
        said.clear()
        proof = reproduce(REGISTRY.check(id), REGISTRY.reproduction(id), PATIENT, facts())
    if proof.fixed is ProofStatus.NOT_RUN:
        known = proof.reason in (*NOT_EVERYWHERE, UNPROVEN.get(id))
        assert known, proof.reason
        pytest.skip(str(proof.reason))
    assert proof.held, proof
    assert proof.symptom in proof.error
    assert proof.difference.count("\n@@") >= 1
    # The fix that is shown is short enough to be read.
    assert len([line for line in proof.difference.splitlines() if line[:1] in "+-"]) <= 14
    if said[0].child.command[-1] == "broken.json":
        return  # its failure is the check's own finding, and no log shows it
    # All that broken.py printed explains to its own failure.
    if os.environ.get("GPUDOCTOR_UPDATE"):
        RECORDED.mkdir(exist_ok=True)
        text = (
            said[0]
            .output.replace(sys.prefix, "/venv")
            .replace(str(Path(REGISTRY.reproduction(id)).parent), "/home/user")
        )
        (RECORDED / f"{id}.txt").write_text(re.sub(r"/tmp/\S*?gpudoctor-\w+", "/tmp/run", text))
    told = explain(said[0].output)
    if REGISTRY.check(id).severity is not Severity.ERROR:  # a lesser one is told, and never is the cause
        assert id in [finding.id for finding in told.findings]
        assert told.verdict.primary in (None, "child-failed", id)
    else:
        assert told.verdict.primary == id


def test_a_reproduction_leaves_nothing_behind(tmp_path):
    before = set(os.listdir("/dev/shm")) | set(os.listdir(tmp_path))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [
        sys.executable,
        "-m",
        "gpudoctor",
        "repro",
        "state-dict-prefix",
        "--json",
        "--python",
        warm_python(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["proofs"][0]["broken"] == "failed-as-expected"
    for _ in range(100):  # tests that run beside this one may have semaphores there for a moment
        left = (set(os.listdir("/dev/shm")) | set(os.listdir(tmp_path))) - before
        if not left:
            break
        time.sleep(0.2)
    assert left == set()


def made(tmp_path, broken, fixed="", header="# run: python {}\n"):
    folder = tmp_path / "reproductions" / "mine"
    folder.mkdir(parents=True)
    for name, text in (("broken.py", broken), ("fixed.py", fixed)):
        (folder / name).write_text(header.format(name) + text)
    check = Check(severity=Severity.ERROR, symptoms=[r"my own symptom (?P<number>\d+)"])
    check.describe(id="mine", family="launch", docstring="Mine")
    return check, folder


SYMPTOM = "import sys\nsys.exit('my own symptom 7')\n"


def test_a_proof_needs_the_checks_own_symptom(tmp_path):
    proof = reproduce(*made(tmp_path, "raise SystemExit('something else')"), PATIENT, Snapshot())
    assert proof.broken is ProofStatus.FAILED_OTHERWISE
    assert not proof.held
    assert "something else" in proof.error


def test_a_quoted_line_of_source_is_no_symptom(tmp_path):
    source = "def f():\n    return 1 / 0  # my own symptom 7\nf()\n"
    assert reproduce(*made(tmp_path, source), PATIENT, Snapshot()).broken is ProofStatus.FAILED_OTHERWISE


def test_broken_that_passes_is_no_proof(tmp_path):
    proof = reproduce(*made(tmp_path, "print('my own symptom 7')"), PATIENT, Snapshot())
    assert proof.broken is ProofStatus.PASSED
    assert not proof.held


def test_fixed_that_fails_is_no_proof(tmp_path):
    proof = reproduce(*made(tmp_path, SYMPTOM, "raise SystemExit(3)"), PATIENT, Snapshot())
    assert (proof.broken, proof.fixed) == (ProofStatus.FAILED_AS_EXPECTED, ProofStatus.FAILED)
    assert "exit status 3" in proof.reason


def test_a_script_that_hangs_is_ended(tmp_path):
    proof = reproduce(*made(tmp_path, "import time\ntime.sleep(300)"), PATIENT, Snapshot(), deadline=1.0)
    assert proof.broken is ProofStatus.TIMEOUT
    assert proof.seconds < 10


def test_the_proof_of_a_good_reproduction(tmp_path):
    proof = reproduce(*made(tmp_path, SYMPTOM, "print('fine')\n"), PATIENT, Snapshot())
    assert proof.held
    assert proof.symptom == "my own symptom 7"
    assert "-sys.exit('my own symptom 7')" in proof.difference
    assert "# run:" not in "".join(re.findall(r"^[+-].*", proof.difference, re.MULTILINE))


def test_the_run_line_decides_how_a_script_is_started(tmp_path):
    _, folder = made(
        tmp_path, "", header="# run: torchrun --standalone --nproc-per-node=2 {}\n# needs: 2 GPUs\n"
    )
    script = read_script(folder / "broken.py", PATIENT)
    assert script.command == [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "broken.py",
    ]  # fmt: skip
    assert script.needs == ["2 GPUs"]


TORCH = {"imported": True, "version": "2.15.0+cu132", "cuda": "13.2"}


@pytest.mark.parametrize(
    ("need", "facts", "reason"),
    [
        ("torch", {}, "needs torch"),
        ("torch", {"torch": Torch(**TORCH)}, None),
        ("1 GPU", {"torch": Torch(**TORCH, cuda_available=False, device_count=0)}, "needs 1 GPU"),
        ("1 GPU", {"torch": Torch(**TORCH, cuda_available=True, device_count=1)}, None),
        ("2 GPUs", {"torch": Torch(**TORCH, cuda_available=True, device_count=1)}, "needs 2 GPUs"),
        ("CPU build of torch", {"torch": Torch(**TORCH)}, "needs CPU build of torch"),
        ("CPU build of torch", {"torch": Torch(imported=True, version="2.13.0+cpu")}, None),
        ("CUDA build of torch", {"torch": Torch(**TORCH)}, None),
        ("no NVIDIA driver", {"driver": Driver()}, None),
        ("no NVIDIA driver", {"driver": Driver(version="580.82.07")}, "needs no NVIDIA driver"),
        ("no NVIDIA driver", {}, "needs no NVIDIA driver"),
        ("torchvision", {"torch": Torch(**TORCH), "torchvision": Torchvision()}, "needs torchvision"),
        ("torchvision", {"torch": Torch(**TORCH), "torchvision": Torchvision(version="0.29.2")}, None),
    ],
)
def test_what_a_script_needs_is_compared_with_the_facts(need, facts, reason):
    assert unmet([need], Snapshot(facts)) == reason


def test_namespaces_are_tried_not_assumed(monkeypatch):
    monkeypatch.setattr(needs.os, "geteuid", lambda: 0)
    assert unmet(["root"], Snapshot()) is None
    makes_namespaces.cache_clear()
    monkeypatch.setenv("PATH", "/nowhere")  # no unshare
    assert unmet(["root", "namespaces"], Snapshot()) == "needs namespaces"
    makes_namespaces.cache_clear()


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "needs control groups"),
        ({"memory/x": "", "pids/x": ""}, None),
        ({"cgroup.subtree_control": "cpu memory pids"}, None),
        ({"cgroup.subtree_control": "cpu"}, "needs control groups"),
    ],
)
def test_control_groups_of_both_versions(tmp_path, monkeypatch, files, reason):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(needs, "CONTROLLERS", tmp_path)
    assert unmet(["control groups"], Snapshot()) == reason


STATE = """import os, sys
os.environ["OMP_NUM_THREADS"] = "{}"
os.execvp(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.parametrize(("fixed", "held"), [("1", True), ("many", False)])
def test_a_check_that_no_log_shows_is_seen_in_the_state_that_a_script_makes(tmp_path, fixed, held):
    header = "# run: python {} gpudoctor check --only omp-threads\n"
    _, folder = made(tmp_path, STATE.format("0"), STATE.format(fixed), header)
    proof = reproduce(REGISTRY.check("omp-threads"), folder, PATIENT, Snapshot())
    assert proof.held is held
    assert "OMP_NUM_THREADS=0 is no number of threads" in proof.symptom
    assert held or "OMP_NUM_THREADS=many" in proof.reason


def test_a_state_in_which_check_cannot_run_is_no_proof(tmp_path):
    header = "# run: python {} gpudoctor check --only omp-threads\n"
    _, folder = made(tmp_path, "raise SystemExit(7)", STATE.format("1"), header)
    proof = reproduce(REGISTRY.check("omp-threads"), folder, PATIENT, Snapshot())
    assert proof.broken is ProofStatus.FAILED_OTHERWISE
    assert "exit status 7, and there is no report" in proof.reason


def test_what_it_was_shown_on_stands_in_the_proof(tmp_path):
    header = "# run: python {}\n# shown on: a stand-in for the NVIDIA driver\n"
    proof = reproduce(*made(tmp_path, SYMPTOM, "print('fine')\n", header), PATIENT, Snapshot())
    assert proof.shown_on == "a stand-in for the NVIDIA driver"


@pytest.mark.parametrize(
    ("gpus", "simulated", "reason"),
    [(0, 2, None), (1, 2, None), (2, 0, None), (None, 2, "needs 2 GPUs or simulated ones")],
)
def test_gpus_are_simulated_where_a_script_allows_it_and_there_are_too_few(gpus, simulated, reason):
    machine = Torch(**TORCH, cuda_available=bool(gpus), device_count=gpus)
    facts = Snapshot({} if gpus is None else {"torch": machine})
    asked = ["torch", "2 GPUs or simulated ones"]
    assert to_simulate(asked, facts) == simulated
    assert unmet(asked[1:], facts) == reason
    assert to_simulate(["2 GPUs"], facts) == 0


def test_a_proof_on_simulated_gpus_says_so(tmp_path):
    header = "# run: python {}\n# needs: torch\n# needs: 2 GPUs or simulated ones\n"
    script = "import torch\nprint(torch.ones(2, device='cuda:1').device)\n"
    scripts = made(tmp_path, script + "raise SystemExit('my own symptom 7')", script, header)
    machine = Torch(**TORCH, cuda_available=False, device_count=0)
    patient = Patient(warm_python(), "the test")
    proof = reproduce(*scripts, patient, Snapshot({"torch": machine}))
    assert proof.held, proof
    assert "my own symptom 7" in proof.error
    assert proof.shown_on == proof.device == "simulated GPUs"
    assert shown_on(header) == "simulated GPUs, where there are no real ones"


def test_the_script_that_is_printed_is_the_script_that_runs():
    command = [sys.executable, "-m", "gpudoctor", "repro", "port-in-use", "--script"]
    printed = subprocess.run(command, capture_output=True, text=True).stdout
    assert printed == Path(REGISTRY.reproduction("port-in-use"), "broken.py").read_text()


def test_a_reproduction_offers_the_command_that_mends_a_file():
    id = "state-dict-prefix"
    proof = reproduce(REGISTRY.check(id), REGISTRY.reproduction(id), warm(), facts())
    assert any(
        "gpudoctor checkpoint fix model.pt -o mended.pt --strip-prefix module." in note
        for note in proof.notes
    )

"""The modes of a process for each rank under a real srun, on one node and on two."""

import json
import subprocess
import sys

import pytest

from gpudoctor.proving.training_script import LAUNCHED
from tests.late_import import late_import
from tests.slurm_cluster import missing, slurm
from tests.warm_python import warm_python

late_import("torch")
pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))
FEW = ("--epochs", "1", "--batch-size", "100")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with slurm(tmp_path_factory.mktemp("slurm"), nodes=2) as environment:
        yield environment


def srun(environment, options, command):
    return subprocess.run(
        ["srun", *options, *command], env=environment, capture_output=True, text=True, timeout=200
    )


@pytest.mark.parametrize(("mode", "nodes"), [("ddp", 1), ("average", 2)])
def test_each_task_is_a_rank_and_the_first_one_reports(cluster, mode, nodes, tmp_path, gpu_count):
    if gpu_count:
        pytest.skip("two tasks and two nodes on one machine: NCCL takes one rank for each GPU")
    command = [sys.executable, "-m", "gpudoctor", "repro", mode, *FEW, "--json"]
    if nodes == 1:
        command += ["--python", warm_python()]
    else:  # whose names only these processes know
        (tmp_path / "hosts").write_text("127.0.0.1 localhost n0 n1\n")
        bind = f"mount --bind {tmp_path}/hosts /etc/hosts"
        command = ["unshare", "--mount", "sh", "-c", f'{bind} && exec "$@"', "sh", *command]
    done = srun(cluster, [f"--nodes={nodes}", "--ntasks=2"], command)
    assert done.returncode == 0, done.stderr + done.stdout
    report = json.loads(done.stdout)  # one report, though there are two tasks
    (proof,) = report["proofs"]
    assert proof["fixed"] == "passed", proof
    assert "2 ranks" in proof["label"]
    assert proof["metrics"]["parameters equal on all ranks"] is True
    assert 0 < proof["metrics"]["largest relative gradient difference"] < 1e-5


@pytest.mark.parametrize("mode", LAUNCHED)
def test_half_of_slurms_variables_is_a_finding(cluster, mode):
    command = ["env", "-u", "SLURM_NTASKS", sys.executable, "-m", "gpudoctor", "repro", mode, "--json"]
    done = srun(cluster, ["--ntasks=1"], [*command, "--python", warm_python()])
    assert done.returncode != 0
    report = json.loads(done.stdout)
    assert [finding["id"] for finding in report["findings"]] == ["slurm-env-missing"]
    assert report["verdict"]["primary"] == "slurm-env-missing"
    assert "KeyError: 'SLURM_NTASKS': Slurm's variables are half set" in report["proofs"][0]["error"]

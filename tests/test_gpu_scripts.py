"""The repaired halves of reproductions that need a GPU, run on the CPU as far as that goes."""

import importlib.util
import os
import re
import subprocess
from pathlib import Path

import pytest

from gpudoctor.interpreter import Patient
from gpudoctor.proving.scripts import read_script
from tests.warm_python import warm_python

FOLDER = Path(__file__).parent.parent / "checks/reproductions"
REAL = re.compile(r"^# needs: \d GPUs?$", re.MULTILINE)
ON_THE_CPU = {
    r'torch\.device\("cuda"[^)]*\)\)?$': 'torch.device("cpu")',
    r'"cuda(:\d)?"': '"cpu"',
    r'"nccl", device_id=device': '"gloo"',
    r'"nccl"': '"gloo"',
    r"\.cuda\(\)": ".cpu()",
    r", device_ids=\[local_rank\]": "",
    r"^ *torch\.cuda\.set_(device|sync_debug_mode)\(.*\n": "",
    # they wait, and send 1 GiB, for a time-out or a broken connection that is not there without NCCL
    r"time\.sleep\(12\)": "time.sleep(0.1)",
    r"1 << 28": "1 << 8",
}
ON_A_GPU_ALONE = {
    "batchnorm-not-synced": "SyncBatchNorm works on GPUs only",
    "cublas-failure": "fills the GPU's memory",
    "cuda-graph-capture": "the CPU has no graphs to capture",
    "cuda-launch-failure": "Triton's kernel needs a driver",
    "cuda-visible-devices-late": "counts GPUs",
    "cudnn-failure": "fills the GPU's memory",
    "device-index-noop": "chooses a GPU",
    "gpu-arch-unsupported": "compiles for the GPU that is there",
    "gpu-memory-held": "fills the GPU's memory",
    "illegal-memory-access": "Triton's kernel needs a driver",
    "nccl-out-of-memory": "fills the GPU's memory",
    "rank-device-unset": "looks which GPU a rank uses",
    "slurm-gpu-binding": "counts GPUs",
}
IDS = [path.parent.name for path in FOLDER.glob("*/fixed.py") if REAL.search(path.read_text())]


def test_at_least_25_failures_have_scripts_for_gpus():
    assert len(IDS) >= 25
    assert set(IDS) >= ON_A_GPU_ALONE.keys()


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed here")
@pytest.mark.parametrize("id", sorted(set(IDS) - ON_A_GPU_ALONE.keys()))
def test_the_repaired_half_runs_on_the_cpu(id, tmp_path):
    text = (FOLDER / id / "fixed.py").read_text()
    for gpu, cpu in ON_THE_CPU.items():
        text = re.sub(gpu, cpu, text, flags=re.MULTILINE)
    (tmp_path / "fixed.py").write_text(text)
    script = read_script(tmp_path / "fixed.py", Patient(warm_python(), "the test"))
    environment = {**os.environ, "PYTHON_EXEC": warm_python(), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        script.command, cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "it says nothing of what it did"


def test_every_half_for_gpus_is_python_that_compiles():
    for id in IDS:
        for name in ("broken.py", "fixed.py"):
            compile((FOLDER / id / name).read_text(), f"{id}/{name}", "exec")

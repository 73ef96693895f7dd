"""Every environment variable that gpudoctor prints is one that something reads."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import printed
import shell

HERE = Path(__file__).parent
# The installed libraries lie beside this one.
SITE = Path(importlib.util.find_spec("msgspec").origin).parent.parent
VARIABLES = json.loads((HERE / "variables.json").read_text())
PREFIXES = (
    "CUDA|CUDNN|GLOO|HF|KMP|MKL|NCCL|NVIDIA|OMP|OMPI|PYTORCH|SBATCH|SLURM|SRUN|TORCH[A-Z]*|TP|TRITON|UCX"
)
VARIABLE = re.compile(rf"(?<![\w/.])(?:{PREFIXES})_[A-Z0-9_]*[A-Z0-9](?![\w*/…]|_…)")
# A digit: the place of a name that a check puts there.
NOT_A_VARIABLE = re.compile(r"CUDA_ERROR_|CUDNN_STATUS_|\d")


def names_printed():
    found = {}
    for text in printed.shell_texts():
        found |= dict.fromkeys(shell.variables(text.text), text.where)
    for text in printed.python_texts():
        for name in re.findall(r"os\.environ(?:\[|\.get\(|\.setdefault\()[\"'](\w+)", text.text):
            found[name] = text.where
    for module in printed.modules():
        page = (ast.get_docstring(module.tree) or "") if module.where.startswith("checks") else ""
        found |= dict.fromkeys(VARIABLE.findall(page), f"{module.where}: page")
    return {name: where for name, where in found.items() if not NOT_A_VARIABLE.match(name)}


def test_are_in_the_list_and_the_list_holds_no_other():
    listed = [name for names in VARIABLES.values() for name in names]
    found = names_printed()
    assert {name: where for name, where in found.items() if name not in listed} == {}
    assert set(listed) == found.keys()
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize(
    "beginning, place, only",
    [("torch ", "torch", ["--include=*.py"]), ("NCCL ", "nvidia/nccl/lib/libnccl.so.2", [])],
)
def test_the_installed_libraries_read_them(beginning, place, only):
    sources = [source for source in VARIABLES if source.startswith(beginning) and ".so," not in source]
    names = [name for source in sources for name in VARIABLES[source]]
    if not (SITE / place).exists():
        pytest.skip(f"{place} is not installed beside gpudoctor")
    command = ["grep", "-r", "-a", "-o", "-h", "-w", "-F", *only, "-f", "-", str(SITE / place)]
    done = subprocess.run(
        command, input="\n".join(names), capture_output=True, text=True, env={"LC_ALL": "C"}
    )
    assert set(done.stdout.split()) == set(names)

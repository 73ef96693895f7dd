"""What to say of a text in which no fact is: which command's output it is, where that is known, and what to paste."""

import re

_READ = (
    "neither a gpudoctor report nor collect_env output (torch's, vLLM's, DeepSpeed's, Lightning's, transformers' …), "
    "nor that of nvidia-smi (also -q, -L, topo -m, nvlink -s), lspci, dmesg, ip, ibstat, df, ulimit -a, ps, env, pip, "
    "conda, sinfo, kubectl describe or NCCL_DEBUG=INFO, and no words of a failure that a machine shows"
)
_AMD = "shows AMD GPUs, which gpudoctor does not examine: of them it reads lspci, and torch's collect_env"
_KNOWN = [
    (
        re.compile(r"Cuda compilation tools, release \d|^nvcc: NVIDIA", re.MULTILINE),
        "nvcc --version",
        (
            "tells which toolkit compiles, while torch brings a CUDA of its own: paste nvidia-smi, and the output of "
            "python -m torch.utils.collect_env"
        ),
    ),
    (re.compile(r"ROCm System Management Interface|ROCm SMI|amdgpu not found in modules"), "rocm-smi", _AMD),
    (re.compile(r"^\| AMD-SMI ", re.MULTILINE), "amd-smi", _AMD),
    (re.compile(r"^HSA (?:System Attributes|Agents)", re.MULTILINE), "rocminfo", _AMD),
    (
        re.compile(r"^ *JOBID +PARTITION", re.MULTILINE),
        "squeue",
        "shows jobs, and not why a node takes none: paste sinfo -R, scontrol show node, or scontrol show job",
    ),
    (
        re.compile(r"^ *total +used +free +shared", re.MULTILINE),
        "free",
        "has numbers without a unit: paste free -h",
    ),
    (
        re.compile(r"^NAME +READY +STATUS +RESTARTS|^NAME +STATUS +ROLES +AGE", re.MULTILINE),
        "kubectl get",
        "shows no reason: paste kubectl describe pod, or kubectl describe node",
    ),
]
_LOOKED_AT = 200_000


def why(text: str) -> str:
    """Return why there are no facts in one line."""
    head = text[:_LOOKED_AT]
    return next((f"{name} {told}" for sign, name, told in _KNOWN if sign.search(head)), _READ)

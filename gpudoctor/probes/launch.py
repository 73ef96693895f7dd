"""Read the launch variables: an allow-list of names."""

import os
import re

from gpudoctor.facts import Launch

ALLOWED = re.compile(
    r"(CUDA|NCCL|TORCH|PYTORCH|GLOO|MASTER|LOCAL|GROUP|ROLE|SLURM|TORCHELASTIC)_\w+"
    r"|TORCH\w*|NVIDIA_VISIBLE_DEVICES|OMP_NUM_THREADS|RANK|WORLD_SIZE|KUBERNETES_SERVICE_HOST"
    r"|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH"
)

# SLURM_JWT, for one, is a key to the whole cluster.
SECRET = re.compile(r"(?:^|_)(JWT|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|API_?KEY|ACCESS_?KEY)(?:_|$)")


def probe() -> Launch:
    """Copy the allowed variables; nothing else of the environment is read."""
    names = [name for name in sorted(os.environ) if ALLOWED.fullmatch(name) and not SECRET.search(name)]
    return Launch(variables={name: os.environ[name] for name in names})

"""How this launch is set up: the environment variables that training reads."""

import re
from collections.abc import Mapping

from msgspec import Struct

ALLOWED = re.compile(
    r"(CUDA|NCCL|TORCH|PYTORCH|GLOO|MASTER|LOCAL|GROUP|ROLE|SLURM|TORCHELASTIC)_\w+"
    # misspelt, as people do: such a name is read by nobody, and that is what is looked for
    r"|(NCLL|NNCL|NCC|NCL|NCCCL|TROCH|PTORCH)_\w+"
    # debugging that stays on, and what plug-ins of NCCL read
    r"|(CUDNN|CUBLAS|CUBLASLT|NSIGHT|OFI_NCCL|FI|UCX|RCCL|KMP|NVTE)_\w+|(COMPUTE|OPENCL)_PROFILE|LD_DEBUG"
    r"|MALLOC_(CHECK|PERTURB)_|PYTHON(DEVMODE|MALLOC|TRACEMALLOC|ASYNCIODEBUG)|NVIDIA_TF32_OVERRIDE|USE_LIBUV"
    r"|TORCH\w*|NVIDIA_VISIBLE_DEVICES|OMP_\w+|MKL_\w+|RANK|WORLD_SIZE|KUBERNETES_SERVICE_HOST"
    r"|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH"
)
# SLURM_JWT, for one, is a key to the whole cluster, and NCCL_PSK the one that encrypts NCCL's traffic.
SECRET = re.compile(r"(?:^|_)(JWT|TOKEN|SECRET|PASSWORD|PASSWD|PSK|CREDENTIALS?|API_?KEY|ACCESS_?KEY)(?:_|$)")


class Launch(Struct, frozen=True, kw_only=True):
    """Launch variables, by an allow-list of names; nothing else of the environment is ever read."""

    variables: dict[str, str] = {}

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Launch":
        """Return the allowed variables of an environment, by name; none whose name is that of a secret."""
        names = (name for name in sorted(environment) if ALLOWED.fullmatch(name) and not SECRET.search(name))
        return cls(variables={name: environment[name] for name in names})

    def number(self, name: str) -> int | None:
        """Return a variable as a whole number; ``None`` when it is unset or not one."""
        text = self.variables.get(name, "").strip()
        return int(text) if text.lstrip("-").isdecimal() and text.isascii() and text.count("-") <= 1 else None

    @property
    def master_port(self) -> int | None:
        """MASTER_PORT as a port number; ``None`` when it is unset or not one."""
        port = self.number("MASTER_PORT")
        return port if port is not None and 0 <= port <= 65535 else None

    @property
    def nodes(self) -> int | None:
        """How many nodes this launch spans; ``None`` when nothing says so."""
        for name in ("GROUP_WORLD_SIZE", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"):
            if (count := self.number(name)) is not None:
                return count
        world, local = self.number("WORLD_SIZE"), self.number("LOCAL_WORLD_SIZE")
        return -(-world // local) if world and local and local > 0 else None

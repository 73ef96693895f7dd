"""How this launch is set up: the environment variables that training reads."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from gpudoctor.patterns import late_pattern

ALLOWED = late_pattern(
    r"(CUDA|NCCL|TORCH|PYTORCH|GLOO|MASTER|LOCAL|GROUP|ROLE|SLURM|TORCHELASTIC|PET)_\w+"
    # misspelt, as people do: such a name is read by nobody, and that is what is looked for
    r"|(NCLL|NNCL|NCC|NCL|NCCCL|TROCH|PTORCH)_\w+"
    # debugging that stays on, and what plug-ins of NCCL read
    r"|(CUDNN|CUBLAS|CUBLASLT|NSIGHT|OFI_NCCL|FI|UCX|RCCL|KMP|NVTE)_\w+|(COMPUTE|OPENCL)_PROFILE|LD_DEBUG"
    r"|MALLOC_(CHECK|PERTURB)_|PYTHON(DEVMODE|MALLOC|TRACEMALLOC|ASYNCIODEBUG)|NVIDIA_TF32_OVERRIDE|USE_LIBUV"
    r"|TORCH\w*|NVIDIA_VISIBLE_DEVICES|OMP_\w+|MKL_\w+|RANK|WORLD_SIZE|KUBERNETES_SERVICE_HOST"
    r"|(OMPI_COMM_WORLD|MV2_COMM_WORLD|JSM_NAMESPACE)_(RANK|SIZE|LOCAL_RANK|LOCAL_SIZE)"
    r"|PMI_(RANK|SIZE)|MPI_LOCAL(RANKID|NRANKS)"
    r"|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH|PYTHONHOME"
)
# SLURM_JWT, for one, is a key to the whole cluster, and NCCL_PSK the one that encrypts NCCL's traffic.
SECRET = late_pattern(
    r"(?:^|_)(JWT|TOKEN|SECRET|PASSWORD|PASSWD|PSK|CREDENTIALS?|API_?KEY|ACCESS_?KEY)(?:_|$)"
)


class MpiNames(NamedTuple):
    """The variables by which an MPI tells each process which one it is."""

    rank: str
    size: str
    local_rank: str
    local_size: str


# Open MPI, MVAPICH, IBM's jsrun; MPICH and Intel MPI by their Hydra, whose first two srun sets, too (--mpi=pmi2).
MPIS = (
    *(
        MpiNames(*(f"{front}_{name}" for name in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")))
        for front in ("OMPI_COMM_WORLD", "MV2_COMM_WORLD", "JSM_NAMESPACE")
    ),
    MpiNames("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
)


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
    def wants_no_gpu(self) -> bool:
        """Whether this is a container that was asked to have no GPU (``none``: the driver's libraries alone)."""
        return self.variables.get("NVIDIA_VISIBLE_DEVICES") in ("void", "none")

    @property
    def master_port(self) -> int | None:
        """MASTER_PORT as a port number; ``None`` when it is unset or not one."""
        port = self.number("MASTER_PORT")
        return port if port is not None and 0 <= port <= 65535 else None

    @property
    def nodes(self) -> int | None:
        """How many nodes this launch spans; ``None`` when nothing says so."""
        for name in ("GROUP_WORLD_SIZE", "PET_NNODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"):
            if (count := self.number(name)) is not None:
                return count
        world, local = self.number("WORLD_SIZE"), self.number("LOCAL_WORLD_SIZE")
        return -(-world // local) if world and local and local > 0 else None

    @property
    def torchrun(self) -> bool:
        """Whether torchrun, or what else is made of torch's elastic agent, started this process."""
        return "TORCHELASTIC_RUN_ID" in self.variables

    @property
    def slurm_task(self) -> bool:
        """Whether srun started this process, or what it descends from, and not the batch script alone.

        In a batch script SLURM_PROCID and SLURM_LOCALID are 0, and no step is named.
        """
        if any(name in self.variables for name in ("SLURM_STEP_ID", "SLURM_STEPID", "SLURM_STEP_NUM_TASKS")):
            return True
        return any((self.number(name) or 0) > 0 for name in ("SLURM_PROCID", "SLURM_LOCALID"))

    @property
    def slurm_tasks(self) -> int | None:
        """How many tasks this Slurm step has; ``None`` outside of one."""
        for name in ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"):
            if self.slurm_task and (count := self.number(name)) is not None:
                return count
        return None

    @property
    def slurm_tasks_here(self) -> int | None:
        """How many tasks of this Slurm step are on this node; ``None`` outside of one, or where nothing says so."""
        if not self.slurm_task:
            return None
        for name in ("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"):
            counts = _per_node(self.variables.get(name, ""))
            node = self.number("SLURM_NODEID") or 0
            if 0 <= node < len(counts):
                return counts[node]
        return self.number("SLURM_NTASKS_PER_NODE")

    @property
    def mpi(self) -> MpiNames | None:
        """The names of the MPI that started this process; ``None`` where none did."""
        return next((names for names in MPIS if self.number(names.size) is not None), None)

    @property
    def ranks_here(self) -> int | None:
        """How many ranks the launch has on this node; ``None`` where this is no launch, or nothing says so."""
        local = self.number("LOCAL_WORLD_SIZE")
        if local is not None and local > 0:
            return local
        return self.slurm_tasks_here


def _per_node(text: str) -> list[int]:
    """Return Slurm's ``8(x2),4`` as 8, 8, 4; nothing where it is something else (sbatch(1): SLURM_TASKS_PER_NODE)."""
    counts: list[int] = []
    for part in text.split(",") if text else []:
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part.strip())
        if match is None or int(match[2] or 1) > 100_000:
            return []
        counts += [int(match[1])] * int(match[2] or 1)
    return counts

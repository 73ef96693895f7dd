"""What environment variables, options and names hold: the rank, the local rank, the world size."""

import functools
import re

from msgspec.structs import replace

from gpudoctor.facts import Known, Value

VARIABLES = {
    "RANK": Known.RANK,
    "LOCAL_RANK": Known.LOCAL_RANK,
    "GROUP_RANK": Known.NODE_RANK,
    "NODE_RANK": Known.NODE_RANK,
    "WORLD_SIZE": Known.WORLD_SIZE,
    "SLURM_PROCID": Known.RANK,
    "SLURM_LOCALID": Known.LOCAL_RANK,
    "SLURM_NODEID": Known.NODE_RANK,
    "SLURM_NTASKS": Known.WORLD_SIZE,
    "SLURM_NPROCS": Known.WORLD_SIZE,
    "OMPI_COMM_WORLD_RANK": Known.RANK,
    "OMPI_COMM_WORLD_LOCAL_RANK": Known.LOCAL_RANK,
    "OMPI_COMM_WORLD_SIZE": Known.WORLD_SIZE,
    "PMI_RANK": Known.RANK,
    "PMI_SIZE": Known.WORLD_SIZE,
}
"""Set per process by torchrun (torch.distributed.run's documentation), srun and mpirun."""

NAMES = {
    "rank": Known.RANK,
    "global_rank": Known.RANK,
    "world_rank": Known.RANK,
    "ddp_rank": Known.RANK,
    "dist_rank": Known.RANK,
    "globalrank": Known.RANK,
    "my_rank": Known.RANK,
    "rank_id": Known.RANK,
    "proc_rank": Known.RANK,
    "mpi_rank": Known.RANK,
    "process_index": Known.RANK,
    "local_rank": Known.LOCAL_RANK,
    "ddp_local_rank": Known.LOCAL_RANK,
    "localrank": Known.LOCAL_RANK,
    "local_rank_id": Known.LOCAL_RANK,
    "local_process_index": Known.LOCAL_RANK,
    "node_rank": Known.NODE_RANK,
    "world_size": Known.WORLD_SIZE,
    "ddp_world_size": Known.WORLD_SIZE,
    "dist_world_size": Known.WORLD_SIZE,
    "worldsize": Known.WORLD_SIZE,
}
"""Options, attributes and parameters that are called after what they hold."""


TEXT = Value(text="text")
"""Among the items of a rank or a world size: it is a text still, as the environment holds it."""


MAIN = re.compile(
    r"is_(?:local_|global_)?(?:main|master|chief|primary|root|leader)(?:_(?:process|rank|proc|node|worker))?|(?:main|master)_process"
    r"|is_(?:global_)?(?:rank_?)?(?:zero|0)|rank_?(?:zero|0)|is_(?:world|local)_process_zero"
)
"""What a test is called that holds on rank 0 alone."""


def variable(name: object) -> Value:
    """Return what an environment variable holds."""
    known = VARIABLES.get(name) if isinstance(name, str) else None
    return replace(_value(known, str(name)), items=(TEXT,)) if known else Value(text=str(name))


@functools.lru_cache(4096)
def named_value(name: str) -> Value | None:
    """Return what an option, attribute or parameter of that name holds, ``None`` where the name does not tell."""
    plain = name.lower().replace("-", "_")
    known = NAMES.get(plain)
    if known is None and MAIN.fullmatch(plain):
        rank = Known.LOCAL_RANK if "local" in plain else Known.RANK
        return Value(text=name, items=(_value(rank, name),), by_rank=True, sole=0)
    return _value(known, name) if known else None


def told(name: str) -> Value | None:
    """Return what an attribute of a settings object holds that another file makes: ``from options import opt``."""
    return named_value(name) if name in NAMES else None


def _value(known: Known, text: str) -> Value:
    return Value(known, text=text, by_rank=known is not Known.WORLD_SIZE)

"""How this launch is set up: the environment variables that training reads."""

from msgspec import Struct

TORCHRUN_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What ``init_process_group(init_method="env://")`` reads (torch/distributed/rendezvous.py)."""


class Launch(Struct, frozen=True, kw_only=True):
    """Launch variables, by an allow-list of names; nothing else of the environment is ever read."""

    variables: dict[str, str] = {}

    def number(self, name: str) -> int | None:
        """Return a variable as a whole number; ``None`` when it is unset or not one."""
        text = self.variables.get(name, "").strip()
        return int(text) if text.lstrip("-").isdecimal() and text.isascii() and text.count("-") <= 1 else None

    @property
    def master_addr(self) -> str | None:
        """MASTER_ADDR."""
        return self.variables.get("MASTER_ADDR") or None

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

"""What saved reports of several ranks of one launch say of it, side by side."""

import os
from collections.abc import Callable, Iterable

from msgspec import Struct

from gpudoctor.facts.driver import Driver
from gpudoctor.facts.launch import Launch
from gpudoctor.facts.torch import Torch
from gpudoctor.patterns import late_pattern

SHARED = late_pattern(r"NCCL_[A-Z0-9_]+|TORCH_DISTRIBUTED_DEBUG")
"""Variables by which ranks choose how they talk to each other; torchrun sets none of them."""
OWN = late_pattern(r"NCCL_(?:\w*DEBUG|WARN)|_(?:IFNAME|HCA|ADDR|HOSTID|FILE|PATH|DIR|CONF)(?:_|$)")
"""Those of them that only print, which one rank alone may do, or that name what each node has in its own way."""
ALIAS = late_pattern(r"\b(?:ip|host|path|user|mac|name)-\d")
"""A report says these in the place of names and addresses, and each report counts them for itself."""


class Rank(Struct, frozen=True, kw_only=True):
    """One rank's report."""

    report: str
    """The file's name."""
    variables: dict[str, str] = {}
    torch: str | None = None
    nccl: str | None = None
    driver: str | None = None
    """Version of the NVIDIA driver."""

    @classmethod
    def of(cls, path: str, facts: Iterable[Struct]) -> "Rank":
        """Return what the facts of a report say of the launch."""
        facts = list(facts)
        launch = next((f for f in facts if isinstance(f, Launch)), Launch())
        torch = next((f for f in facts if isinstance(f, Torch)), None)
        driver = next((f for f in facts if isinstance(f, Driver)), None)
        kept = {n: v for n, v in launch.variables.items() if not ALIAS.search(v)}
        return cls(
            report=os.path.basename(path) if path != "-" else "standard input",
            variables=kept,
            torch=torch.version if torch else None,
            nccl=torch.nccl if torch else None,
            driver=driver.version if driver else None,
        )

    def number(self, name: str) -> int | None:
        """Return a launch variable as a number."""
        return Launch(variables=self.variables).number(name)

    def value(self, name: str) -> str:
        """Return a launch variable, empty where it is not set."""
        return self.variables.get(name, "")


class Ranks(Struct, frozen=True, kw_only=True):
    """Reports of several ranks."""

    each: list[Rank] = []

    def other(self, tell: Callable[[Rank], str | int | None]) -> tuple[Rank, Rank] | None:
        """Return the first two ranks of which something is known, and not the same."""
        known = [rank for rank in self.each if tell(rank) is not None]
        return next(((known[0], rank) for rank in known if tell(rank) != tell(known[0])), None)

    def alike(self, tell: Callable[[Rank], str | int | None]) -> tuple[Rank, Rank] | None:
        """Return the first two ranks of which the same is known."""
        seen: dict[str | int, Rank] = {}
        for rank in self.each:
            value = tell(rank)
            if value is not None and value in seen:
                return seen[value], rank
            if value is not None:
                seen[value] = rank
        return None

    @property
    def launched(self) -> "Ranks":
        """Those that a launcher, or who stands in for one, made a rank: others have no rank's variables yet."""
        return Ranks(each=[rank for rank in self.each if rank.number("RANK") is not None])

    @property
    def shared_variables(self) -> list[str]:
        """The names, of which some rank has one, of variables that all ranks should have alike."""
        names = {name for rank in self.each for name in rank.variables}
        return sorted(name for name in names if SHARED.fullmatch(name) and not OWN.search(name))

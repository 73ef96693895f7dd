"""Where each rank stood when it was given up: who reports, who is silent, who called another collective."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from gpudoctor.logs.lines import Line
from gpudoctor.logs.raised import Frame, Raised
from gpudoctor.patterns import late_pattern
from gpudoctor.text import listed, ranks

WORLD = late_pattern(
    r"\b(?:[Ww]orld[_ ]?[Ss]ize|WORLD_SIZE|nranks|nRanks|num_ranks)\b['\"]?\W{1,3}(\d{1,5})\b"
)
MOST = 4096
"""Ranks; a larger number is taken for something else."""
COLLECTIVES = late_pattern(
    r"^(?:all_reduce|all_gather|all_to_all|barrier|monitored_barrier|broadcast|gather|scatter|reduce|reduce_scatter|send|recv|"
    r"_?all_gather_base|_?reduce_scatter_base)(?:_into_tensor|_tensor|_single|_object|_object_list|_coalesced)?$"
)
"""Functions of torch.distributed that every rank must call."""


class Stand(Struct, frozen=True):
    """The collective in which a rank stood."""

    rank: int
    call: str
    own: Frame | None
    """The user's line that called it."""


def silent(lines: Iterable[Line], reporting: Iterable[int]) -> list[int]:
    """Return the ranks of which nothing shows; none where the log does not tell how many there are."""
    size = max((int(number) for line in lines for number in WORLD.findall(line.full)), default=0)
    return sorted(set(range(size)) - set(reporting)) if size <= MOST else []


def stands(raised: Iterable[Raised]) -> list[Stand]:
    """Return where each rank stood: the first call of a collective that its own traceback names."""
    found: dict[int, Stand] = {}
    for one in raised:
        rank = one.line.rank
        call = next((f.function for f in one.frames if f.function and COLLECTIVES.match(f.function)), None)
        if rank is not None and call is not None:
            found.setdefault(rank, Stand(rank, call, one.own))
    return [found[rank] for rank in sorted(found)]


def apart(stood: Sequence[Stand]) -> str:
    """Say in which different collectives ranks stood; nothing where all stood in the same."""
    if len({stand.call for stand in stood}) < 2:
        return ""
    where = [
        f"{ranks([s.rank])} in {s.call}" + (f" ({s.own.path} line {s.own.line})" if s.own else "")
        for s in stood
    ]
    calls = listed(where, 4, str)
    return f"They stood in different calls: {calls}; all ranks must make the same calls in the same order."

"""Say in few words which keys of a state dict are left out: by their beginnings, their ends, or one by one."""

from collections.abc import Sequence

from msgspec import Struct

from gpudoctor.text import listed

NAMED = 4
"""Conditions that a line of Python names; where there are more, the model itself tells what fits."""
GLOB = frozenset("*?[]")


class Leaving(Struct, frozen=True):
    """What is left out of a state dict, by the names in the file."""

    only: str = ""
    """The prefix that everything else has."""
    begins: tuple[str, ...] = ()
    """Beginnings that end with a dot."""
    ends: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether anything is left out."""
        return bool(self.only or self.begins or self.ends or self.names)

    def conditions(self) -> list[str]:
        """Return the conditions under which Python takes the key ``k``."""
        found = [f"k.startswith({self.only!r})"] if self.only else []
        if self.begins:
            begins = self.begins[0] if len(self.begins) == 1 else self.begins
            found.append(f"not k.startswith({begins!r})")
        found += [f"not k.endswith({end!r})" for end in self.ends]
        if self.names:
            found.append(
                f"k not in {{{', '.join(map(repr, self.names))}}}"
                if len(self.names) > 1
                else f"k != {self.names[0]!r}"
            )
        return found


def leaving(
    names: Sequence[str], kept: Sequence[str], *, only: str = "", ends: Sequence[str] = ()
) -> Leaving | None:
    """Return what tells `names` from those that are `kept`; ``None`` where that would be too many words.

    `only` is a prefix of all that are kept, and `ends` those of names that are tried first.
    """
    rest = [name for name in names if not only or name.startswith(only)]
    used = tuple(end for end in ends if not any(name.endswith(end) for name in kept))
    if used:
        rest = [name for name in rest if not name.endswith(used)]
    if len(rest) <= NAMED:
        return Leaving(only=only, ends=used, names=tuple(rest))
    begins, single = grouped(rest, kept)
    if len(begins) + len(single) > NAMED:
        return None
    return Leaving(only=only, begins=tuple(begins), ends=used, names=tuple(single))


def grouped(names: Sequence[str], kept: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the shortest beginnings that several `names` and none that is `kept` have, and the names without one."""
    taken = {start for name in kept for start in _starts(name)}
    found: dict[str, list[str]] = {}
    single = []
    for name in names:
        start = next((start for start in _starts(name) if start not in taken), None)
        if start is None:
            single.append(name)
        else:
            found.setdefault(start, []).append(name)
    begins = [start for start, members in found.items() if len(members) > 1]
    return begins, single + [members[0] for members in found.values() if len(members) == 1]


def listed_kinds(names: Sequence[str], kept: Sequence[str], most: int = 3) -> str:
    """Return a few words for keys: ``neck.*, fc.weight and 3 more``."""
    begins, single = grouped(names, kept)
    words = [f"{start}*" for start in begins] + single
    return listed(words, most)


def _starts(name: str) -> list[str]:
    starts = []
    place = name.find(".")
    while place >= 0:
        starts.append(name[: place + 1])
        place = name.find(".", place + 1)
    return starts

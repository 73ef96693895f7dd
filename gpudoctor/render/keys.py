"""The keys of a state dict as rows: those that differ in a number alone folded into one."""

import re
from collections.abc import Sequence

from msgspec import Struct

from gpudoctor.facts import Key
from gpudoctor.text import ranges

NUMBER = re.compile(r"(?<![^.])\d{1,18}(?![^.])|(?<=[a-z_])\d{1,18}(?=\.)")
"""Numbers that count modules: a part of the name of their own, or the end of one, as in ``layer1``."""


class Row(Struct):
    """Keys that differ by numbers alone."""

    name: str
    """``layers.{0-31}.attn.weight``."""
    key: Key
    """The first of them."""
    count: int
    size: int
    """Bytes of all of them."""


def rows(keys: Sequence[Key], *, folded: bool = True) -> list[Row]:
    """Return a row for each key, or for all that differ in numbers of their names alone, in the order of the first."""
    if not folded:
        return [Row(key.name, key, 1, key.size) for key in keys]
    groups: dict[tuple[str, str, tuple[int, ...], str, str], list[Key]] = {}
    for key in keys:
        kind = NUMBER.sub("*", key.name), key.dtype, key.shape, key.device, key.layout
        groups.setdefault(kind, []).append(key)
    return [
        Row(_folded([key.name for key in each]), each[0], len(each), sum(key.size for key in each))
        for each in groups.values()
    ]


def _folded(names: Sequence[str]) -> str:
    """Write names that differ in numbers as one."""
    if len(names) == 1:
        return names[0]
    numbers = [[int(number) for number in NUMBER.findall(name)] for name in names]
    values = [sorted(set(column)) for column in zip(*numbers, strict=True)]
    texts = iter([_span(column) for column in values])
    return NUMBER.sub(lambda match: next(texts), names[0])


def _span(numbers: Sequence[int]) -> str:
    """Write numbers: ``3``, ``{0-31}``, ``{0,2,5}``."""
    if len(numbers) == 1:
        return str(numbers[0])
    return "{" + ranges(numbers, 4) + "}"

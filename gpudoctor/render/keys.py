"""The keys of a state dict as rows: those that differ in a number alone folded into one."""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.facts import CheckpointFile, Key
from gpudoctor.model import Report

NUMBER = re.compile(r"(?<![^.])\d{1,18}(?![^.])|(?<=[a-z_])\d{1,18}(?=\.)")
"""Numbers that count modules: a part of the name of their own, or the end of one, as in ``layer1``."""


UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")


class Row(Struct):
    """Keys that differ by numbers alone."""

    name: str
    """``layers.{0-31}.attn.weight``."""
    key: Key
    """The first of them."""
    count: int
    size: int
    """Bytes of all of them."""


def size(count: int) -> str:
    """Write a number of bytes as a reader would: ``4.0 MiB``."""
    if count < 1024:
        return f"{count} B"
    power = next((p for p in range(1, len(UNITS)) if count < 1000 * 1024**p), len(UNITS))
    value, unit = count / 1024**power, UNITS[power - 1]
    return f"{value:.1f} {unit}" if value < 100 else f"{value:.0f} {unit}"


def rows(keys: Sequence[Key], *, folded: bool = True) -> list[Row]:
    """Return a row for each key, or for all that differ in numbers of their names alone, in the order of the first."""
    if not folded:
        return [Row(key.name, key, 1, key.size) for key in keys]
    groups: dict[tuple[str, str, tuple[int, ...], str, str], list[Key]] = {}
    for key in keys:
        groups.setdefault(
            (NUMBER.sub("*", key.name), key.dtype, key.shape, key.device, key.layout), []
        ).append(key)
    return [
        Row(_folded([key.name for key in each]), each[0], len(each), sum(key.size for key in each))
        for each in groups.values()
    ]


def _folded(names: Sequence[str]) -> str:
    """Write names that differ in numbers as one."""
    if len(names) == 1:
        return names[0]
    spans = [[int(number) for number in NUMBER.findall(name)] for name in names]
    values = [sorted(set(column)) for column in zip(*spans, strict=True)]
    texts = iter([_span(column) for column in values])
    return NUMBER.sub(lambda match: next(texts), names[0])


def _span(numbers: Sequence[int]) -> str:
    """Write numbers: ``3``, ``{0-31}``, ``{0,2,5}``."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    if len(numbers) == 1:
        return str(numbers[0])
    shown = ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans[:4])
    return "{" + shown + (",..." if len(spans) > 4 else "") + "}"


def sparing_keys(report: Report, rewrite: Callable[[Report], Report]) -> Report:
    """Return what `rewrite` makes of a report without the keys of its checkpoints, with those put back.

    There may be a million of them, all names of a model's own attributes: nothing to hide, and too many to rewrite.
    """
    facts = {t: _without(f) if isinstance(f, CheckpointFile) else f for t, f in report.facts.items()}
    made = rewrite(replace(report, facts=facts))
    for topic, fact in report.facts.items():
        if isinstance(fact, CheckpointFile):
            bare = made.facts[topic]
            states = zip(bare.state_dicts, fact.state_dicts, strict=True)
            whole = tuple(
                replace(state, keys=own.keys, others=own.others, versions=own.versions)
                for state, own in states
            )
            made.facts[topic] = replace(bare, state_dicts=whole, shared=fact.shared)
    return made


def _without(file: CheckpointFile) -> CheckpointFile:
    states = tuple(replace(state, keys=(), others=(), versions={}) for state in file.state_dicts)
    return replace(file, state_dicts=states, shared=())

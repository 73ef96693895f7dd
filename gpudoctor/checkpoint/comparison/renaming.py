"""Steps that turn the names of one state dict into those of another: applied here, and written as Python."""

import re
from collections.abc import Sequence

from msgspec import Struct

WRAPPERS = (
    "module", "_orig_mod", "_forward_module", "_fsdp_wrapped_module", "_checkpoint_wrapped_module",
)  # fmt: skip
"""Attributes under which DataParallel and DDP, torch.compile, Lightning's Fabric, FSDP, and activation checkpointing
keep the module that they wrap."""
NUMBER = re.compile(r"(\.|^)\d+(?![^.\n])", re.MULTILINE)


class Step(Struct, frozen=True):
    """A regular expression that is replaced in every name; a prefix is the simple case."""

    pattern: str
    new: str
    strip: str = ""
    """The prefix that this takes away, where it is that."""
    add: str = ""
    """The prefix that this puts in front, where it is that."""
    literal: str = ""
    """The component, with its dot, that this takes away wherever it stands."""

    def apply(self, names: Sequence[str]) -> list[str]:
        """Return the names with this step done."""
        if self.strip:
            return [name.removeprefix(self.strip) for name in names]
        if self.add:
            return [self.add + name for name in names]
        if self.literal:
            return _without(self.literal, names)
        substitute = re.compile(self.pattern).sub
        return [substitute(self.new, name) for name in names]

    def python(self, inner: str, names: Sequence[str]) -> str:
        """Return the Python expression that does this to the expression `inner`, whose values are `names`.

        Prefixes are put in front after everything else has been taken away, so `inner` needs no parentheses.
        """
        if self.strip:
            return f"{inner}.removeprefix({self.strip!r})"
        if self.add:
            return f"{self.add!r} + {inner}"
        if self.literal and self.apply(names) == [name.replace(self.literal, self.new) for name in names]:
            return f"{inner}.replace({self.literal!r}, {self.new!r})"
        return f"re.sub({self.pattern!r}, {self.new!r}, {inner})"


def strip(prefix: str) -> Step:
    """Return the step that takes a prefix away where it stands."""
    return Step("^" + re.escape(prefix), "", strip=prefix)


def add(prefix: str) -> Step:
    """Return the step that puts a prefix in front of every name."""
    return Step("^", prefix.replace("\\", "\\\\"), add=prefix)


def drop_component(component: str) -> Step:
    """Return the step that takes a component away wherever it stands, but not at the end."""
    return Step(rf"(?<![^.]){re.escape(component)}\.", "", literal=f"{component}.")


def apply_all(steps: Sequence[Step], names: Sequence[str]) -> list[str]:
    """Return the names after all steps, in order."""
    result = list(names)
    for step in steps:
        result = step.apply(result)
    return result


def python_all(steps: Sequence[Step], names: Sequence[str], variable: str = "k") -> str:
    """Return the Python expression that does all steps to `variable`."""
    expression, current = variable, list(names)
    for step in steps:
        expression = step.python(expression, current)
        current = step.apply(current)
    return expression


def insertions(plain: Sequence[str], wrapped: Sequence[str], most: int = 4) -> list[Step] | None:
    """Return the steps that put wrappers' components into names, place by place; ``None`` where `most` do not do.

    `plain` and `wrapped` are the same keys without and with the components. Numbers are folded, since a wrapper
    stands in every layer or in none.
    """
    places: dict[tuple[str, str], None] = {}
    kinds = dict(
        zip(zip(folded(plain), folded(wrapped), strict=True), zip(plain, wrapped, strict=True), strict=True)
    )
    for short, long in kinds.values():
        if short == long:
            continue
        old, new = trim_common(short.split("."), long.split("."))
        places[_folded(old, new)] = None
        if len(places) > most:
            return None
    # The longest place first: what was put in for a shorter one would hide it.
    steps = [Step(old, new) for old, new in sorted(places, key=lambda place: -len(place[0]))]
    return steps if apply_all(steps, plain) == list(wrapped) else None


def _without(component: str, names: Sequence[str]) -> list[str]:
    """Return the names without a component, which ends with its dot."""
    text = "\n" + "\n".join(names)  # at once: replacing in each of 100,000 names takes ten times as long
    if text.count("\n") > len(names):  # a name with a line break in it
        pattern = re.compile(rf"(?<![^.]){re.escape(component)}")
        return [pattern.sub("", name) for name in names]
    for before in ("\n", "."):
        while before + component in text:
            text = text.replace(before + component, before)
    return text[1:].split("\n") if names else []


def folded(names: Sequence[str]) -> list[str]:
    """Return the names with ``*`` in the place of each component that is a number."""
    rows = (
        NUMBER.sub(r"\1*", "\n".join(names)).split("\n") if names else []
    )  # at once: a tenth of a second per 100,000
    if len(rows) == len(names):
        return rows
    return [NUMBER.sub(r"\1*", name) for name in names]  # a name with a line break in it


def wrappers(names: Sequence[str]) -> set[str]:
    """Return which wrappers' components stand in any of the names."""
    text = "\n".join(names)
    found = [name for name in WRAPPERS if f"{name}." in text]
    return {name for name in found if re.search(rf"(?:^|\.){name}\.", text, re.MULTILINE)}


def trim_common(first: list[str], second: list[str]) -> tuple[list[str], list[str]]:
    """Return two lists of components without the end that they share."""
    shared = 0
    while shared < min(len(first), len(second)) and first[-1 - shared] == second[-1 - shared]:
        shared += 1
    return first[: len(first) - shared], second[: len(second) - shared]


def _folded(old: list[str], new: list[str]) -> tuple[str, str]:
    """Return a pattern for the beginning `old`, and the replacement; each number in it is whatever number it was."""
    numbers = [part for part in old if part.isdigit()]
    if numbers != [part for part in new if part.isdigit()]:
        numbers = []
    pattern = "".join((r"(\d+)" if part.isdigit() and numbers else re.escape(part)) + r"\." for part in old)
    replacement, count = "", 0
    for part in new:
        if part.isdigit() and numbers:
            count += 1
            replacement += rf"\{count}."
        else:
            replacement += part.replace("\\", "\\\\") + "."
    return "^" + pattern, replacement

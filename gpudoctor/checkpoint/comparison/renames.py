"""Steps that turn the names of one state dict into those of another: applied here, and written as Python."""

import re
from collections.abc import Sequence

from msgspec import Struct

NUMBER = re.compile(r"(?<![^.\n])\d+(?![^.\n])")


class Step(Struct, frozen=True):
    """A regular expression that is replaced in every name; a prefix is the simple case."""

    pattern: str
    new: str
    strip: str = ""
    """The prefix that this takes away, where it is that."""
    add: str = ""
    """The prefix that this puts in front, where it is that."""
    component: str = ""
    """The component, with its dot, that this takes away wherever it stands."""

    def apply(self, names: Sequence[str]) -> list[str]:
        """Return the names with this step done."""
        if self.strip:
            return [name.removeprefix(self.strip) for name in names]
        if self.add:
            return [self.add + name for name in names]
        if self.component:
            part = re.escape(self.component)  # first, for what begins with a text is found fast
            return _substituted(re.compile(rf"{part}(?<![^.\n]{part})"), "", names)
        substitute = re.compile(self.pattern).sub
        return [substitute(self.new, name) for name in names]

    def python(self, names: Sequence[str]) -> str:
        """Return the Python expression that does this to the name ``k``, which is any of `names`."""
        if self.strip:
            return f"k.removeprefix({self.strip!r})"
        if self.add:
            return f"{self.add!r} + k"
        if self.component and self.apply(names) == [name.replace(self.component, "") for name in names]:
            return f"k.replace({self.component!r}, '')"
        return f"re.sub({_raw(self.pattern)}, {_raw(self.new)}, k)"


def strip(prefix: str) -> Step:
    """Return the step that takes a prefix away where it stands."""
    return Step("^" + re.escape(prefix), "", strip=prefix)


def add(prefix: str) -> Step:
    """Return the step that puts a prefix in front of every name."""
    return Step("^", prefix.replace("\\", "\\\\"), add=prefix)


def drop_component(component: str) -> Step:
    """Return the step that takes a component away wherever it stands, but not at the end."""
    return Step(rf"(?<![^.]){re.escape(component)}\.", "", component=f"{component}.")


def apply_all(steps: Sequence[Step], names: Sequence[str]) -> list[str]:
    """Return the names after all steps, in order."""
    result = list(names)
    for step in steps:
        result = step.apply(result)
    return result


def folded(names: Sequence[str]) -> list[str]:
    """Return the names with ``*`` in the place of each component that is a number."""
    return _substituted(NUMBER, "*", names)


def _raw(text: str) -> str:
    """Return a string as Python, raw where that is shorter and means the same."""
    plain = text.isprintable() and "'" not in text and not text.endswith("\\")
    return f"r'{text}'" if plain and "\\" in text else repr(text)


def _substituted(pattern: re.Pattern[str], new: str, names: Sequence[str]) -> list[str]:
    """Return the names with a pattern replaced, which takes a line feed for what parts components."""
    # All at once: a tenth of a second per 100,000.
    rows = pattern.sub(new, "\n".join(names)).split("\n")
    return rows if len(rows) == len(names) else [pattern.sub(new, name) for name in names]

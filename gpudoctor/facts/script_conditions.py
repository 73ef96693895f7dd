"""Under what something in a script stands: the tests around it, and the loops."""

import re

from msgspec import Struct

from gpudoctor.facts.script_values import CHANGES, UNKNOWN, Place, Value
from gpudoctor.patterns import late_pattern

EQUALS = re.compile(r"(?P<what>[\w.]+) == (?P<quote>['\"])(?P<text>\w*)(?P=quote)")
"""A test for one text, such as ``args.device == "cpu"``."""
HOLDS = re.compile(r"(?P<quote>['\"])(?P<text>\w+)(?P=quote) in (?P<what>[\w.]+)")
"""A test for a part of a text, such as ``"cuda" in args.device``."""

SETTING = late_pattern(
    r"\b_?(?:cfg|conf|config|configs|args|arguments|opts?|options|flags|hparams|settings|params)\b"
    r"|(?<![\w.])[A-Z][A-Z0-9_]+\b"
)
"""What holds settings, or is one: ``self.cfg.use_fp16``, ``USE_AMP``."""


class Condition(Struct, frozen=True):
    """A test under which something stands, or an exit above it that some may have taken."""

    place: Place
    text: str
    """Its source, as it is written; it holds, or does not where `negated`."""
    value: Value = UNKNOWN
    negated: bool = False
    early: bool = False
    """It stands after an ``if`` whose body leaves: what follows happens where that was not taken."""
    loops: int = 0
    """How many loops stand around it."""
    kind: str = "if"
    """``if``, ``while``, ``except``, ``main`` (``if __name__ == "__main__"``), ``type_checking`` or ``match``."""

    @property
    def by_rank(self) -> bool:
        """Whether it may hold on some ranks and not on others because it asks for the rank."""
        return self.value.by_rank

    @property
    def rank(self) -> int | None:
        """The one rank for which what stands under it happens: 0 under ``if rank == 0:``."""
        return self.value.all_but if self.negated else self.value.sole

    @property
    def from_data(self) -> bool:
        """Whether it may hold on some ranks and not on others because it asks for what this rank computed."""
        return self.value.from_data and not self.value.by_rank

    @property
    def impossible(self) -> bool:
        """Whether it is known not to hold here: a function was told the number, or flag, that it asks for."""
        value = self.value
        if value.is_literal:
            return bool(value.literal) is self.negated
        if value.text not in ("Eq", "NotEq") or len(value.items) != 2:
            return False
        left, right = value.items
        if not (left.is_literal and right.is_literal) or CHANGES in (left.text, right.text):
            return False
        return (left.literal == right.literal) is ((value.text == "Eq") is self.negated)

    @property
    def never(self) -> bool:
        """Whether it does not hold in any run: what it asks for is no setting, which its user changes."""
        return self.impossible and SETTING.search(self.text) is None

    def _opposite_part(self, other: "Condition") -> bool:
        """Return whether a part of this test, which holds with all of them, is the opposite of one of the other's."""
        texts = [_bare(test.text) for test in (self, other)]
        if any(" or " in text for text in texts):
            return False
        own, others = ({_bare(part) for part in text.split(" and ")} for text in texts)
        return any(f"not {part}" in others for part in own) or any(f"not {part}" in own for part in others)

    def follows_from(self, other: "Condition") -> bool:
        """Return whether it surely holds with another test: ``not (many and not ddp)`` where ``ddp`` holds."""
        if not self.negated or self.by_rank is False or " or " in self.text or other.text == self.text:
            return False
        parts = {_bare(part) for part in self.text.split(" and ")}
        return (
            len(parts) > 1 and (_bare(other.text) if other.negated else f"not {_bare(other.text)}") in parts
        )

    def _same(self, other: "Condition") -> bool:
        """Return whether both ask for one value by two names: ``multi``, and ``self.multi`` that was given it."""
        names = [test.text.rpartition(".")[2] for test in (self, other)]
        return (
            names[0] == names[1]
            and names[0].isidentifier()
            and self.value == other.value
            and (self.value.made >= 0 or self.value.text.rpartition(".")[2] == names[0])
        )

    def excludes(self, other: "Condition") -> bool:
        """Whether both cannot hold: the same test and its opposite, or ``device == "cpu"`` and ``"cuda" in device``."""
        if self.text == other.text or self._same(other):
            return self.negated != other.negated
        if self.negated or other.negated:
            return False
        if " and " in self.text or " and " in other.text:
            return self._opposite_part(other)
        own, others = EQUALS.fullmatch(self.text), EQUALS.fullmatch(other.text)
        if own and others:
            return own["what"] == others["what"] and own["text"] != others["text"]
        equal, held = (own, HOLDS.fullmatch(other.text)) if own else (others, HOLDS.fullmatch(self.text))
        return (
            equal is not None
            and held is not None
            and held["what"] == equal["what"]
            and held["text"] not in equal["text"]
        )


def _bare(test: str) -> str:
    """Return a part of a test without the parentheses around it."""
    test = test.strip()
    return test[1:-1] if test.startswith("(") and test.endswith(")") else test


class Loop(Struct, frozen=True):
    """A loop around something."""

    place: Place
    kind: str
    """``epoch`` (over epochs), ``batch`` (over a loader), ``while`` or ``for``."""
    over: Value = UNKNOWN
    target: str = ""
    """The name of its variable, the first where there are several."""
    scope: str = ""
    """The function that it stands in."""


__all__ = ["Condition", "Loop"]

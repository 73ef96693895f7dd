"""Which alias stands for what, numbered in the order in which the text shows them."""

import re
from collections.abc import Iterable, Mapping

from gpudoctor.patterns import late_pattern
from gpudoctor.redact.word_lists import HIDDEN
from gpudoctor.text import ranges

__all__ = ["Aliases"]

# While a text is worked on, what has been replaced stands in it as a number between two code points that no
# text may contain (Unicode keeps them for such use): later steps cannot mistake it for anything, and aliases
# are numbered at the end, in the order of the text. A colour code has two others, for an address may
# end at it and a path begin.
_MARK = late_pattern("[\ufdd0\ufdd2](\\d+)[\ufdd1\ufdd3]")
_GOES_ON = late_pattern(r"[A-Za-z0-9]|-\d|-[0-9a-f]{4}")
_ALIAS_KIND = late_pattern(r"[a-z-]*[a-z]")


class Aliases:
    """The aliases of one report: the same kind and key have the same alias, others another.

    `first` are the hosts that get the first numbers, `node_lists` the hosts in each list of nodes.
    """

    def __init__(self, first: Iterable[str], node_lists: Mapping[str, tuple[str, ...]]) -> None:
        self.used: dict[str, set[str]] = {}
        self._first = list(dict.fromkeys(first))
        self._node_lists = node_lists
        self._marks: list[tuple[str, str]] = []
        self._mark_of: dict[tuple[str, str], int] = {}
        self._numbers: dict[str, dict[str, int]] = {}
        self._last: dict[str, int] = {}
        self._taken: dict[str, set[int]] = {}

    def mark(self, kind: str, key: str) -> str:
        """Return what stands for a thing until `render`; without a kind that is the key itself, unchanged."""
        at = self._mark_of.setdefault((kind, key), len(self._marks))
        if at == len(self._marks):
            self._marks.append((kind, key))
        return f"\ufdd0{at}\ufdd1"

    def reserve(self, alias: str) -> None:
        """Give the numbers in an alias of an earlier report to nothing new."""
        if kind := _ALIAS_KIND.match(alias):
            self._taken.setdefault(kind[0], set()).update(map(int, re.findall(r"\d+", alias)))

    def count(self, kind: str, key: str) -> None:
        """Count a thing as replaced."""
        self.used.setdefault(kind, set()).add(key)

    def render(self, text: str) -> str:
        """Put aliases in the place of marks."""
        return _MARK.sub(self._shown, text)

    def _shown(self, match: re.Match[str]) -> str:
        kind, key = self._marks[int(match[1])]
        alias = self._alias(kind, key)
        if not kind or not alias[-1].isdigit():
            return alias
        # an alias that touches other letters would not be known as one again
        text, start, end = match.string, *match.span()
        left = " " if start and text[start - 1].isascii() and text[start - 1].isalnum() else ""
        return left + alias + (" " if _GOES_ON.match(text, end) else "")

    def _alias(self, kind: str, key: str) -> str:
        if not kind:
            return key
        if kind == "nodes":
            hosts = self._node_lists[key]
            self.used.setdefault("host", set()).update(hosts)
            return f"host-[{ranges([self._number('host', host) for host in hosts])}]"
        self.count(kind, key)
        if kind in ("hidden", "home"):
            return HIDDEN if kind == "hidden" else "~"
        return f"{kind}-{self._number(kind, key)}"

    def _number(self, kind: str, key: str) -> int:
        numbers = self._numbers.setdefault(kind, {})
        # not before the first text has been read: an earlier report in it may have taken some numbers
        fresh = [*self._first, key] if kind == "host" else [key]
        if kind == "host":
            self._first.clear()
        for thing in fresh:
            if thing not in numbers:
                number = self._last.get(kind, 0) + 1
                while number in self._taken.get(kind, ()):
                    number += 1
                numbers[thing] = self._last[kind] = number
        return numbers[key]

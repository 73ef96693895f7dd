"""The exceptions of each process: which were raised from each other, and what stands right above them."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence

from gpudoctor.logs.lines import Line
from gpudoctor.logs.raised import Raised
from gpudoctor.logs.tracebacks import CHAINED
from gpudoctor.patterns import late_pattern

PASSED = late_pattern(r"-- Process \d+ terminated with the following error")
"""What torch.multiprocessing.spawn says to its caller; where nobody catches that, its own exception stands above."""


CAUSED = CHAINED[1]
"""What Python prints between an exception and one that was raised ``from`` it."""


class Chains:
    """The lines of a log and the exceptions in them, by process."""

    def __init__(self, lines: Sequence[Line], raised: Sequence[Raised]) -> None:
        self.lines, self.raised = lines, raised
        self.texts: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
        for place, line in enumerate(lines):
            if line.text:
                self.texts[line.name, line.who].append((place, line.text))
        self.spans: dict[tuple[str, str], list[Raised]] = defaultdict(list)
        for exception in raised:
            self.spans[exception.line.name, exception.line.who].append(exception)

    def around(self, line: Line, place: int) -> Raised | None:
        """Return the exception in whose traceback or message a line lies; ``None`` where it lies in none."""
        spans = self.spans[line.name, line.who]
        at = bisect_right(spans, place, key=lambda raised: raised.first) - 1
        return spans[at] if at >= 0 and place <= spans[at].last else None

    def first_of_chain(self, raised: Raised) -> Raised:
        """Return the exception with which a chain begins: the others were raised while it was handled."""
        spans = self.spans[raised.line.name, raised.line.who]
        at = bisect_left(spans, raised.first, key=lambda one: one.first)
        while at and spans[at].chained:
            at -= 1
        return spans[at]

    def last_of_chain(self, raised: Raised) -> Raised:
        """Return the exception with which a chain ends: the one that was printed."""
        spans = self.spans[raised.line.name, raised.line.who]
        at = bisect_left(spans, raised.first, key=lambda one: one.first)
        while at + 1 < len(spans) and spans[at + 1].chained:
            at += 1
        return spans[at]

    def raised_from(self, raised: Raised) -> Raised | None:
        """Return the last of the exceptions that were raised ``from`` one and each other; ``None`` where none was."""
        spans = self.spans[raised.line.name, raised.line.who]
        at = bisect_left(spans, raised.first, key=lambda one: one.first)
        outer = None
        while at + 1 < len(spans) and spans[at + 1].chained and self._explains(spans[at + 1]):
            at += 1
            outer = spans[at]
        return outer

    def _explains(self, raised: Raised) -> bool:
        """Return whether an exception was raised ``from`` the one above it, and not only while that was handled."""
        above = [line.text for line in self.lines[max(0, raised.first - 4) : raised.first]]
        return any(text.startswith(CAUSED) for text in above)

    def heading(self, raised: Raised) -> Line | None:
        """Return the line right above an exception, and above those that it was raised from."""
        first = self.first_of_chain(raised).first
        above = reversed(self.lines[max(0, first - 3) : first])
        return next((x for x in above if x.text or x.full.strip()), None)

    def passed_on_by(self, raised: Raised) -> bool:
        """Return whether an exception is the message of one right above it that nobody caught, as mp.spawn's."""
        spans = self.spans[raised.line.name, raised.line.who]
        at = bisect_left(spans, raised.first, key=lambda one: one.first)
        above = spans[at - 1] if at else None
        if above is None or not (above.wrapper and (above.at_top or self.passed_on_by(above))):
            return False
        between = [line.text for line in self.lines[above.last + 1 : raised.first] if line.text]
        return all(map(PASSED.match, between))

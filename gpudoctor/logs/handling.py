"""What tells that a program caught a failure: its own words, a launcher's silence, what it printed next."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from gpudoctor.logs.aftermath import LOGGED, MANY
from gpudoctor.logs.line_kinds import (
    ASIDE,
    END,
    ENOUGH,
    FAILURE,
    FELL,
    LEAVING,
    LEFT,
    NOISE,
    SETTLED,
    is_result,
    reports_failure,
    tells_of_failure,
    tries_again,
)
from gpudoctor.logs.lines import Line
from gpudoctor.logs.raised import Raised
from gpudoctor.logs.recurrence import counts_back, numbered, same_begin, shapes
from gpudoctor.logs.restarts import Restarts
from gpudoctor.logs.tracebacks import HEADER
from gpudoctor.patterns import late_pattern

WARNED = late_pattern(
    r"\bWARN(?:ING)?\b|^\[?W(?: ?\d{4}| \d{4}-\d\d-\d\d)[ T]\d\d:|\[warning *\]|\blevel=warn(?:ing)?\b"
)
"""The level of a logger's line of something that the program does without."""
INFORMED = late_pattern(
    r"\b(?:INFO|DEBUG)\b|^\[?[ID](?: ?\d{4}| \d{4}-\d\d-\d\d)[ T]\d\d:|\[(?:info|debug) *\]|\blevel=(?:info|debug)\b"
)
"""The level of a logger's line of something that is no error to the program."""
CONTROL = late_pattern(r"(?!\w*(?:Error|Failed|Failure)$)\w*(?:Stop|Prun|Graceful|Finish|Complet|Reach)\w*$")
"""The name of an exception with which a program ends a loop that has done its work."""


class Handling(Restarts):
    """What tells that a program caught an exception, and whether it went on."""

    def _caught_for_certain(self, line: Line, place: int) -> bool:
        """Return whether a handler printed an exception, and its process went on to print results.

        Not where a launcher says below it that a worker left with 1, as after an exception: others may have printed it.
        """
        raised = self.around(line, place)
        if raised is None or not raised.caught or self.left_by_exception(place) or self._gave_up(line, place):
            return False
        places = self.results[line.name, line.who]
        return bisect_left(places, self.until(place)) - bisect_right(places, raised.place) >= ENOUGH

    def _came_before(self, line: Line, place: int) -> bool:
        """Return whether a process raised the same again, or had before and printed results below it.

        How the log ends tells nothing of that: a process that died of it would have died the first time.
        """
        raised = self.around(line, place)
        if raised is None:
            return False
        spans = self._told_by_one(raised)
        same = same_begin(raised, spans)
        if not same or any(one.first > raised.last for one in same):
            return bool(same)
        if self._good_below(raised, spans) and self._first_ordinary(raised.line) < raised.first:
            return True
        heading = self.heading(raised)
        if heading is None or not (
            reports_failure(heading.full, heading.text) or WARNED.search(heading.full)
        ):
            return False
        # A handler's words stood above it before, and its process went on.
        kind = set() if tries_again(heading.text) else shapes([heading.text])
        alike = (
            one for one in same if (above := self.heading(one)) and not kind.isdisjoint(shapes([above.text]))
        )
        told = any(self._good_below(one, spans) and not self._anew_between(one, raised) for one in alike)
        return told and not self._gave_up(line, place) and not self._said_below(raised)

    def _said_below(self, raised: Raised) -> bool:
        """Return whether something that is no result stands below an exception: a last word on it, perhaps."""
        below = (p for p in range(raised.place + 1, len(self.lines)) if self._ordinary(p))
        rows = (self.lines[p] for p in below if self.lines[p].name == raised.line.name)
        return any(not is_result(x.text, beyond_doubt=True) or reports_failure(x.full, x.text) for x in rows)

    def _anew_between(self, one: Raised, other: Raised) -> bool:
        """Return whether a program counted from the beginning again between two exceptions: it tried all again."""
        above, between = range(max(0, one.first - MANY), one.first), range(one.last + 1, other.first)
        last = {shape: row for p in above if self._ordinary(p) for shape, row in numbered(self.lines[p].text)}
        rows = (row for p in between if self._ordinary(p) for row in numbered(self.lines[p].text))
        return any(shape in last and counts_back(last[shape], row) for shape, row in rows)

    def _good_below(self, raised: Raised, spans: Sequence[Raised]) -> bool:
        """Return whether results stand below an exception, and above the next one of the same process."""
        end = next((x.first for x in spans if x.first > raised.place), len(self.lines))
        below = (p for p in range(raised.place + 1, end) if self._ordinary(p))
        good = [p for p in below if is_result(self.lines[p].text, beyond_doubt=True)]
        return not all(reports_failure(self.lines[p].full, self.lines[p].text) for p in good)

    def _told_by_one(self, raised: Raised) -> Sequence[Raised]:
        """Return the exceptions that one process told of: the only one, or the rank whose lines or logger name it."""
        spans = self.spans[raised.line.name, raised.line.who][-MANY:]
        # Where all lines bear the same prefix it tells no processes apart, and may stand for a whole launch.
        apart = len(self.ranks) > 1 and bool(raised.line.who) and not self.gave_in
        if self._alone or (apart and not self.marked(raised.line)):
            return spans
        heading = self.heading(raised)
        if raised.line.who or heading is None or not heading.who or not LOGGED.search(heading.full):
            return []
        above = [(one, self.heading(one)) for one in spans]
        return [one for one, head in above if head is not None and head.who == heading.who]

    def _only_warned(self, line: Line, place: int) -> bool:
        """Return whether a logger wrote an exception that was caught, and calls it no error itself."""
        raised = self.around(line, place)
        if raised is None or self.reported > place or self._gave_up(line, place):
            return False
        heading = self.heading(raised)
        if heading is None or self._ends_loop(raised, heading):
            return heading is not None
        if not self.last_of_chain(raised).caught:
            return False
        level = WARNED.search(heading.full)
        said = level.string[level.end() :] if level is not None else ""
        return bool(said) and not (LEFT.search(said) or FELL.search(said))

    def _ends_loop(self, raised: Raised, heading: Line) -> bool:
        """Return whether a logger informs of an exception with which a program ends a loop whose work is done."""
        level = INFORMED.search(heading.full)
        if level is None or CONTROL.match(raised.type) is None or not self._caught(raised):
            return False
        said = heading.full[level.end() :]
        return not (FELL.search(said) or FAILURE.search(said) or tells_of_failure(said))

    def _in_silence(self, line: Line, place: int) -> bool:
        """Return whether a program caught an exception, and torchrun, whose own lines are here, says of no failure.

        A process dies once: one that raised the same again had caught the first, and died of none.
        """
        raised = self.around(line, place)
        if raised is None or not self._torchrun or self.reported >= 0 or self.gave_in:
            return False
        if raised.last < self._launch and self._has_results(self._launch):
            return True  # of what was run before the launch
        if raised.told or (line.who and same_begin(raised, self.spans[line.name, line.who][-MANY:])):
            return True
        return self._headed(raised) and all(one.caught or one.told for one in self._block(raised))

    def _loops_on(self, line: Line, place: int) -> bool:
        """Return whether a rank, below all that it raised, prints lines of a kind that it had printed above it.

        Its lines are told from those of others, and no launcher says that one failed.
        """
        raised = self.around(line, place)
        if raised is None or not line.who or self.gave_in or self.marked(line):
            return False
        own = self.texts[line.name, line.who]
        begin = bisect_left(own, raised.first, key=lambda row: row[0])
        end = bisect_right(own, self.spans[line.name, line.who][-1].place, key=lambda row: row[0])
        above = shapes(text for at, text in own[max(0, begin - MANY) : begin] if self._ordinary(at))
        below = shapes(text for _, text in own[end : end + MANY])
        return not above.isdisjoint(below) and not self._told_below(place)

    def _tried(self, line: Line, place: int) -> bool:
        """Return whether an exception was raised in a line that tries something, and its process went on.

        Something was printed below it, or torchrun, whose own lines are in the log, says of no process that it failed.
        """
        raised = self.around(line, place)
        if raised is None or not raised.tried or self._gave_up(line, place) or self._fell(place):
            return False
        return self.wrote_last(line) or (
            self._torchrun and self.reported < place and raised is self.raised[-1]
        )

    def _fell(self, place: int) -> bool:
        """Return whether the last line of the log, below what failed, says that the program ends with a part of it."""
        below = (line.text for line in reversed(self.lines[place + 1 :]))
        last = next((text[:400] for text in below if text and not NOISE.search(text)), "")
        return FELL.search(last) is not None and not SETTLED.search(last)

    def _aside(self, line: Line, place: int) -> bool:
        """Return whether a handler printed it, of something beside the training, right below the training's result."""
        raised = self.around(line, place)
        return raised is not None and raised.caught and self._perhaps_aside(line, place)

    def _perhaps_aside(self, line: Line, place: int) -> bool:
        """Return whether an exception tells of something beside the training, right below the training's result."""
        raised = self.around(line, place)
        if raised is None or self.reported > place:
            return False
        outermost = self.first_of_chain(raised)
        # What names no rank may be of the program that started them all.
        rows = self.lines[max(0, outermost.first - MANY) : outermost.first]
        rows = [x for x in rows if x.name == line.name and (not line.who or x.who == line.who)]
        above = [x.text[:400] for x in rows if x.text][-END:]
        told = any(is_result(text, beyond_doubt=True) and not tells_of_failure(text) for text in above[:-1])
        if told and ASIDE.search(above[-1]):
            return True
        leaving = LEAVING.search(outermost.frames[0].function or "") if outermost.frames else None
        return leaving is not None and is_result(self._above(raised), beyond_doubt=True)

    def _above(self, raised: Raised) -> str:
        """Return the last line that the process of an exception printed of its own above it, or the bar."""
        for place, text in reversed(self.texts[raised.line.name, raised.line.who]):
            line = self.lines[place]
            if place < raised.first and not self.around(line, place) and (line.bar or self._ordinary(place)):
                return text[:400]
        return ""

    def _block(self, raised: Raised) -> list[Raised]:
        """Return an exception and those of its process that stand right above and below it.

        They may be one failure: one was raised from the other, or holds it in its message.
        """
        spans = self.spans[raised.line.name, raised.line.who]
        first = last = bisect_left(spans, raised.first, key=lambda one: one.first)
        while first and last - first < MANY and self._adjoin(spans[first - 1], spans[first]):
            first -= 1
        while last + 1 < len(spans) and last - first < MANY and self._adjoin(spans[last], spans[last + 1]):
            last += 1
        return spans[first : last + 1]

    def _headed(self, raised: Raised) -> bool:
        """Return whether the first line of a traceback is here, so that its first frame is the outermost."""
        return HEADER.search(self.lines[raised.first].text) is not None

    def _adjoin(self, one: Raised, other: Raised) -> bool:
        """Return whether no line of their program's own stands between two exceptions."""
        return other.chained or not any(map(self._ordinary, range(one.last + 1, other.first)))

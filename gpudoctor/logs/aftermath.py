"""What stands around a failure, and tells whether it ended its process or that printed results below it."""

import functools
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from gpudoctor.logs.chains import PASSED
from gpudoctor.logs.launcher import launched
from gpudoctor.logs.line_kinds import (
    COMPLAINT,
    CONTEXT,
    ENOUGH,
    FINISHED,
    GAVE_UP,
    THREAD,
    is_no_message,
    is_result,
    reports_failure,
    tries_again,
)
from gpudoctor.logs.lines import FULL, Line
from gpudoctor.logs.output import Output
from gpudoctor.logs.raised import Raised
from gpudoctor.logs.recurrence import Openings, counts_on, dies_again, same_begin, shapes
from gpudoctor.logs.tracebacks import UNCAUGHT
from gpudoctor.patterns import late_pattern

LAUNCHER = late_pattern(r"[/\\]bin[/\\]\w+$")
"""A program that starts others, such as torchrun: its traceback begins there."""
SAMPLE = 500
"""Lines of programs that tell what stands in front of all of them."""
MANY = 60
"""Lines, or exceptions, of a process that are looked at for what tells of one of them."""
LOGGED = late_pattern(
    r"\b(?:ERROR|WARN(?:ING)?|CRITICAL|FATAL|INFO|DEBUG)\b|"
    # glog's letter, and the names that structlog and logfmt write small
    r"^\[?[DIWEF](?: ?\d{4}| \d{4}-\d\d-\d\d)[ T]\d\d:\d\d|\[(?:error|warning|critical|info|debug) *\]|"
    r"\blevel=(?:error|warn(?:ing)?|critical|fatal|info|debug)\b"
)
"""The level in a logger's line."""


class Aftermath(Output):
    """What stands below and above a failure, and whether it ended the process that wrote it."""

    def __init__(self, lines: Sequence[Line], raised: Sequence[Raised]) -> None:
        super().__init__(lines, raised)
        self.ranks = {line.rank for line in lines if line.rank is not None}
        self.first: dict[tuple[str, str], int] = {}

    def marked(self, line: Line) -> bool:
        """Return whether torch marks a line as one of an exception that ends a rank."""
        return UNCAUGHT.search(line.full) is not None and not self._all_marked

    @functools.cached_property
    def _all_marked(self) -> bool:
        """Whether somebody put torch's mark in front of what programs print of their own: it tells nothing then."""
        places = range(len(self.lines))
        ordinary = (p for p in places if self._ordinary(p) and not self.around(self.lines[p], p))
        own = list(itertools.islice(ordinary, SAMPLE))
        return sum(UNCAUGHT.search(self.lines[p].full) is not None for p in own) > 0.5 * len(own)

    def goes_on(self, line: Line) -> bool:
        """Return whether the process of a line wrote the last of the log, and that tells of no failure.

        Where the line does not tell its process, any may have been it.
        """
        return self.wrote_last(line) or (not line.who and any(name == line.name for name, _ in self._tail))

    def _ends_uncaught(self) -> bool:
        """Return whether nothing but the message of an exception that ended the log's one process stands below it."""
        final = self.raised[-1] if self.raised else None
        if final is None:
            return False
        if not self.passed_on_by(final):
            if not self._alone or self._caught(final):
                return False
            if not final.at_top and (final.frames or final.told):
                return False
        below = [line.text for line in self.lines[final.place + 1 :] if line.text]
        own = [line.text for at, line in enumerate(self.lines) if at > final.place and self._ordinary(at)]
        results = any(map(is_no_message, own)) or counts_on(below)
        return len(below) <= final.last - final.place and not results

    def has_results(self, name: str) -> bool:
        """Return whether below everything that tells of a failure a program still prints results in a file."""
        return any(self._tail[key] for key in self._tail if key[0] == name)

    def has_results_below(self, line: Line) -> bool:
        """Return whether a program still prints results below a line, and below everything that tells of a failure."""
        return self.has_results(line.name) and any(line is x for x in self.lines[: self._last_result])

    def _went_on(self, line: Line, place: int) -> bool:
        """Return whether the process of a line still printed results below all failures of the log.

        A line that names no process may be any one's, unless torch itself says that the exception ended its rank. What
        a program prints is kept back where no terminal reads it, and then stands below a traceback that ended it.
        """
        if self._died_later(line, place):
            return True
        if self._gave_up(line, place):
            return False
        name, who = line.name, line.who
        unnamed = not self.marked(line) and self._tail.get((name, ""), False)
        if not (self._tail.get((name, who), False) or unnamed or (not who and self.has_results(name))):
            return self.in_thread(line, place) and self._finished_before(line, place)
        return self._result_below(place) and not self._kept_back(line, place)

    def _result_below(self, place: int) -> bool:
        """Return whether a line below another one holds a result, and belongs to the same block of an issue."""
        until = self.until(place)
        if until == len(self.lines):
            return place < self._last_result
        return any(self._ordinary(p) and is_result(self.lines[p].text[:400]) for p in range(place + 1, until))

    @functools.cached_property
    def openings(self) -> Openings:
        """The first lines of the log."""
        return Openings(self.lines)

    def _kept_back(self, line: Line, place: int) -> bool:
        """Return whether an exception may have ended its process, and what stands below it was printed before it."""
        raised = self.around(line, place)
        if raised is None or not raised.frames or len(self.ranks) > 1 or self._caught(raised):
            return False  # where ranks are told apart, a launcher would have said that one ended
        if raised.of_thread:
            return False  # that ends no process
        if LAUNCHER.search(raised.frames[0].path):
            return False  # it prints nothing itself, and has waited for those that do
        if self._alone and self.openings.begun_anew(raised.first, raised.place) is not None:
            return False  # what stands below is another run's
        return self._first_ordinary(raised.line) > raised.first and not self._bars_below(raised)

    def _bars_below(self, raised: Raised) -> bool:
        """Return whether bars come to their end below an exception: they go where it went, and are not kept back."""
        rows = (row for row in self.lines[raised.last + 1 :] if row.name == raised.line.name and row.bar)
        return sum(1 for row in itertools.islice(rows, ENOUGH) if FULL.search(row.text)) == ENOUGH

    def begins_with(self, raised: Raised) -> bool:
        """Return whether a paste begins with an exception as Python prints it: somebody cut it out of an output.

        What a person wrote, typed or copied stands below, and no program goes on there.
        """
        if raised.frames or raised.told or raised.late or raised is not self.raised[0]:
            return False
        return not any(line.text for line in self.lines[: raised.first])

    def _caught(self, raised: Raised) -> bool:
        """Return whether a handler printed an exception, as its traceback or what stands above it tells."""
        if raised.caught or self._came_again(raised):
            return True
        texts = self.texts[raised.line.name, raised.line.who]
        at = bisect_left(texts, self.first_of_chain(raised).first, key=lambda row: row[0])
        above = [self.lines[place].full for place, _ in texts[max(0, at - 4) : at]]
        passed_on = any(map(PASSED.match, above)) and not any(
            "ProcessRaisedException" in text for text in above
        )
        return passed_on or bool(above and LOGGED.search(above[-1]))

    def _came_again(self, raised: Raised) -> bool:
        """Return whether an exception was raised more than once below the same line of a log's one process.

        It was caught there, or the process was started anew: what stands below the last of them tells the end.
        """
        return self._alone and bool(same_begin(raised, self.spans[raised.line.name, raised.line.who][-MANY:]))

    def _first_ordinary(self, line: Line) -> int:
        """Return the place of the first line that a line's process printed of its own; behind the log without any."""
        process = (line.name, line.who)
        if process not in self.first:
            places = (
                place
                for place, _ in self.texts[process]
                if self._ordinary(place) and not self.around(line, place)
            )
            self.first[process] = next(places, len(self.lines))
        return self.first[process]

    def _gave_up(self, line: Line, place: int) -> bool:
        """Return whether the process says, right above or below what failed, that it ends with it."""
        texts = self.texts[line.name, line.who]
        raised = self.around(line, place)
        first, last = (raised.first, max(place, raised.place)) if raised is not None else (place, place)
        before = bisect_left(texts, first, key=lambda row: row[0])
        after = bisect_right(texts, last, key=lambda row: row[0])
        return any(GAVE_UP.search(text, 0, 400) for _, text in texts[max(0, before - 1) : after + 1])

    def _died_later(self, line: Line, place: int) -> bool:
        """Return whether the one process that wrote a log died of another exception, further down: it dies once.

        A script whose tracebacks begin in the same file is one process, where nothing shows that there were several.
        """
        raised = self.around(line, place)
        if raised is None or not self._alone or not raised.at_top:
            return False
        return dies_again(raised, self.spans[line.name, line.who][-MANY:])

    @functools.cached_property
    def _alone(self) -> bool:
        """Whether nothing shows that several processes wrote the log, at once or one after the other."""
        return len(self.texts) == 1 and launched(self.lines).launcher is None

    def _finished_before(self, line: Line, place: int) -> bool:
        """Return whether its process said, in one of the last lines before, that the training had come to its end."""
        texts = self.texts[line.name, line.who]
        at = bisect_left(texts, place, key=lambda row: row[0])
        return any(FINISHED.search(text) and self._ordinary(at) for at, text in texts[max(0, at - MANY) : at])

    def wrote_last(self, line: Line) -> bool:
        """Return whether ordinary lines below everything that tells of a failure are those of a line's own process."""
        return (line.name, line.who) in self._tail

    def in_thread(self, line: Line, place: int) -> bool:
        """Return whether a line lies in the exception of a thread: that ends the thread, and not the process."""
        raised = self.around(line, place)
        if raised is None:
            return False
        if raised.of_thread:
            return True
        texts = self.texts[line.name, line.who]
        at = bisect_left(texts, raised.first, key=lambda row: row[0])
        # Where it debugs, asyncio says of what called the task, too: a stack below a word of its own.
        most = max(0, at - MANY)
        while at > most and (self.lines[texts[at - 1][0]].indent or CONTEXT.match(texts[at - 1][1])):
            at -= 1
        return any(THREAD.match(text) for _, text in texts[max(0, at - 2) : at])

    @functools.cached_property
    def _last_result(self) -> int:
        """The place of the last line that holds a result; -1 where no line does."""
        places = reversed(range(len(self.lines)))
        return next((p for p in places if self._ordinary(p) and is_result(self.lines[p].text[:400])), -1)

    @functools.cached_property
    def _tail(self) -> dict[tuple[str, str], bool]:
        """The processes that wrote ordinary lines below everything that tells of a failure, and whether a result.

        What is indented below the line that names the last exception belongs to it. Of a healthy log nobody asks.
        """
        # A line right below an exception may belong to its message.
        ended = (one for one in self.raised if (one.frames or not one.told) and not self._caught(one))
        message = max((one.last for one in ended), default=-1)
        before = self._printed_before(message) if message > self._last_failure else set()
        found: dict[tuple[str, str], bool] = {}
        for place in range(self._last_failure + 1, self.until(self._last_failure)):
            line = self.lines[place]
            text = line.text[:400]
            if self._ordinary(place) and not tries_again(text):
                own = place > message or not before.isdisjoint(shapes([text]))
                if not own and COMPLAINT.search(text):
                    continue
                result = (is_result if own else is_no_message)(text) or FULL.search(text) is not None
                key = (line.name, line.who)
                found[key] = found.get(key, False) or result
        return found

    def _printed_before(self, message: int) -> set[str]:
        """Return the kinds of lines right below the last exception that its program had printed above it too.

        They are no part of the message.
        """
        first = max((one.first for one in self.raised), default=0)
        below = shapes(self.lines[p].text for p in range(self._last_failure + 1, message + 1))
        return below & shapes(line.text for line in self.lines[:first]) if below else below

    @functools.cached_property
    def _last_failure(self) -> int:
        """The place of the last line that tells of a failure; -1 where none does."""
        last = max((one.place for one in self.raised), default=-1)
        below = reversed(range(last + 1, len(self.lines)))
        return next((p for p in below if reports_failure(self.lines[p].full, self.lines[p].text)), last)

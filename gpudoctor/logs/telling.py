"""What a program says in, above and below a failure: that it goes on, or that it only tells of one."""

import functools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from gpudoctor.logs.aftermath import MANY
from gpudoctor.logs.command_ends import STATUS
from gpudoctor.logs.foreign_lines import BACKTRACE, CODE, HELP, REASON, SETUP
from gpudoctor.logs.handling import Handling
from gpudoctor.logs.line_kinds import (
    ALIVE,
    ENOUGH,
    GAVE_UP,
    HANDLED,
    NOISE,
    REPR,
    SETTLED,
    THREAD,
    TRYING,
    WRAPPER,
    tells_of_failure,
    tries_again,
)
from gpudoctor.logs.lines import Line
from gpudoctor.logs.raised import CUT_OFF, Raised
from gpudoctor.logs.recurrence import same_begin, shapes
from gpudoctor.logs.tracebacks import MARKED, in_traceback
from gpudoctor.logs.values import NO_VALUE

TOP = 5
"""Lines at the top of a log among which the usage stands where it is the text of --help."""


class Telling(Handling):
    """The words of a process around a failure."""

    def __init__(self, lines: Sequence[Line], raised: Sequence[Raised]) -> None:
        super().__init__(lines, raised)
        self.ordinary: dict[tuple[str, str], int] = {}

    def _mentioned(self, line: Line, place: int) -> bool:
        """Return whether a line only tells of a failure: in a table, or as information while the process goes on."""
        raised = self.around(line, place)
        if raised is not None and raised.frames:
            return False
        if raised is None and CODE.search(line.text, 0, 400) and self.in_python(place):
            return True
        # The last that was printed may be all that came: nothing tells that the process went on from that.
        informs = ALIVE.search(line.full) is not None and place < self._last_said and self.goes_on(line)
        # It is another process of which a supervisor says that it failed, at whatever level.
        informs = informs and STATUS.search(line.text, 0, 400) is None
        written = REPR.search(line.text, 0, 400) is not None and (raised is None or raised.told != "")
        written = written and not MARKED.match(line.text)  # source that ran
        informs = informs or (written and place < self._quiet_end)
        return informs or NO_VALUE.search(line.text, 0, 400) is not None

    @functools.cached_property
    def _last_said(self) -> int:
        """The place of the last line that a program printed of its own; -1 without any."""
        return next((p for p in reversed(range(len(self.lines))) if self._ordinary(p)), -1)

    @functools.cached_property
    def _quiet_end(self) -> int:
        """The place of the last line where that tells of no failure, and is no job's end; -1 where it does."""
        said = (p for p in reversed(range(len(self.lines))) if self.lines[p].text and not self.lines[p].bar)
        texts = ((p, self.lines[p].text[:400]) for p in said)
        last, text = next((row for row in texts if not NOISE.search(row[1])), (-1, ""))
        wrapped = WRAPPER.search(text) is not None or GAVE_UP.search(text) is not None
        ended = not text or tells_of_failure(text) or wrapped or tries_again(text)
        return -1 if ended else last

    def _over_and_over(self, line: Line, place: int) -> bool:
        """Return whether a program's last lines all say the same of a failure: it does nothing else."""
        texts = [row for row in self.texts[line.name, line.who] if row[0] != self.fragment]
        at = bisect_left(texts, place, key=lambda row: row[0])
        last = [text for _, text in texts[-ENOUGH:]]
        kind = shapes([line.text])
        same = all(shapes([text]) == kind for text in last)
        return bool(kind) and at < len(texts) and len(last) == ENOUGH and same

    def _handled(self, line: Line, place: int) -> bool:
        """Return whether the process says, right before, in or after what failed, that it goes on, and then does."""
        raised = self.around(line, place)
        if raised is not None and raised.type == CUT_OFF:
            return False  # nothing stands below it, and what stands above is of something else
        first, last = (raised.first, max(place, raised.place)) if raised is not None else (place, place)
        texts = self.texts[line.name, line.who]
        before = bisect_left(texts, first, key=lambda row: row[0])
        after = bisect_right(texts, last, key=lambda row: row[0])
        # Where NCCL retried, and then warns, it did not help.
        above = [
            row for row in texts[max(0, before - 2) : before] if not SETUP.search(self.lines[row[0]].full)
        ]
        near = above + texts[after : after + 2]
        around = [
            text for place, text in near if not (self._reason(place) or in_traceback(self.lines, place))
        ]
        if not line.who:  # any process may have printed it, and tell of it
            below = range(last + 1, min(last + 4, len(self.lines)))
            rows = (p for p in below if self.lines[p].name == line.name)
            said = (p for p in rows if not (self._reason(p) or in_traceback(self.lines, p)))
            around += [self.lines[p].text for p in said]
        if self._last_ordinary(line) <= after:
            # Nothing comes after it but what failed; it may have been the last that one of several ranks said.
            own = [line.text[:400]] if raised is None else []
            return self.has_results(line.name) and any(SETTLED.search(text) for text in [*around, *own])
        # Where a launcher says below it that a worker failed, that may be why.
        thread = (
            raised is not None and not self._told_below(place) and any(THREAD.match(text) for text in around)
        )
        return thread or any(HANDLED.search(text) for text in [*around, texts[after - 1][1]])

    def _as_another_rank(self, line: Line, place: int) -> bool:
        """Return whether another rank caught the same in the same line and printed results below it."""
        raised = self.around(line, place)
        if raised is None or not (line.who and raised.caught) or self.marked(line):
            return False
        if self.gave_in or self._told_below(place) or self._gave_up(line, place):
            return False
        others = [
            spans for key, spans in self.spans.items() if key[0] == line.name and key[1] not in ("", line.who)
        ]
        return any(
            (one.type, one.message) == (raised.type, raised.message) and self._good_below(one, spans)
            for spans in others
            for one in same_begin(raised, spans[-MANY:])
        )

    def _reason(self, place: int) -> bool:
        """Return whether a line is the reason that NCCL gives for its error: no program skips anything there."""
        return place > 0 and self.lines[place - 1].text == REASON

    def _is_help(self, line: Line, place: int) -> bool:
        """Return whether a line belongs to the text that --help prints: that names errors, and reports none."""
        if self._help is None or place <= self._help:
            return False
        raised = self.around(line, place)
        return raised is None or not raised.frames

    @property
    def only_help(self) -> bool:
        """Whether the log is the text that --help prints: it begins with the usage."""
        begin = [line.text for line in self.lines[:TOP] if line.text]
        return self._help is not None and any(text.lower().startswith("usage: ") for text in begin)

    @functools.cached_property
    def _help(self) -> int | None:
        """The place of the line in which --help tells of itself; ``None`` without one."""
        return next((place for place, line in enumerate(self.lines) if HELP in line.text), None)

    def _last_ordinary(self, line: Line) -> int:
        """Return the number, among its process's lines, of the last one that reports no failure; -1 without any."""
        process = (line.name, line.who)
        if process not in self.ordinary:
            rows = self.texts[process]
            told = (
                at
                for at in reversed(range(len(rows)))
                if not any(words.search(rows[at][1], 0, 400) for words in (*TRYING, BACKTRACE))
            )
            self.ordinary[process] = next(told, -1)
        return self.ordinary[process]

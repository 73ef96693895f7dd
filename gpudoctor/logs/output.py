"""Which lines of a log a program printed of its own, and where what somebody pasted begins and ends."""

import functools
import itertools
from bisect import bisect_left, bisect_right

from gpudoctor.logs.chains import Chains
from gpudoctor.logs.cut_off import fragment
from gpudoctor.logs.foreign_lines import BACKTRACE, CODE, LISTED, NCCLS, REASON
from gpudoctor.logs.line_kinds import ALIVE, MEASURE, NOISE, PARTING, SETTLED, WRAPPER, says_done, sentence
from gpudoctor.logs.lines import FULL
from gpudoctor.logs.pasted import beside_output, block_ends, leading_up
from gpudoctor.logs.tracebacks import in_traceback
from gpudoctor.logs.values import DATA
from gpudoctor.logs.wrapping import cut_width
from gpudoctor.patterns import late_pattern

WORDLESS = late_pattern(r"[\W_]*$")
"""A line without a letter or a number: a rule, or the dots of somebody who left something out."""
PYTHON = late_pattern(r"\s*```py(?:thon3?)?\s*$")
"""The mark above a block of Python's source."""
NO_OUTPUT = (NOISE, CODE, LISTED, BACKTRACE)
"""What stands in a log and is nothing that its program prints of its own."""

RULER = late_pattern(r"-{70,80}$")
"""What Open MPI draws above and below a message."""
BOX_MOST = 40
"""Lines of the longest of its messages."""


class Output(Chains):
    """The lines that programs printed of their own, between exceptions, warnings, and what somebody wrote."""

    def until(self, place: int) -> int:
        """Return where the block of code ends in which a line of an issue stands; behind the log where it is in none.

        What stands below that somebody wrote, or copied from elsewhere.
        """
        at = bisect_right(self._blocks, place, key=lambda mark: mark[0])
        if at == len(self._blocks):
            return len(self.lines)
        mark, ends = self._blocks[at]
        # What stands above a block that somebody leads up to in words is no output of what stands in it.
        return mark if ends or leading_up(self.lines, mark) >= 0 else len(self.lines)

    def in_python(self, place: int) -> bool:
        """Return whether a line stands in a block that its mark calls Python, such as a notebook's cell."""
        at = bisect_left(self._blocks, place, key=lambda mark: mark[0])
        return at > 0 and PYTHON.match(self.lines[self._blocks[at - 1][0]].full) is not None

    @functools.cached_property
    def _blocks(self) -> list[tuple[int, bool]]:
        """The marks above and below the blocks of code of an issue, and which of them end one."""
        return block_ends(self.lines)

    @functools.cached_property
    def _words(self) -> set[int]:
        """The places of the lines in which somebody leads up to a block of code."""
        return {leading_up(self.lines, mark) for mark, _ in self._blocks}

    @functools.cached_property
    def _boxed(self) -> set[int]:
        """The places of the lines in boxes of Open MPI's, between two rulers: a message that begins with a sentence."""
        rulers = [p for p, line in enumerate(self.lines) if RULER.match(line.full.strip())]
        boxed: set[int] = set()
        for top, bottom in itertools.pairwise(rulers):
            said = next((line.text for line in self.lines[top + 1 : bottom] if line.text), "")
            if bottom - top <= BOX_MOST and sentence(said):
                boxed.update(range(top, bottom + 1))
        return boxed

    def whole(self, place: int) -> int:
        """Return the place of the last piece of a line that a terminal cut at its width."""
        while place + 1 < len(self.lines) and self._cut(place):
            place += 1
        return place

    def _cut(self, place: int) -> bool:
        """Return whether a terminal cut a line, so that the next one is its rest; rich fills a line with blanks."""
        line = self.lines[place]
        whole = line.bar or line.full.endswith("  ")
        return bool(line.text) and not whole and len(line.full) == self.width

    @functools.cached_property
    def width(self) -> int:
        """The width at which the lines of the log were cut: several have it and none is longer; 0 where none were."""
        return cut_width(self.lines)

    @functools.cached_property
    def _traceback(self) -> bool:
        """Whether a traceback is in the log."""
        return any(one.frames for one in self.raised)

    @functools.cached_property
    def fragment(self) -> int:
        """The place of the last line where it was cut off; -1 where nothing shows that."""
        return fragment(self.lines)

    def _in_message(self, place: int) -> bool:
        """Return whether a line belongs to what an exception says that stands above it."""
        raised = self.around(self.lines[place], place)
        return raised is not None and raised.place < place

    def _ordinary(self, place: int) -> bool:
        """Return whether a line is what a program prints of its own, and not a warning, a sentence or a job's end."""
        line = self.lines[place]
        text = line.text[:400]
        if place and self._cut(place - 1):
            return False  # the rest of the line above
        if (
            place in self._words
            or place in self._boxed
            or place == self.fragment
            or in_traceback(self.lines, place)
            or WORDLESS.match(text)
        ):
            return False
        if place and self.lines[place - 1].text == REASON:
            return False
        above = self.lines[place - 1] if place else None
        if beside_output(line, above) or NCCLS.search(line.full):
            return False
        if SETTLED.search(text) or says_done(line.full, text):
            return True
        if (WRAPPER.search(text) and not MEASURE.search(text)) or PARTING.search(text):
            return False
        if ALIVE.search(line.full):
            return True
        noise = (line.bar and not FULL.search(text)) or any(words.search(text) for words in NO_OUTPUT)
        noise = noise or sentence(text)
        # What is indented below an exception belongs to it.
        part = line.indent and (self._traceback or self._in_message(place)) and not DATA.search(text)
        return bool(text) and not noise and not part

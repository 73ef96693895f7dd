"""The course of a log: in which order its lines were written, what its processes went on from."""

import functools
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from gpudoctor.logs.clock import times
from gpudoctor.logs.command_ends import LEFT_WITH, SUCCEEDED
from gpudoctor.logs.exception_names import USAGE_ERROR
from gpudoctor.logs.foreign_lines import CODE, LISTED, SETUP
from gpudoctor.logs.line_kinds import (
    END,
    ENOUGH,
    FINISHED,
    MEASURE,
    NOISE,
    PARTING,
    PROGRESS,
    RESULT,
    WRAPPER,
    is_result,
    reports_failure,
    says_done,
    sentence,
    tells_of_failure,
)
from gpudoctor.logs.lines import Line
from gpudoctor.logs.pasted import ASKING, PROMPT, quoted_in_words, title
from gpudoctor.logs.raised import Frame, Raised
from gpudoctor.logs.recurrence import shapes
from gpudoctor.logs.telling import Telling
from gpudoctor.logs.values import NAMED_VERSION
from gpudoctor.patterns import late_pattern

UNSHUT = "has failed to shutdown the rendezvous "
"""torch/distributed/elastic/rendezvous/dynamic_rendezvous.py."""
REFUSED = ": error: "
"""What argparse writes behind a program's name where it refuses the command line."""
COMPILER_WARNED = late_pattern(
    r"^\[?(?:rank\d+\]:\[?)?W\d{4} [\d:.]{8,18} \d+ \S{0,60}torch/_(?:dynamo|inductor)/"
)
"""A line of a warning of torch.compile's, as torch's own logger writes it."""
WARNED = late_pattern(r"\[W\d{4} ")
"""In front of a warning of torch's C++."""


class Timeline(Telling):
    """What is asked of a log again and again: the time of a line, what its process printed before and after it."""

    def __init__(self, lines: Sequence[Line], raised: Sequence[Raised]) -> None:
        super().__init__(lines, raised)
        self.times = times(lines)
        self.well, self.finished = self._well(lines)

    def order(self, place: int) -> tuple[float, int]:
        """Return the sort key of a line: its time where lines have one, and its place."""
        return (self.times[place] if self.times else 0.0, place)

    def survived(self, line: Line, place: int) -> bool:
        """Return whether the process went on after a line: what was caught and retried did not end it.

        It printed progress, or a launcher started it again and it did, or it says that it does without.
        """
        if place == self.title:
            return False  # somebody wrote it when all was over
        if quoted_in_words(line.full):
            return self._handled(line, place) or self._is_help(line, place)
        if self._never_ran(line, place):
            return False
        finished = place < self.finished < self.until(place)
        if place <= self.restart or finished or self._mentioned(line, place):
            return True
        if self._anew_below(line, place) or self._in_silence(line, place) or self._loops_on(line, place):
            return True
        if self._store_shut(line, place) or self._warned_in_vain(line, place):
            return True
        if self._ended_rank(line, place) or self.task_ended(line, place):
            return False
        if self._kept_from(line, place) or self._compiled_anyway(line, place):
            return True
        if self.in_thread(line, place) and self._fell(place):
            return False
        places = self.progress[line.name, line.who]
        until = self.until(place)
        printed = bisect_left(places, until) - bisect_right(places, place)
        went_on = printed >= ENOUGH or place < self.well < until
        went_on = went_on and not self._over_and_over(line, place)
        went_on = went_on or self._caught_for_certain(line, place)
        if went_on and not self._kept_back(line, place):
            return True
        handled = self._handled(line, place) and not self._over_and_over(line, place)
        handled = handled or self._tried(line, place) or self._aside(line, place)
        handled = handled or self._only_warned(line, place)
        went_on = self._went_on(line, place) and not self._over_and_over(line, place)
        went_on = went_on or self._came_before(line, place) or self._as_another_rank(line, place)
        return handled or went_on or self._is_help(line, place)

    def _kept_from(self, line: Line, place: int) -> bool:
        """Return whether the script that lies here catches an exception and goes on: it was no end of anything."""
        raised = self.around(line, place)
        if raised is None or self.marked(line) or self._gave_up(line, place):
            return False
        return self.last_of_chain(raised).kept_from

    def _compiled_anyway(self, line: Line, place: int) -> bool:
        """Return whether torch.compile warns of an exception: it then runs the code as it is."""
        return COMPILER_WARNED.search(line.full, 0, 200) is not None and self.around(line, place) is not None

    def _never_ran(self, line: Line, place: int) -> bool:
        """Return whether a program refused its command line, and no training follows: a job script may say "done"."""
        raised = self.around(line, place)
        if raised is None or raised.type != USAGE_ERROR or REFUSED not in raised.message:
            return False
        below = [(p, self.lines[p].text[:400]) for p in range(place + 1, len(self.lines))]
        good = [text for p, text in below if self._ordinary(p) and is_result(text, beyond_doubt=True)]
        looped = len(good) - len(shapes(good)) > 0 and not any(map(NAMED_VERSION.search, good))
        return not (looped or any(PROGRESS.search(text) or MEASURE.search(text) for _, text in below))

    def _store_shut(self, line: Line, place: int) -> bool:
        """Return whether torchrun only could not shut its rendezvous down, since the host of it had done so before.

        Below that it would say which worker failed; what C++ warns of above it is that the store is gone.
        """
        if place > self._shut or self.reported >= 0 or self.gave_in:
            return False
        warned = WARNED.search(line.full) is not None or place == self._shut
        return warned and not any(one.line.name == line.name for one in self.raised)

    def _warned_in_vain(self, line: Line, place: int) -> bool:
        """Return whether torch's C++ only warned, its program printed something below, and torchrun says of no failure.

        Where nothing but the warning shows, it may be why a training hangs.
        """
        if not self._torchrun or self.reported >= 0 or self.gave_in or self.raised or self.asked:
            return False
        return WARNED.search(line.full) is not None and self.wrote_last(line) and self._last_said > place

    @functools.cached_property
    def _shut(self) -> int:
        """The place of the last line in which torchrun says that it could not shut its rendezvous down; -1 without."""
        places = reversed(range(len(self.lines)))
        return next((p for p in places if UNSHUT in self.lines[p].text), -1)

    def _ended_rank(self, line: Line, place: int) -> bool:
        """Return whether torch says that an exception ended a rank, and the launcher that it was not started again.

        What the rank had printed may be passed on later than that.
        """
        return self.restart < place < self.reported and self.marked(line)

    def _well(self, lines: Sequence[Line]) -> tuple[int, int]:
        """Return the place before which all failures were got over, because the log comes to a good end; -1 if not.

        The second one says so in words, and not by a result alone.
        """
        said = [
            (place, line.text)
            for place, line in enumerate(lines)
            # NCCL says "COMPLETE" of its communicator, aborted ones too.
            if line.text
            and not (line.bar or place == self.fragment or SETUP.search(line.full) or self._reason(place))
        ]
        last = [
            (place, text)
            for place, text in said[-2 * END :]
            if not (NOISE.search(text) or LISTED.search(text))
        ][-END:]
        if last and (SUCCEEDED.search(last[-1][1]) or self._all_left_well(last[-1][0])):
            return last[-1][0], last[-1][0]
        failed = (at for at, (place, text) in enumerate(last) if _fails(lines[place], text[:400]))
        after = 1 + max(failed, default=-1)
        end = last[after:]
        results = [
            text
            for _, text in end
            if RESULT.search(text, 0, 400) and not WRAPPER.search(text, 0, 400) and not sentence(text)
        ]
        finished = [row for row in end if FINISHED.search(row[1], 0, 400) and not sentence(row[1])]
        own = [
            text
            for place, text in finished
            if says_done(lines[place].full, text)
            or not (WRAPPER.search(text, 0, 400) or PARTING.search(text, 0, 400))
        ]
        # Right below an error a result may be another rank's, and a bare "done" the job script's; both are enough.
        enough = bool(own) or (bool(results) and (not after or bool(finished)))
        return (last[-1][0] if enough else -1), (last[-1][0] if own else -1)

    def _all_left_well(self, end: int) -> bool:
        """Return whether a supervisor says last that a program ended with 0, and of none that it did not in the end.

        What the program printed stands above: behind a pipe, the 0 may be that of the pipe's other end.
        """
        if not LEFT_WITH.match(self.lines[end].text):
            return False
        codes: dict[str, str] = {}
        before = -1
        for place, line in enumerate(self.lines):
            if "with" in line.text and (left := LEFT_WITH.match(line.text)):
                codes[left["who"]] = left["code"]
                before = place if place < end else before
        results = (p for p in range(before + 1, end) if self._ordinary(p) and is_result(self.lines[p].text))
        failed = max((one.place for one in self.raised), default=-1)
        return set(codes.values()) == {"0"} and next(results, -1) > -1 and failed < before

    def _output_below(self, place: int) -> bool:
        """Return whether a program printed something of its own below a line, in the same block of an issue."""
        until = self.until(place)
        if until == len(self.lines):
            return place < self._last_said
        return any(map(self._ordinary, range(place + 1, until)))

    @functools.cached_property
    def got_somewhere(self) -> bool:
        """Whether a program printed a result, or a step of a training: without any, what it reports had ended it."""
        told = (self.lines[p] for each in self.results.values() for p in each)
        good = (x for x in told if is_result(x.text[:400], beyond_doubt=True))
        return any(self.progress.values()) or not all(reports_failure(x.full, x.text) for x in good)

    def ends_at(self, place: int, alike: set[int]) -> bool:
        """Return whether the log ends at a line: below it nothing is printed but lines `alike`, and nothing fails."""
        if self._last_failure > place:
            return False
        below = [p for p in range(place + 1, len(self.lines)) if p not in alike and p != self.fragment]
        return not any(map(self._alive, below))

    def _alive(self, place: int) -> bool:
        """Return whether a line shows that a program, or a shell, went on; what somebody wrote does not."""
        line = self.lines[place]
        text = line.text[:400]
        if line.bar or PROMPT.match(text) or CODE.search(text):
            return True
        return self._ordinary(place) and not ASKING.match(text)

    def _results_below(self, place: int) -> bool:
        """Return whether a program prints a result below a line, beyond doubt."""
        below = (p for p in range(place + 1, len(self.lines)) if self._ordinary(p))
        return any(is_result(self.lines[p].text[:400], beyond_doubt=True) for p in below)

    @functools.cached_property
    def title(self) -> int:
        """The place of the title above the text of an issue; -1 without one."""
        return title(self.lines)

    @functools.cached_property
    def asked(self) -> bool:
        """Whether somebody asks for help in the text: what failed there is what it is about."""
        return any(ASKING.match(line.text[:400]) for line in self.lines)

    def chains(self) -> list[list[Raised]]:
        """Put each exception together with those that were raised while it was handled."""
        chains: list[list[Raised]] = []
        last: dict[tuple[str, str], list[Raised]] = {}
        for one in sorted(self.raised, key=lambda raised: self.order(raised.place)):
            key = (one.line.name, one.line.who)
            if one.chained and key in last:
                last[key].append(one)
            else:
                last[key] = [one]
                chains.append(last[key])
        return chains

    def own_of(self, raised: Raised | None) -> Frame | None:
        """Return the innermost line of the user's own code that led to an exception.

        The traceback of a cause may hold a library's lines alone: the one that it was turned into has the user's.
        """
        chain = next((chain for chain in self.chains() if raised in chain), [])
        own = (one.own for one in itertools.dropwhile(lambda one: one is not raised, chain))
        return next((frame for frame in own if frame is not None), None)


def _fails(line: Line, text: str) -> bool:
    """Return whether a line's words tell of a failure, or its logger's level and no word says that it was got over."""
    return tells_of_failure(text) or reports_failure(line.full, text)

"""The course of a log: in which order its lines were written, what its processes went on from."""

import functools
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence

from gpudoctor.logs.launcher import launched
from gpudoctor.logs.lines import Line
from gpudoctor.logs.tracebacks import Raised
from gpudoctor.logs.words import (
    ALIVE,
    DATA,
    END,
    ENOUGH,
    FINISHED,
    HANDLED,
    HELP,
    NOISE,
    PROGRESS,
    RESTARTED,
    RESULT,
    SETTLED,
    THREAD,
    TRYING,
    WRAPPER,
    is_result,
    sentence,
    tells_of_failure,
)

UNCAUGHT = re.compile(r"(?:^|:)\[rank\d+\]: ")
"""What torch puts before the traceback of an exception that ends a rank: init_process_group sets sys.excepthook."""
PASSED = re.compile(r"-- Process \d+ terminated with the following error")
"""What torch.multiprocessing.spawn says to its caller; where nobody catches that, its own exception stands above."""
LOGGED = re.compile(r"\b(?:ERROR|WARN(?:ING)?|CRITICAL|INFO|DEBUG)\b")


class Timeline:
    """What is asked of a log again and again: the time of a line, what its process printed before and after it."""

    def __init__(self, lines: Sequence[Line], raised: Sequence[Raised]) -> None:
        self.times = _times(lines)
        self.progress: dict[tuple[str, str], list[int]] = defaultdict(list)
        for place, line in enumerate(lines):
            if PROGRESS.search(line.text, 0, 400) and not line.text.startswith(("File ", "Traceback")):
                self.progress[line.name, line.who].append(place)
        self.restart = self._restart(lines)
        self.well = self._well(lines)
        self.lines, self.raised = lines, raised
        self.texts: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
        for place, line in enumerate(lines):
            if line.text:
                self.texts[line.name, line.who].append((place, line.text))
        self.ranks = {line.rank for line in lines if line.rank is not None}
        self.ordinary: dict[tuple[str, str], int] = {}
        self.spans: dict[tuple[str, str], list[Raised]] = defaultdict(list)
        for exception in raised:
            self.spans[exception.line.name, exception.line.who].append(exception)

    def order(self, place: int) -> tuple[float, int]:
        """Return the sort key of a line: its time where lines have one, and its place."""
        return (self.times[place] if self.times else 0.0, place)

    def survived(self, line: Line, place: int) -> bool:
        """Return whether the process went on after a line: what was caught and retried did not end it.

        It printed progress, or a launcher started it again and it did, or it says that it does without.
        """
        places = self.progress[line.name, line.who]
        if len(places) - bisect_right(places, place) >= ENOUGH or place <= self.restart or place < self.well:
            return True
        return self._handled(line, place) or self._went_on(line, place) or self._is_help(line, place)

    def around(self, line: Line, place: int) -> Raised | None:
        """Return the exception in whose traceback or message a line lies; ``None`` where it lies in none."""
        spans = self.spans[line.name, line.who]
        at = bisect_right(spans, place, key=lambda raised: raised.first) - 1
        return spans[at] if at >= 0 and place <= spans[at].last else None

    def _restart(self, lines: Sequence[Line]) -> int:
        """Return the place of the last line of a launcher after which training began anew; -1 without any."""
        # Plain words first: most of a million lines hold neither, and a pattern is slower to say so.
        told = [
            (p, line.text) for p, line in enumerate(lines) if "orker" in line.text or "local_" in line.text
        ]
        places = [place for place, text in told if RESTARTED.search(text, 0, 400)]
        progress = sorted(place for each in self.progress.values() for place in each)
        went_on = [place for place in places if len(progress) - bisect_right(progress, place) >= ENOUGH]
        return max(went_on, default=-1)

    def _well(self, lines: Sequence[Line]) -> int:
        """Return the place before which all failures were got over, because the log comes to a good end; -1 if not."""
        said = [(place, line.text) for place, line in enumerate(lines) if line.text and not line.bar]
        last = [(place, text) for place, text in said[-2 * END :] if not NOISE.search(text)][-END:]
        after = 1 + max((at for at, (_, text) in enumerate(last) if tells_of_failure(text[:400])), default=-1)
        end = last[after:]
        results = [
            text for _, text in end if RESULT.search(text, 0, 400) and not WRAPPER.search(text, 0, 400)
        ]
        finished = [text for _, text in end if FINISHED.search(text, 0, 400) and not sentence(text)]
        own = [text for text in finished if not WRAPPER.search(text, 0, 400)]
        # Right below an error a result may be another rank's, and a bare "done" the job script's; both are enough.
        enough = bool(own) or (bool(results) and (not after or bool(finished)))
        return last[-1][0] if enough else -1

    def goes_on(self, line: Line) -> bool:
        """Return whether the process of a line wrote the last of the log, and that tells of no failure.

        Where the line does not tell its process, any may have been it.
        """
        return self.wrote_last(line) or (not line.who and any(name == line.name for name, _ in self._tail))

    def has_results(self, name: str) -> bool:
        """Return whether below everything that tells of a failure a program still prints results in a file."""
        return any(self._tail[key] for key in self._tail if key[0] == name)

    def _went_on(self, line: Line, place: int) -> bool:
        """Return whether the process of a line still printed results below all failures of the log.

        A line that names no process may be any one's, unless torch itself says that the exception ended its rank. What
        a program prints is kept back where no terminal reads it, and then stands below a traceback that ended it.
        """
        if self._died_later(line, place):
            return True
        name, who = line.name, line.who
        unnamed = not UNCAUGHT.search(line.full) and self._tail.get((name, ""), False)
        if not (self._tail.get((name, who), False) or unnamed or (not who and self.has_results(name))):
            return self.in_thread(line, place) and self._finished_before(line, place)
        return self.well > place or not self._kept_back(line, place)

    def _kept_back(self, line: Line, place: int) -> bool:
        """Return whether an exception may have ended its process, and what stands below it was printed before it."""
        raised = self.around(line, place)
        if raised is None or raised.caught or not raised.frames or len(self.ranks) > 1:
            return False  # where ranks are told apart, a launcher would have said that one ended
        texts = self.texts[line.name, line.who]
        at = bisect_left(texts, raised.first, key=lambda row: row[0])
        above = [self.lines[place].full for place, _ in texts[max(0, at - 4) : at]]
        passed_on = any(map(PASSED.match, above)) and not any(
            "ProcessRaisedException" in full for full in above
        )
        if passed_on or (above and LOGGED.search(above[-1])):
            return False
        return not any(self._ordinary(place) for place, _ in texts[:at])

    def _died_later(self, line: Line, place: int) -> bool:
        """Return whether the one process that wrote a log died of another exception, further down: it dies once.

        A script whose tracebacks begin in the same file is one process, where nothing shows that there were several.
        """
        raised = self.around(line, place)
        if raised is None or not self._alone or not _at_top(raised):
            return False
        return any(
            other.first > raised.last
            and not other.chained
            and _at_top(other)
            and other.frames[0].path == raised.frames[0].path
            and (other.type, other.message) != (raised.type, raised.message)
            for other in self.spans[line.name, line.who]
        )

    @functools.cached_property
    def _alone(self) -> bool:
        """Whether nothing shows that several processes wrote the log, at once or one after the other."""
        return len(self.texts) == 1 and not self.ranks and launched(self.lines).launcher is None

    def _finished_before(self, line: Line, place: int) -> bool:
        """Return whether the training had come to its end before a line."""
        return any(
            FINISHED.search(text) and self._ordinary(at)
            for at, text in self.texts[line.name, line.who]
            if at < place
        )

    def _is_help(self, line: Line, place: int) -> bool:
        """Return whether a line belongs to the text that --help prints: that names errors, and reports none."""
        texts = self.texts[line.name, line.who]
        at = next((at for at, text in texts if HELP in text), place)
        return at < place and self.around(line, place) is None

    def wrote_last(self, line: Line) -> bool:
        """Return whether ordinary lines below everything that tells of a failure are those of a line's own process."""
        return (line.name, line.who) in self._tail

    def doubt(self, line: Line, place: int) -> str:
        """Say why a failure may not have ended its process; nothing where that is no question."""
        if self.goes_on(line):
            return "The log goes on below it: it may have been got over."
        return "It ended a thread, and not the process." if self.in_thread(line, place) else ""

    def in_thread(self, line: Line, place: int) -> bool:
        """Return whether a line lies in the exception of a thread: that ends the thread, and not the process."""
        raised = self.around(line, place)
        if raised is None:
            return False
        texts = self.texts[line.name, line.who]
        before = bisect_left(texts, raised.first, key=lambda row: row[0])
        return any(THREAD.match(text) for _, text in texts[max(0, before - 2) : before])

    @functools.cached_property
    def _tail(self) -> dict[tuple[str, str], bool]:
        """The processes that wrote ordinary lines below everything that tells of a failure, and whether a result.

        What is indented below the line that names the last exception belongs to it. Of a healthy log nobody asks.
        """
        last = max((one.place for one in self.raised), default=-1)
        # A line right below an exception may belong to its message.
        message = max((one.last for one in self.raised if one.frames and not one.caught), default=-1)
        found: dict[tuple[str, str], bool] = {}
        for place in reversed(range(last + 1, len(self.lines))):
            line = self.lines[place]
            text = line.text[:400]
            if tells_of_failure(text) and not NOISE.search(text) and not SETTLED.search(text):
                break
            if self._ordinary(place):
                key = (line.name, line.who)
                found[key] = found.get(key, False) or is_result(text, beyond_doubt=place <= message)
        return found

    def _ordinary(self, place: int) -> bool:
        """Return whether a line is what a program prints of its own, and not a warning, a sentence or a job's end."""
        line = self.lines[place]
        text = line.text[:400]
        if ALIVE.search(line.full) and not sentence(text.partition("INFO")[2]):
            return True
        noise = line.bar or NOISE.search(text) or WRAPPER.search(text) or sentence(text)
        return bool(text) and not noise and (not line.indent or DATA.search(text) is not None)

    def _handled(self, line: Line, place: int) -> bool:
        """Return whether the process says, right before, in or after what failed, that it goes on, and then does."""
        raised = self.around(line, place)
        first, last = (raised.first, max(place, raised.place)) if raised is not None else (place, place)
        texts = self.texts[line.name, line.who]
        before = bisect_left(texts, first, key=lambda row: row[0])
        after = bisect_right(texts, last, key=lambda row: row[0])
        around = [text for _, text in texts[max(0, before - 2) : before] + texts[after : after + 2]]
        if self._last_ordinary(line) <= after:
            # Nothing comes after it but what failed; it may have been the last that one of several ranks said.
            return self.has_results(line.name) and any(SETTLED.search(text) for text in around)
        thread = raised is not None and any(THREAD.match(text) for text in around)
        return thread or any(HANDLED.search(text) for text in [*around, texts[after - 1][1]])

    def _last_ordinary(self, line: Line) -> int:
        """Return the number, among its process's lines, of the last one that reports no failure; -1 without any."""
        process = (line.name, line.who)
        if process not in self.ordinary:
            rows = self.texts[process]
            told = (at for at in reversed(range(len(rows))) if not TRYING.search(rows[at][1], 0, 400))
            self.ordinary[process] = next(told, -1)
        return self.ordinary[process]


def _at_top(raised: Raised) -> bool:
    """Return whether an exception's traceback begins in a script, as of one that nobody caught does."""
    return bool(raised.frames) and raised.frames[0].function == "<module>" and not raised.late


def _times(lines: Sequence[Line]) -> list[float]:
    """Return the time of each line, by the last stamp before it in its file; empty where the text's order says more.

    That is so where one process wrote it all, in one file where too few lines are stamped, and where some file has no
    stamp at all. What stands in a file before its first stamp has the time of that one.
    """
    first: dict[str, float] = {}
    stamped: dict[str, list[bool]] = defaultdict(list)
    for line in lines:
        stamped[line.name].append(line.seconds is not None)
        if line.seconds is not None:
            first.setdefault(line.name, line.seconds)
    several = len({(line.name, line.who) for line in lines}) > 1
    dense = all(sum(each) > 0.5 * len(each) for each in stamped.values())
    if not several or len(first) < len(stamped) or not (dense or len(stamped) > 1):
        return []
    last = dict(first)
    times: list[float] = []
    for line in lines:
        if line.seconds is not None:
            last[line.name] = line.seconds
        times.append(last[line.name])
    return times

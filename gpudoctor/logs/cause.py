"""The cause among all that failed: what went wrong first, in which process; the rest followed, or is its echo."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from gpudoctor.logs.lines import Line
from gpudoctor.logs.symptoms import Seen
from gpudoctor.logs.tracebacks import CUT_OFF, Frame, Raised
from gpudoctor.model import Check, Severity

PROGRESS = re.compile(
    r"\b(?:[Ee]poch|EPOCH|[Ss]teps?|STEP|[Ii]ter(?:ation)?s?|[Bb]atch)\b\W{0,12}\d|\b[Ll]oss\b\W{0,4}\d|(?<![\d.])\d{1,6}(?:\.\d{1,4})?\s?(?:it/s|s/it|samples/s)"
)
"""What a training that goes on prints."""
ENOUGH = 3
"""Lines of progress after an error that show that it was survived; one may have been under way."""
NATIVE = re.compile(
    r"\bNCCL WARN\b|NVRM: |\bXid\b|terminate called|what\(\): |\[[EF] |\b[EF]\d{4} |[A-Z]\w+(?:Error|Exception)\b|"
    r"[Ee]rror\b|\bFATAL\b|\bfailed\b|[Aa]ssert|[Ss]ignal|[Ee]xit ?code|Killed|Aborted|fault\b|Warning: |\bWARN"
)
"""Words of libraries and systems that report a failure; a line without any may be a user's own remark."""
RESTARTED = re.compile(
    r"failed \(exitcode: -?\d+\) local_rank: |will restart worker group|Restarting worker group|Worker group FAILED"
)
"""What torchrun says of workers that it may start again; where training goes on after it, it did."""
HANDLED = re.compile(
    r"\b(?:[Ff]alling back|[Ff]all(?:s|en)? ?back to|[Ss]kipp(?:ing|ed)|[Rr]etry(?:ing)?\b(?! (?:limit|count))|"
    r"[Ii]gnoring|[Tt]rying (?:the )?(?:previous|next|older|again|another)|"
    r"[Uu]sing (?:the )?(?:CPU|cpu|previous|default|older)\b|"
    r"[Cc]ontinuing (?:without|with|anyway)|are off\b|PASSED\b)"
)
"""What a program says of a failure that it went on from."""
THREAD = re.compile(
    r"^Exception in thread |^Exception (?:occurred|happened) during processing of request|^Unhandled exception in thr"
)
"""What Python prints over the traceback of a thread: the process goes on."""
WARNED = re.compile(r"\[W[ \d]|^W\d{4} ")
"""torch's own log of something that it will try again, or do without."""


class Event(Struct):
    """One failure in a log."""

    check: Check
    seen: list[Seen]
    """Every line that shows it, the first one in front."""
    survived: bool = False
    """Training went on after it."""
    strong: bool = False
    """It was raised or reported as an error, not merely mentioned."""

    @property
    def ranks(self) -> list[int]:
        """The ranks that it was seen on."""
        return sorted({rank for seen in self.seen if (rank := rank_of(seen)) is not None})

    @property
    def tells_end(self) -> bool:
        """Whether a launcher says in it how a process ended: by a signal, or with an exit code of its own.

        Python leaves with 1 after any exception, of a lost connection too: that tells nothing.
        """
        return self.seen[0].sighting.groups.get("code", "1") not in ("0", "1")

    @property
    def fault(self) -> bool:
        """Whether it ended or spoilt the training, as far as the log shows."""
        made = self.seen[0].finding
        return (made or self.check).severity is Severity.ERROR and not self.survived


class Judgement(Struct):
    """What a log comes to."""

    cause: Event | None = None
    own: Frame | None = None
    """The innermost line of the user's own code above the cause."""
    raised: Raised | None = None
    """The first exception that no check knows, where that is the cause."""
    consequences: list[Event] = []
    remarks: list[Event] = []
    """Warnings and notes: they stand for themselves."""
    exceptions: Sequence[Raised] = ()
    """All that were raised."""


def rank_of(seen: Seen) -> int | None:
    """Return the rank that a sighting is about: the one that it names, else the one that wrote it."""
    named = seen.sighting.groups.get("rank", "")
    return int(named) if named.isdigit() and len(named) < 6 else seen.line.rank


def judge(lines: Sequence[Line], seen: Sequence[Seen], raised: Sequence[Raised]) -> Judgement:
    """Choose the one cause; whatever else failed followed from it, or is not known to have."""
    log = _Log(lines, seen, raised)
    events = log.events()
    faults = sorted((event for event in events if event.fault), key=log.when)
    present = {event.check.id for event in faults}
    echoes = _echoes(faults)
    causes = [
        e
        for e in faults
        if not e.check.secondary and e not in echoes and not e.check.follows & (present - {e.check.id})
    ]
    first = min(causes, key=lambda event: (not event.strong, log.when(event)), default=None)
    unknown = log.unknown()
    if unknown is not None and unknown.type == CUT_OFF and faults:
        unknown = None  # what is known says more
    if unknown is not None and first is not None:
        # What a check knows is the better answer, unless it was only mentioned beside a real traceback, or another
        # rank had died of something else by then.
        mentioned = not first.strong and bool(unknown.frames)
        first, unknown = (None, unknown) if mentioned or log.died_before(unknown, first) else (first, None)
    if first is None and unknown is None:
        first = min(
            faults,
            key=lambda event: (
                event in echoes,
                bool(event.check.follows & present),
                _ending(event, faults),
                log.when(event),
            ),
            default=None,
        )
    return Judgement(
        cause=first,
        own=log.own(first) if first is not None else None,
        raised=unknown,
        consequences=[event for event in faults if event is not first],
        remarks=[e for e in events if not e.fault],
        exceptions=raised,
    )


def _echoes(faults: Sequence[Event]) -> list[Event]:
    """Return what shows in a line in which a check of the site's own shows too: that one knows better."""
    own = {seen.place for event in faults if event.check.site for seen in event.seen}
    return [e for e in faults if not e.check.site and any(seen.place in own for seen in e.seen)]


def _ending(event: Event, faults: Sequence[Event]) -> int:
    """Return the place of an event among those of which none is a cause.

    How a process ended comes before what others say of having lost it, unless that process had said itself what went
    wrong: then it comes last.
    """
    if not event.tells_end:
        return 1
    named = rank_of(event.seen[0])
    said = {rank_of(seen) for other in faults if not other.tells_end for seen in other.seen}
    return 2 if named is not None and named in said else 0


class _Log:
    """What was read of a log, with what is asked of it again and again at hand."""

    def __init__(self, lines: Sequence[Line], seen: Sequence[Seen], raised: Sequence[Raised]) -> None:
        self.seen, self.raised = seen, raised
        self.times = _times(lines)
        self.progress: dict[tuple[str, str], list[int]] = defaultdict(list)
        for place, line in enumerate(lines):
            if PROGRESS.search(line.text, 0, 400) and not line.text.startswith(("File ", "Traceback")):
                self.progress[line.name, line.who].append(place)
        self.restart = self._restart(lines)
        self.texts: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
        for place, line in enumerate(lines):
            if line.text:
                self.texts[line.name, line.who].append((place, line.text))
        self.ordinary: dict[tuple[str, str], int] = {}
        self.spans: dict[tuple[str, str], list[Raised]] = defaultdict(list)
        for exception in raised:
            self.spans[exception.line.name, exception.line.who].append(exception)
        self.known: dict[tuple[str, str], list[tuple[int, bool]]] = defaultdict(list)
        for one in seen:
            self.known[one.line.name, one.line.who].append((one.place, one.check.secondary))

    def order(self, place: int) -> tuple[float, int]:
        """Return the sort key of a line: its time where lines have one, and its place."""
        return (self.times[place] if self.times else 0.0, place)

    def when(self, event: Event) -> tuple[float, int]:
        """Return the sort key of an event."""
        return self.order(event.seen[0].place)

    def survived(self, line: Line, place: int) -> bool:
        """Return whether the process went on after a line: what was caught and retried did not end it.

        It printed progress, or a launcher started it again and it did, or it says that it does without.
        """
        places = self.progress[line.name, line.who]
        if len(places) - bisect_right(places, place) >= ENOUGH or place <= self.restart:
            return True
        return self._handled(line, place)

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

    def _handled(self, line: Line, place: int) -> bool:
        """Return whether the process says, right before, in or after what failed, that it goes on, and then does."""
        raised = self.around(line, place)
        first, last = (raised.first, max(place, raised.place)) if raised is not None else (place, place)
        texts = self.texts[line.name, line.who]
        before = bisect_left(texts, first, key=lambda row: row[0])
        after = bisect_right(texts, last, key=lambda row: row[0])
        if self._last_ordinary(line) <= after:
            return False  # nothing comes after it but what failed
        around = [text for _, text in texts[max(0, before - 2) : before] + texts[after : after + 2]]
        thread = raised is not None and any(THREAD.match(text) for text in around)
        return thread or any(HANDLED.search(text) for text in [*around, texts[after - 1][1]])

    def _last_ordinary(self, line: Line) -> int:
        """Return the number, among its process's lines, of the last one that reports no failure; -1 without any."""
        process = (line.name, line.who)
        if process not in self.ordinary:
            rows = self.texts[process]
            told = (at for at in reversed(range(len(rows))) if not NATIVE.search(rows[at][1], 0, 400))
            self.ordinary[process] = next(told, -1)
        return self.ordinary[process]

    def events(self) -> list[Event]:
        """Put all sightings of one failure together, in the order in which they came."""
        groups: dict[str, list[Seen]] = defaultdict(list)
        for one in sorted(self.seen, key=lambda seen: self.order(seen.place)):
            groups[one.check.id].append(one)
        events = []
        for each in groups.values():
            lasting = [s for s in each if not self.survived(s.line, s.place)]
            first = next((s for s in lasting if self.strong(s)), (lasting or each)[0])
            rest = [s for s in each if s is not first]
            events.append(Event(first.check, [first, *rest], not lasting, self.strong(first)))
        return events

    def strong(self, seen: Seen) -> bool:
        """Return whether a sighting was raised or reported as an error: by its words, or inside an exception."""
        if WARNED.search(seen.line.full):
            return False
        return NATIVE.search(seen.line.full) is not None or self.around(seen.line, seen.place) is not None

    def around(self, line: Line, place: int) -> Raised | None:
        """Return the exception in whose traceback or message a line lies; ``None`` where it lies in none."""
        spans = self.spans[line.name, line.who]
        at = bisect_right(spans, place, key=lambda raised: raised.first) - 1
        return spans[at] if at >= 0 and place <= spans[at].last else None

    def own(self, event: Event) -> Frame | None:
        """Return the innermost line of the user's own code of the traceback in which an event lies."""
        spans = (self.around(seen.line, seen.place) for seen in event.seen)
        return next((raised.own for raised in spans if raised is not None and raised.own is not None), None)

    def unknown(self) -> Raised | None:
        """Return the first exception that no check knows; not one that was survived, passed on, or came at the end."""
        for chain in self.chains():
            own = [r for r in chain if not r.wrapper and not r.late]
            if (
                own
                and not any(map(self.recognised, chain))
                and not self.survived(chain[-1].line, chain[-1].place)
            ):
                return own[0]
        return None

    def died_before(self, raised: Raised, event: Event) -> bool:
        """Return whether an exception ended a rank before, on another one, something showed that is known."""
        rank = raised.line.rank
        other = rank is not None and bool(event.ranks) and rank not in event.ranks
        return other and bool(raised.frames) and self.order(raised.place) < self.when(event)

    def recognised(self, raised: Raised) -> bool:
        """Return whether a symptom lies in an exception: in its traceback or its message."""
        places = self.known[raised.line.name, raised.line.who]
        at = bisect_left(places, (raised.first, False))
        while at < len(places) and places[at][0] <= raised.last:
            # What only follows from others stands below many an exception; it explains the line that it is in.
            if not places[at][1] or places[at][0] <= raised.place:
                return True
            at += 1
        # A message that was cut off stands somewhere else in full: in the title of a report, say.
        begin = raised.message[:60].rstrip(". ")
        return len(begin) >= 20 and any(begin in seen.line.full for seen in self.seen)

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


def _times(lines: Sequence[Line]) -> list[float]:
    """Return the time of each line, by the last stamp before it; empty where the order of the text says more.

    That is so where one process wrote it all, and where too few lines of some file are stamped.
    """
    times: list[float] = []
    stamped: dict[str, list[bool]] = defaultdict(list)
    last: dict[str, float] = defaultdict(float)
    for line in lines:
        stamped[line.name].append(line.seconds is not None)
        if line.seconds is not None:
            last[line.name] = line.seconds
        times.append(last[line.name])
    several = len({(line.name, line.who) for line in lines}) > 1
    return times if several and all(sum(each) > 0.5 * len(each) for each in stamped.values()) else []

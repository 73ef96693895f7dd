"""The cause among all that failed: what went wrong first, in which process; the rest followed, or is its echo."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from gpudoctor.logs.lines import Line
from gpudoctor.logs.symptoms import Seen
from gpudoctor.logs.tracebacks import CUT_OFF, Raised
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
    def fault(self) -> bool:
        """Whether it ended or spoilt the training, as far as the log shows."""
        made = self.seen[0].finding
        return (made or self.check).severity is Severity.ERROR and not self.survived


class Judgement(Struct):
    """What a log comes to."""

    cause: Event | None = None
    raised: Raised | None = None
    """The first exception that no check knows, where that is the cause."""
    consequences: list[Event] = []
    remarks: list[Event] = []
    """Warnings and notes: they stand for themselves."""


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
        # What a check knows is the better answer, unless it was only mentioned beside a real traceback.
        mentioned = not first.strong and bool(unknown.frames)
        first, unknown = (None, unknown) if mentioned else (first, None)
    if first is None and unknown is None:
        first = min(
            faults,
            key=lambda event: (event in echoes, bool(event.check.follows & present), log.when(event)),
            default=None,
        )
    return Judgement(
        first, unknown, [event for event in faults if event is not first], [e for e in events if not e.fault]
    )


def _echoes(faults: Sequence[Event]) -> list[Event]:
    """Return what shows in a line in which a check of the site's own shows too: that one knows better."""
    own = {seen.place for event in faults if event.check.site for seen in event.seen}
    return [e for e in faults if not e.check.site and any(seen.place in own for seen in e.seen)]


class _Log:
    """What was read of a log, with what is asked of it again and again at hand."""

    def __init__(self, lines: Sequence[Line], seen: Sequence[Seen], raised: Sequence[Raised]) -> None:
        self.seen, self.raised = seen, raised
        self.times = _times(lines)
        self.progress: dict[tuple[str, str], list[int]] = defaultdict(list)
        for place, line in enumerate(lines):
            if PROGRESS.search(line.text, 0, 400) and not line.text.startswith(("File ", "Traceback")):
                self.progress[line.name, line.who].append(place)
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
        """Return whether the same process printed progress after a line: what was caught and retried did not end it."""
        places = self.progress[line.name, line.who]
        return len(places) - bisect_right(places, place) >= ENOUGH

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
        if NATIVE.search(seen.line.full):
            return True
        spans = self.spans[seen.line.name, seen.line.who]
        at = bisect_right(spans, seen.place, key=lambda raised: raised.first) - 1
        return at >= 0 and seen.place <= spans[at].last

    def unknown(self) -> Raised | None:
        """Return the first exception that no check knows; not one that was survived, passed on, or came at the end."""
        for chain in self.chains():
            own = [r for r in chain if not r.wrapper and not r.late]
            if (
                own
                and not any(map(self.recognised, chain))
                and not self.survived(chain[-1].line, chain[-1].last)
            ):
                return own[0]
        return None

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

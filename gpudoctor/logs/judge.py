"""Tell the cause from what followed: what went wrong first, in which process, and what is only its echo."""

import re
from collections.abc import Sequence

from msgspec import Struct

from gpudoctor.logs.lines import Line
from gpudoctor.logs.symptoms import Seen
from gpudoctor.logs.tracebacks import Raised
from gpudoctor.model import Check, Severity

PROGRESS = re.compile(
    r"\b(?:[Ee]poch|EPOCH|[Ss]teps?|STEP|[Ii]ter(?:ation)?s?|[Bb]atch)\b\W{0,12}\d|\b[Ll]oss\b\W{0,4}\d|\d+(?:\.\d+)?\s?(?:it/s|s/it|samples/s)"
)
"""What a training that goes on prints."""
ENOUGH = 3
"""Lines of progress after an error that show that it was survived; one may have been under way."""
NATIVE = re.compile(
    r"\bNCCL WARN\b|NVRM: |\bXid\b|terminate called|what\(\): |slurmstepd: error|srun: error|: error: |\[[EF] |\b[EF]\d{4} |"
    r"[A-Z]\w+(?:Error|Exception)\b|\bFATAL\b|\bfailed\b|[Aa]ssert|[Ss]ignal|[Ee]rror\b|[Ee]xit ?code|Killed|Aborted|fault\b|Warning: |\bWARN"
)
"""Words of libraries and systems that report a failure; a line without any may be a user's own remark."""


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
        return self.check.severity is Severity.ERROR and not self.survived


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
    order = _clock(lines)
    events = _events(lines, seen, raised, order)

    def when(event: Event) -> tuple[float, int]:
        return order(event.seen[0].line, event.seen[0].place)

    present = {event.check.id for event in events if event.fault}
    faults = [event for event in events if event.fault]
    causes = [e for e in faults if not e.check.secondary and not e.check.follows & (present - {e.check.id})]
    first = min(causes, key=lambda e: (not e.strong, when(e)), default=None)
    unknown = _unknown(lines, seen, raised)
    if unknown is not None and first is not None:
        # What a check knows is the better answer, unless it was only mentioned beside a real traceback.
        mentioned = not first.strong and bool(unknown.frames)
        first, unknown = (None, unknown) if mentioned else (first, None)
    if first is None and unknown is None:
        first = min(faults, key=when, default=None)
    rest = sorted((e for e in faults if e is not first), key=when)
    return Judgement(first, unknown, rest, [event for event in events if not event.fault])


def _clock(lines: Sequence[Line]):  # type: ignore[no-untyped-def]
    """Return the order of lines: by time where every line that counts has one, else by place in the text."""
    times: dict[int, float] = {}
    last: float | None = None
    for place, line in enumerate(lines):
        if line.seconds is not None:
            last = line.seconds
        if last is not None:
            times[place] = last
    several = len({line.name for line in lines}) > 1 or len({line.who for line in lines}) > 1
    if several and len(times) > 0.9 * len(lines):
        return lambda line, place: (times.get(place, 0.0), place)
    return lambda line, place: (0.0, place)


def _events(lines: Sequence[Line], seen: Sequence[Seen], raised: Sequence[Raised], order) -> list[Event]:  # type: ignore[no-untyped-def]
    """Put all sightings of one failure together, in the order in which they came."""
    groups: dict[str, list[Seen]] = {}
    for one in sorted(seen, key=lambda s: order(s.line, s.place)):
        groups.setdefault(one.check.id, []).append(one)
    events = []
    for each in groups.values():
        strong = [s for s in each if _strong(s, raised)]
        survived = all(_survived(lines, s) for s in each)
        first = next((s for s in strong if not _survived(lines, s)), (strong or each)[0])
        events.append(Event(first.check, [first, *(s for s in each if s is not first)], survived, bool(strong)))
    return events


def _strong(seen: Seen, raised: Sequence[Raised]) -> bool:
    return NATIVE.search(seen.line.full) is not None or any(_within(seen, r) for r in raised)


def _within(seen: Seen, raised: Raised) -> bool:
    """Tell whether a sighting lies in an exception: in its traceback or its message."""
    same = (seen.line.name, seen.line.who) == (raised.line.name, raised.line.who)
    return same and raised.first <= seen.place <= raised.last


def _survived(lines: Sequence[Line], seen: Seen) -> bool:
    """Tell whether the same process printed progress after a line: what was caught and retried did not end it."""
    key, count = (seen.line.name, seen.line.who), 0
    for line in lines[seen.place + 1 :]:
        if (line.name, line.who) == key and PROGRESS.search(line.text) and not line.text.startswith(("File ", "Traceback")):
            count += 1
            if count >= ENOUGH:
                return True
    return False


def _unknown(lines: Sequence[Line], seen: Sequence[Seen], raised: Sequence[Raised]) -> Raised | None:
    """Return the first exception that no check knows, unless it was survived, passed on, or came at the very end."""
    for chain in _chains(raised):
        if any(_within(s, r) for r in chain for s in seen):
            continue
        own = [r for r in chain if not r.wrapper and not r.late]
        if own and not _survived(lines, Seen(None, chain[-1].line, chain[-1].last, None)):  # type: ignore[arg-type]
            return own[0]
    return None


def _chains(raised: Sequence[Raised]) -> list[list[Raised]]:
    """Put each exception together with those that were raised while it was handled."""
    chains: list[list[Raised]] = []
    for one in raised:
        last = next((c for c in reversed(chains) if (c[-1].line.name, c[-1].line.who) == (one.line.name, one.line.who)), None)
        if one.chained and last is not None:
            last.append(one)
        else:
            chains.append([one])
    return chains

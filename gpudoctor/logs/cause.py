"""The cause among all that failed: what went wrong first, in which process; the rest followed, or is its echo."""

import signal
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from gpudoctor.facts import Run
from gpudoctor.logs.command_ends import TASK_ENDED
from gpudoctor.logs.doubts import Doubts
from gpudoctor.logs.fault_handler import crashed_at
from gpudoctor.logs.judgement import Event, Judgement, rank_of
from gpudoctor.logs.killed import EXIT_STATUS, PY_SPY
from gpudoctor.logs.line_kinds import ENOUGH, NATIVE
from gpudoctor.logs.lines import Line
from gpudoctor.logs.raised import CUT_BEHIND, CUT_OFF, Frame, Raised
from gpudoctor.logs.symptoms import Seen
from gpudoctor.logs.timeline import Timeline
from gpudoctor.model import Severity
from gpudoctor.patterns import late_pattern

WARNED = late_pattern(r"\[W[ \d]|^W\d{4} ")
"""torch's own log of something that it will try again, or do without."""
ABORTED = ("-6", "134", "SIGABRT")
"""How exit codes and signals say that a process ended itself: C++'s ``terminate``, or a watchdog."""
OWN = (EXIT_STATUS, PY_SPY)
"""Where what is known of a command from elsewhere than its output stands."""


def judge(lines: Sequence[Line], seen: Sequence[Seen], raised: Sequence[Raised]) -> Judgement:
    """Choose the one cause; whatever else failed followed from it, or is not known to have."""
    log = _Log(lines, seen, raised)
    events = log.events()
    faults = sorted(_faults(events), key=log.when)
    first, unknown = _chosen(log, faults)
    if first is None and unknown is None:
        first = _raised_warning(log, events)
    if first is None and unknown is None and all(event.survived for event in events):
        unknown = log.passed_on()
    notes = [event for event in events if event not in faults and not event.survived and log.raised_in(event)]
    note = min(notes, key=log.when, default=None)
    if first is not None and note is not None and _left_by(note, first, log):
        first = note
    at = first.seen[0] if first is not None else unknown
    return Judgement(
        course=log,
        cause=first,
        own=log.own(first) if first is not None else log.own_of(unknown),
        raised=unknown,
        consequences=[event for event in faults if event is not first],
        remarks=[event for event in events if event not in faults and event is not first],
        raised_note=note,
        doubt="" if at is None or _sure(at) else log.doubt(at.line, at.place),
    )


def _sure(at: Seen | Raised) -> bool:
    """Return whether no program's output tells of what was seen: the log ends there, or somebody wrote it."""
    return isinstance(at, Seen) and (at.last or at.asked)


def _chosen(log: "_Log", faults: list[Event]) -> tuple[Event | None, Raised | None]:
    """Return the cause among what failed: what a check knows, or an exception that none does."""
    present = {event.check.id for event in faults}
    echoes = _echoes(faults) + [e for e in faults if any(map(e.killed_behind, faults))]
    echoes += [e for e in faults if log.crashed_later(e, faults)]
    causes = [
        e
        for e in faults
        if not e.check.secondary and e not in echoes and not e.check.follows & (present - {e.check.id})
    ]
    first = min(causes, key=lambda event: (not event.strong, log.when(event)), default=None)
    unknown = log.unknown()
    if unknown is not None and faults and (unknown.type == CUT_OFF or unknown.message == CUT_BEHIND):
        unknown = None  # what is known says more
    if unknown is not None and first is not None:
        # What a check knows is the better answer, unless it was only mentioned beside a real traceback, or another
        # rank had died of something else by then.
        mentioned = (not first.strong or first.seen[0].last) and bool(unknown.frames)
        first, unknown = (None, unknown) if mentioned or log.died_before(unknown, first) else (first, None)
    if first is None and unknown is None:

        def rank(event: Event) -> tuple[bool, bool, bool, object, object]:
            return (
                # What somebody says is of the whole; a program's own words tell more.
                all(seen.asked for seen in event.seen),
                event in echoes,
                bool(event.check.follows & present),
                _ending(event, faults),
                log.when(event),
            )

        first = min(faults, key=rank, default=None)
    return first, unknown


def of_run(judgement: Judgement, run: Run) -> Judgement:
    """Return what a log comes to, of a command that failed for certain.

    Where somebody interrupted it, that ranks ended is a consequence of that. An interruption from elsewhere, by a time
    limit say, is the cause where there is no other.
    """
    cause, note = judgement.cause, judgement.raised_note
    judgement = replace(judgement, doubt="")
    stopped = run.interrupted or run.exit_code in (0, 128 + signal.SIGINT)
    if cause is None and judgement.raised is None and not stopped:
        ended = next((e for e in judgement.remarks if e.survived and _ended_task(e, judgement.course)), None)
        if ended is not None:
            remarks = [event for event in judgement.remarks if event is not ended]
            return replace(judgement, cause=ended, own=None, remarks=remarks)
    if cause is None and judgement.raised is None and note is not None and not stopped:
        remarks = [event for event in judgement.remarks if event is not note]
        return replace(judgement, cause=note, remarks=remarks)
    if run.interrupted and cause is not None and cause is note:
        return replace(judgement, cause=None, own=None, remarks=[cause, *judgement.remarks])
    if run.still:
        return _stood_still(judgement, run)
    if not run.interrupted or cause is None or not cause.check.secondary:
        return judgement
    return replace(judgement, cause=None, own=None, consequences=[cause, *judgement.consequences])


def _ended_task(event: Event, course: Timeline) -> bool:
    """Return whether srun says, right below what an exception tells, that a task ended: what follows is another's."""
    for seen in event.seen:
        raised = course.around(seen.line, seen.place)
        if raised is not None:
            below = (line.text for line in course.lines[raised.place + 1 :] if line.text)
            if TASK_ENDED.match(next(below, "")):
                return True
    return False


def _stood_still(judgement: Judgement, run: Run) -> Judgement:
    """Return the judgement of a command whose ranks stood still until it was asked to end.

    What it printed from then on tells of that end, and not of why it stood still.
    """
    cause = judgement.cause
    stood = next((e for e in judgement.consequences if any(x.line.name in OWN for x in e.seen)), None)
    raised = judgement.raised
    at = cause.seen[0].line if cause is not None else raised.line if raised is not None else None
    if stood is None or at is None or run.lines is None or at.number <= run.lines:
        return judgement
    others = [] if cause is None else [cause]
    others += [event for event in judgement.consequences if event is not stood]
    # Where they stood says more than that they did.
    stood = replace(stood, seen=sorted(stood.seen, key=lambda seen: seen.line.name != PY_SPY))
    return replace(judgement, cause=stood, own=None, raised=None, consequences=others, doubt="")


def _left_by(note: Event, lost: Event, log: "_Log") -> bool:
    """Return whether a rank was interrupted, a launcher then took it for failed, and others only lost it."""
    other = bool(note.ranks) and bool(lost.ranks) and not set(note.ranks) & set(lost.ranks)
    return lost.elsewhere and other and log.when(note) < log.when(lost) and note.seen[0].place < log.reported


def _faults(events: Sequence[Event]) -> list[Event]:
    """Return what ended or spoilt the training, and what a check of the site's own says of the same line.

    That one knows better what it is; the built-in one that it ended the training, whatever severity the other has.
    """
    faults = [event for event in events if event.fault]
    places = {seen.place for event in faults for seen in event.seen}
    own = [e for e in events if e.check.site and not e.survived and e not in faults]
    return faults + [e for e in own if any(seen.place in places for seen in e.seen)]


def _raised_warning(log: "_Log", events: Sequence[Event]) -> Event | None:
    """Return what is mostly a warning, and is the cause where it was raised and nobody got over it."""
    ended = [
        e for e in events if not e.survived and e.check.severity is Severity.WARNING and log.raised_in(e)
    ]
    places = {seen.place for event in ended for seen in event.seen}
    own = [e for e in events if e.check.site and any(seen.place in places for seen in e.seen)]
    return min([e for e in own if not e.survived] or ended, key=log.when, default=None)


def _echoes(faults: Sequence[Event]) -> list[Event]:
    """Return what shows in a line in which a check of the site's own shows too: that one knows better."""
    own = {seen.place for event in faults if event.check.site for seen in event.seen}
    return [e for e in faults if not e.check.site and any(seen.place in own for seen in e.seen)]


def _ending(event: Event, faults: Sequence[Event]) -> int:
    """Return the place of an event among those of which none is a cause.

    How a process ended comes before what others say of having lost it, unless that process had said itself what went
    wrong: then it comes last.
    """
    others = [other for other in faults if other is not event and not other.tells_end]
    said = {rank_of(seen) for other in others for seen in other.seen}
    if not event.tells_end:
        return 0 if event.check.family == "launch" and _wordless(event, others, said) else 1
    named = rank_of(event.seen[0])
    heard = any(
        other.check.family != "launch" and "peer" not in other.seen[0].sighting.groups for other in others
    )
    return 2 if (named is not None and named in said) or (heard and _aborted_wordless(event)) else 0


def _aborted_wordless(event: Event) -> bool:
    """Return whether launchers alone tell of a rank that it was aborted: C++ does so too where a connection is lost."""
    seen = [sighting.sighting.groups for sighting in event.seen]
    return all(groups.get("code") in ABORTED or groups.get("signal") in ABORTED for groups in seen)


def _wordless(event: Event, others: Sequence[Event], said: set[int | None]) -> bool:
    """Return whether the ranks that a launcher names said nothing of their own, while others lost their connection.

    A rank that leaves by `sys.exit("...")` has no traceback; its exit code is 1, as after one. Where a launcher's own
    lines bear a rank, somebody put it in front of every line.
    """
    if any(seen.line.rank is not None for seen in event.seen):
        return False
    named = {rank_of(seen) for seen in event.seen if "rank" in seen.sighting.groups}
    launchers = {seen.line.rank for seen in event.seen}  # some rank where a prefix counts something else
    lost = bool(others) and all("peer" in other.seen[0].sighting.groups for other in others)
    return lost and bool(named) and None not in said and not (named | launchers) & said


class _Log(Doubts):
    """A log with what checks and tracebacks show in it."""

    def __init__(self, lines: Sequence[Line], seen: Sequence[Seen], raised: Sequence[Raised]) -> None:
        super().__init__(lines, raised)
        ends = {one.place for one in seen if one.last}
        self.seen = seen = [one for one in seen if not one.last or self.ends_at(one.place, ends)]
        self.known: dict[tuple[str, str], list[tuple[int, bool]]] = defaultdict(list)
        for one in seen:
            self.known[one.line.name, one.line.who].append((one.place, one.check.secondary))

    def when(self, event: Event) -> tuple[float, int]:
        """Return the sort key of an event."""
        return self.order(event.seen[0].place)

    def events(self) -> list[Event]:
        """Put all sightings of one failure together, in the order in which they came."""
        groups: dict[str, list[Seen]] = defaultdict(list)
        for one in sorted(self.seen, key=lambda seen: self.order(seen.place)):
            groups[one.check.id].append(one)
        events = []
        for each in groups.values():
            lasting = [s for s in each if s.last or s.asked or not self.survived(s.line, s.place)]
            first = next((s for s in lasting if self.strong(s)), (lasting or each)[0])
            rest = [s for s in each if s is not first]
            events.append(Event(first.check, [first, *rest], not lasting, self.strong(first)))
        return events

    def strong(self, seen: Seen) -> bool:
        """Return whether a sighting was raised or reported as an error: by its words, or inside an exception."""
        if WARNED.search(seen.line.full) or self.python_warned(seen.line, seen.place):
            return False
        return NATIVE.search(seen.line.full) is not None or self.around(seen.line, seen.place) is not None

    def raised_in(self, event: Event) -> bool:
        """Return whether an event lies in an exception that ended a process."""
        spans = (self.around(seen.line, seen.place) for seen in event.seen)
        return any(raised is not None and not raised.late for raised in spans)

    def crashed_later(self, event: Event, faults: Sequence[Event]) -> bool:
        """Return whether a program only mentioned something, results followed, and then a process crashed.

        What crashes does not say why: it is not what had been got over by then.
        """
        if event.strong:
            return False
        last = max(seen.place for seen in event.seen)
        until = min((e.seen[0].place for e in faults if e.crash and e.seen[0].place > last), default=last)
        between = [place for places in self.results.values() for place in places if last < place < until]
        return len(between) >= ENOUGH

    def own(self, event: Event) -> Frame | None:
        """Return the innermost line of the user's own code of the traceback in which an event lies."""
        spans = (self.around(seen.line, seen.place) for seen in event.seen)
        own = next((raised.own for raised in spans if raised is not None and raised.own is not None), None)
        crashes = (crashed_at(self.lines, seen.place) for seen in event.seen)
        return own or next((frame for frame in crashes if frame is not None), None)

    def unknown(self) -> Raised | None:
        """Return the first exception that no check knows; not one that was survived, passed on, or came at the end."""
        found = self._unknown()
        first = next(found, None)
        if first is None or not first.told:
            return first
        # A process that told of one in its own words had caught it, where another one follows.
        who = (first.line.name, first.line.who)
        return next((r for r in found if r.frames and (r.line.name, r.line.who) == who), first)

    def _unknown(self) -> Iterator[Raised]:
        """Yield the exceptions that no check knows and nobody got over, the first of each chain."""
        for chain in self.chains():
            own = [r for r in chain if not r.wrapper and not r.late]
            if len(own) > 1 and own[0].type == "CancelledError":
                own = own[1:]  # asyncio cancels what takes too long, and then says so
            first = bool(own) and self.origin(own[0], chain)
            known = any(map(self.recognised, chain)) and not first
            if own and not known and not self.survived(chain[-1].line, chain[-1].place):
                yield own[0]

    def passed_on(self) -> Raised | None:
        """Return an exception that only passes on another process's end, where nothing else tells of that one."""
        for raised in self.raised:
            ended = (
                raised.wrapper
                and (raised.frames or not raised.told)
                and not (raised.type == "SystemExit" and raised.message in ("", "0", "False", "None"))
                and not raised.late
            )
            if ended and not self.recognised(raised) and not self.survived(raised.line, raised.place):
                return raised
        return None

    def origin(self, raised: Raised, chain: Sequence[Raised]) -> bool:
        """Return whether an exception of the user's own code is behind those of a chain: clean-up met a lost peer."""
        later = chain[chain.index(raised) + 1 :]
        own = bool(raised.frames) and raised.frames[-1] == raised.own and not self.recognised(raised)
        return own and bool(later) and all(map(self.of_others, later))

    def of_others(self, raised: Raised) -> bool:
        """Return whether an exception tells of nothing but a collective that other ranks did not come to."""
        who = (raised.line.name, raised.line.who)
        seen = [
            s
            for s in self.seen
            if raised.first <= s.place <= raised.last and (s.line.name, s.line.who) == who
        ]
        return bool(seen) and all(s.check.elsewhere or s.check.family == "nccl" for s in seen)

    def died_before(self, raised: Raised, event: Event) -> bool:
        """Return whether an exception ended a rank before, on another one or in a later try, something known showed."""
        chain = next(chain for chain in self.chains() if raised in chain)
        if self.origin(raised, chain) and self.order(raised.place) < self.when(event):
            return True
        if raised.frames and not raised.caught and self.failed_between(raised.place, event.seen[0].place):
            return True
        rank = raised.line.rank
        other = rank is not None and bool(event.ranks) and rank not in event.ranks
        return other and bool(raised.frames) and self.order(raised.place) < self.when(event)

    def recognised(self, raised: Raised) -> bool:
        """Return whether a symptom lies in an exception: in its traceback or its message."""
        places = self.known[raised.line.name, raised.line.who]
        at = bisect_left(places, (raised.first, False))
        while at < len(places) and places[at][0] <= raised.last:
            # What only follows from others stands below many an exception; it explains the line that it is in.
            if not places[at][1] or places[at][0] <= self.whole(raised.place):
                return True
            at += 1
        # A message that was cut off stands somewhere else in full: in the title of a report, say.
        begin = raised.message[:60].rstrip(". ")
        return len(begin) >= 20 and any(begin in seen.line.full for seen in self.seen)

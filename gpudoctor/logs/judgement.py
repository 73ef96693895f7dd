"""What a log comes to: the failures in it, each with the lines that show it, and the one that is the cause."""

import re

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.logs.raised import Frame, Raised
from gpudoctor.logs.symptoms import Seen
from gpudoctor.logs.timeline import Timeline
from gpudoctor.model import Check, Severity
from gpudoctor.patterns import late_pattern

CRASHED = late_pattern(
    r"segmentation|segfault|SIGSEGV|bus error|SIGBUS|illegal|SIGILL|floating|SIGFPE|killed|SIGKILL|\b9\b|137",
    re.IGNORECASE,
)
"""The signals that end a process which did not end itself, and that no launcher sends to the others."""
CRASH_CODES = frozenset({"-4", "-6", "-7", "-8", "-11", "132", "134", "135", "136", "139"})
"""How launchers and shells number them."""
KILLED = late_pattern(r"killed|SIGKILL|\b9\b|137", re.IGNORECASE)
"""The signal that nobody can refuse: a launcher sends it to those that are left."""


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
        groups = self.seen[0].sighting.groups
        return (
            groups.get("code", "1") not in ("0", "1") or CRASHED.search(groups.get("signal", "")) is not None
        )

    @property
    def crash(self) -> bool:
        """Whether a launcher, or the process itself, says in it that a signal ended a process which nobody had sent."""
        said = [seen.sighting.groups for seen in self.seen]
        return self.check.secondary and any(
            CRASHED.search(groups.get("signal", "")) or groups.get("code", "") in CRASH_CODES
            for groups in said
        )

    def killed_behind(self, other: "Event") -> bool:
        """Return whether a process was killed, nobody knows why, and a launcher had before that another one failed.

        It had left with an exit code of its own; the launcher then ends the others.
        """
        groups = self.seen[0].sighting.groups
        if other is self or "words" in groups or not KILLED.search(groups.get("signal", "")):
            return False
        ended, first = other.seen[0], min(seen.place for seen in self.seen)
        own = ended.sighting.groups.get("code", "0") not in ("0", "-15", "143") and ended.place < first
        return own and (ended.line.name, ended.line.who) == (self.seen[0].line.name, self.seen[0].line.who)

    @property
    def elsewhere(self) -> bool:
        """Whether it tells no more than that another rank failed or stalled."""
        return self.check.elsewhere and not self.tells_end

    @property
    def fault(self) -> bool:
        """Whether it ended or spoilt the training, as far as the log shows."""
        return self.seen[0].finding.severity is Severity.ERROR and not self.survived


class Judgement(Struct):
    """What a log comes to."""

    course: Timeline
    cause: Event | None = None
    own: Frame | None = None
    """The innermost line of the user's own code above the cause."""
    raised: Raised | None = None
    """The first exception that no check knows, where that is the cause."""
    consequences: list[Event] = []
    remarks: list[Event] = []
    """Warnings and notes: they stand for themselves."""
    raised_note: Event | None = None
    """What no check takes for a failure, and yet was raised and ended a process: an interruption."""
    doubt: str = ""
    """Why the cause may not have ended the training; nothing where that is no question."""


def only_followed(judgement: Judgement) -> Judgement:
    """Return a judgement of which the cause is a consequence: something else is known to lie behind it."""
    if judgement.cause is None:
        return judgement
    consequences = [judgement.cause, *judgement.consequences]
    return replace(judgement, cause=None, own=None, consequences=consequences)


def rank_of(seen: Seen) -> int | None:
    """Return the rank that a sighting is about: the one that it names, else the one that wrote it.

    A launcher's line that names a local rank is of no rank's own: whatever stands in front of it counts something else.
    """
    groups = seen.sighting.groups
    named = groups.get("rank", "")
    if named.isdigit() and len(named) < 6:
        return int(named)
    return None if "local_rank" in groups else seen.line.rank

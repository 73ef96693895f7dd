"""How long a training is waited for: until it starts, until its ranks have met, and in all."""

from dataclasses import dataclass, field

START = 120.0
"""Seconds until the first rank has imported torch: 2 to 4 s from a local disk, and minutes over a busy network."""
MEETING = 60.0
"""Seconds from then to the end of the first collective; all ranks start at once, and need less than a second for it."""


@dataclass
class Patience:
    """The deadlines of one training, and when it told how far it was."""

    whole: float
    """Seconds in all."""
    meets: bool
    """Whether it has ranks that meet in a collective."""
    heard: dict[str, float] = field(default_factory=dict)
    """Seconds after which each event was told first."""

    def hear(self, event: str, seconds: float) -> None:
        """Take note of an event, told `seconds` after the start."""
        self.heard.setdefault(event, seconds)

    def late(self, seconds: float) -> str | None:
        """Return what has not come in time, `seconds` after the start, or ``None``."""
        if seconds > self.whole:
            return f"not at its end after {self.whole:g} s"
        start = self.heard.get("start")
        if start is None:
            return f"nothing was told within {START:g} s of the start" if seconds > START else None
        if self.meets and "collective" not in self.heard and seconds > start + MEETING:
            return f"the ranks had not met in a first collective {MEETING:g} s after the first one was ready"
        return None

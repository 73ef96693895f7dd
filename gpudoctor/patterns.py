"""Regular expressions that are compiled when they are first used: of hundreds, a short log meets a few."""

import re
from typing import Any, cast

from gpudoctor.pattern_cache import compiled


class _Late:
    """A pattern that becomes one when it is asked for more than its text."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        """Give what the compiled pattern gives, and keep it: the next time it is found at once."""
        found = getattr(compiled(self.pattern, self.flags), name)
        setattr(self, name, found)
        return found


def late_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what ``re.compile`` would, compiled at its first use; `flags` are the given ones alone."""
    return cast(re.Pattern[str], _Late(pattern, flags))

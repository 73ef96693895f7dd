"""For how long a command that was ended from outside had stood still, and what its ranks did until then."""

import signal
import time

from gpudoctor.output_tail import SILENT, Tail
from gpudoctor.process_family import Family

ENDED_BY_OTHERS = {124, 128 + signal.SIGTERM}
"""Exit codes that tell of a signal from outside: timeout's own where the limit is over (timeout(1)), and a shell's."""
FAREWELL = 15.0
"""Seconds that a launcher may take to end its ranks, and to say so."""


def last_gap(code: int, tail: Tail, family: Family) -> tuple[float | None, float, int | None, bool, str, str]:
    """Return for how long the command had been silent when it was ended, and what its ranks did then.

    It may have been ended by what it itself runs under, such as timeout: then it was silent until shortly before its
    end, and its ranks did nothing.
    """
    if tail.silent is not None:
        return tail.silent, tail.longest, tail.lines, *family.stood()
    now = time.monotonic()
    if code in ENDED_BY_OTHERS:
        final = tail.silence(now)
        if final.silent >= SILENT and family.still():
            return final.silent, final.longest, final.lines, *family.stood()
        gap = tail.gap
        if gap is not None and now - gap.until < FAREWELL and family.remembered[0]:
            return gap.silent, gap.longest, gap.lines, *family.remembered
    return None, tail.longest, None, False, "", ""

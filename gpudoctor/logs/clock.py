"""When the lines of a log were written, as far as its time stamps tell."""

from collections import defaultdict
from collections.abc import Sequence

from gpudoctor.logs.lines import Line


def times(lines: Sequence[Line]) -> list[float]:
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
    found: list[float] = []
    for line in lines:
        if line.seconds is not None:
            last[line.name] = line.seconds
        found.append(last[line.name])
    return found

"""Words that sentences are put together from: counts, lists, ranges, sizes, and what strangers wrote, made harmless."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from gpudoctor.patterns import late_pattern

NAME_MOST = 120
"""Characters of a name that are shown."""
UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")
# Colours and what else programs send to a terminal (ECMA-48; BEL or ST ends what begins with ESC ]).
CONTROL_SEQUENCE = late_pattern(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\^_]")
# C0, DEL, C1, and what turns the direction of writing (Unicode's bidirectional controls);
# what ends a line besides C0 and C1 (U+2028 and U+2029); halves of surrogate pairs, which no encoding can write.
CONTROL = late_pattern(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

SIGNALS = (
    "SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGKILL SIGUSR1 SIGSEGV SIGUSR2 SIGPIPE SIGALRM "
    "SIGTERM SIGSTKFLT SIGCHLD SIGCONT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGXCPU SIGXFSZ SIGVTALRM SIGPROF "
    "SIGWINCH SIGIO SIGPWR SIGSYS"
).split()
"""Linux's signals from number 1 on (signal(7)): where a log is read, they may have other numbers."""
EXIT_CODE = late_pattern(r"(?<=exit code )(?:-\d{1,2}|1\d\d)\b(?! \()")


def with_signals(text: str) -> str:
    """Name, in a sentence, the signal that an exit code tells of: Python's -14, or a shell's 142, which is 128 more.

    A sentence that names a signal keeps to that.
    """
    return text if "SIG" in text else EXIT_CODE.sub(_with_signal, text)


def _with_signal(code: re.Match[str]) -> str:
    number = int(code[0])
    if 0 < -number <= len(SIGNALS):
        return f"{number} ({SIGNALS[-number - 1]})"
    return f"{number} (128 + {SIGNALS[number - 129]})" if 128 < number <= 128 + len(SIGNALS) else code[0]


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, which takes an s unless it is one, or has a plural of its own."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"


def listed(
    names: Sequence[str], most: int = 3, show: Callable[[str], str] | None = None, noun: str = ""
) -> str:
    """Return the first names, each as `show` gives it (`shown`: on one line, cut), and how many more there are.

    `noun` says what those are: ``GPU 0 and 2 more devices``.
    """
    text = ", ".join((show or shown)(name) for name in names[:most])
    left = len(names) - most
    return f"{text} and {count(left, f'more {noun}') if noun else f'{left} more'}" if left > 0 else text


def joined(words: Iterable[str]) -> str:
    """Return words as a sentence has them: ``a``, ``a and b``, ``a, b and c``."""
    *first, last = [*words] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def capped(lines: Iterable[str], most: int = 20) -> list[str]:
    """Return the first lines, and a last one that says how many were left out."""
    each = iter(lines)
    kept = list(islice(each, most))
    more = sum(1 for _ in each)
    return [*kept, f"{more} more of this kind"] if more else kept


def spans(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and the last of each run of ascending numbers that follow each other."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def ranges(numbers: Sequence[int], most: int | None = None) -> str:
    """Return numbers in short, ``0-31``, ``0,2,5``; of many runs the first `most` and an ellipsis."""
    runs = spans(numbers)
    text = ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs[:most])
    return f"{text},..." if most is not None and len(runs) > most else text


def ranks(numbers: Sequence[int], most: int = 8) -> str:
    """Return ranks as a reader would name them: ``rank 3``, ``ranks 0-6, 9``; nothing where there are none."""
    if not numbers:
        return ""
    runs = spans(numbers)
    named = [str(a) if a == b else f"{a}-{b}" if b > a + 1 else f"{a}, {b}" for a, b in runs[:most]]
    return f"rank{'s' * (len(numbers) > 1)} {', '.join(named)}{', …' if len(runs) > most else ''}"


def byte_size(size: float) -> str:
    """Return a number of bytes as a reader would write it: ``64 B``, ``4.0 MiB``, ``123 GiB``."""
    if size < 1024:
        return f"{size:.0f} B"
    power = next((p for p in range(1, len(UNITS)) if size < 1000 * 1024**p), len(UNITS))
    value, unit = size / 1024**power, UNITS[power - 1]
    return f"{value:.1f} {unit}" if value < 100 else f"{value:.0f} {unit}"


def whole_gib(size: float) -> str:
    """Return the memory of a machine or a GPU as its owner would name it: ``80 GiB``."""
    return f"{size / 1024**3:.0f} GiB"


def percent(done: int, whole: int) -> str:
    """Return how much is done, ``37 %``."""
    return f"{min(100, done * 100 // max(1, whole))} %"


def in_bytes(text: str) -> float:
    """Return what ``1.50 GiB``, ``612MB`` or ``5 K`` is in bytes, all units by powers of 1024.

    Raises ValueError for anything else.
    """
    match = re.fullmatch(r"\s*(\d[\d.]*?)\.?\s*([kmgtp]?)(?:i?b|bytes)?\.?\s*", text, re.IGNORECASE)
    if match is None:
        raise ValueError(f"no size: {text!r}")
    power = "bkmgtp".index(match[2].lower() or "b")
    return float(match[1]) * float(1024**power)


def shown(name: str) -> str:
    """Return a name as it can be printed: control characters escaped, a long one cut."""
    text = name if name.isprintable() and name else repr(name)
    return text if len(text) <= NAME_MOST else f"{text[:NAME_MOST]}…"


def encodable(text: str) -> str:
    """Return a text with halves of surrogate pairs written out: in names, bytes that are no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def one_line(text: str) -> str:
    """Return a text on one line, with what a terminal would obey written out."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in line)


def harmless(text: str, *, keep: str = "") -> str:
    """Return a text in which a terminal has nothing to obey: control characters as escapes, all but those of `keep`."""
    return CONTROL.sub(lambda match: match[0] if match[0] in keep else _escape(match[0]), text)


def with_texts(data: Any, change: Callable[[str], str]) -> Any:
    """Return plain data with each of its texts changed, the keys of dicts too."""
    if isinstance(data, str):
        return change(data)
    if isinstance(data, dict):
        return {with_texts(key, change): with_texts(value, change) for key, value in data.items()}
    return [with_texts(value, change) for value in data] if isinstance(data, (list, tuple)) else data


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()

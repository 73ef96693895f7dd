"""A log's lines as a reader sees them: without colours and prefixes, and each with the process that wrote it."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.logs.boxes import unbroken
from gpudoctor.logs.prefixes import Prefix, habits, read
from gpudoctor.logs.records import unfolded
from gpudoctor.patterns import late_pattern
from gpudoctor.text import CONTROL_SEQUENCE

# In a paste the escape character of a colour may be lost.
ANSI = late_pattern(CONTROL_SEQUENCE.pattern + r"|(?<![\w\[])\[(?:\d{1,2};)?\d{1,2}m")
HTML = late_pattern(r"&(?:quot|lt|gt|amp|nbsp|#39|#x27|#34);")
ENTITIES = {
    "&quot;": '"',
    "&lt;": "<",
    "&gt;": ">",
    "&amp;": "&",
    "&nbsp;": " ",
    "&#39;": "'",
    "&#x27;": "'",
    "&#34;": '"',
}
CURLY = str.maketrans("‘’“”\xa0", "''\"\" ")
"""What word processors and forums make of quotes and blanks."""
TYPED = late_pattern(r"(?<=Error|error|ption)\uff1a[ \u3000]?|(?<=Error|ption):(?=[^\W\d_])")
"""The colon behind an exception's name as people type it: a wide one, or without the blank behind it."""
MARKDOWN = late_pattern(r"[A-Za-z0-9_]\\_[A-Za-z0-9_\\]")
ESCAPED = late_pattern(r"\\(?=[_*\[\]<>#])")
"""The stroke that Markdown wants in front of a sign that would mark something."""
WINDOWS = late_pattern(r"\\[A-Za-z.]")
"""A path of Windows, or a sign of a string: not Markdown's."""
FRAME_ESCAPED = 'File \\"'
PLAIN_QUOTE = late_pattern(r'(?<!\\)"')
"""A line that was cut out of a text of JSON has none: its frames are those of a traceback all the same."""
MARKS = ("`", "*")
BOLD = late_pattern(r"\*\*[^*\s].{0,4000}[^*\s]\*\*")
BAR = late_pattern(r"\d{1,3}%\||\d{1,3}%\s*[|\[━█#=>]|it/s[\],]|s/it[\],]")
FULL = late_pattern(r"\b100%\|")
"""A bar of which all is done."""
GLUED = late_pattern(r"\d(?:[a-zA-Z]{1,9}/s|s/[a-z]{1,9})\b[^\]\[]{0,200}\](?=[A-Za-z/(])")
"""The end of a progress bar right behind which something else was printed: the bar's line was not ended."""
TERMINATED = "terminate called after throwing an instance of"
WHAT = "what():"
"""The two lines that a C++ exception ends in where nobody caught it: of one process, whatever stands between them."""
REDRAWN = 100
"""Parts between carriage returns of one line that are read: what a progress bar overwrites says nothing."""
LINE_MOST = 4000
"""Characters of a line that are searched at once: an error message fits."""
OVERLAP = 600
"""Characters that the pieces of a longer line have in common."""
PIECES = 40
"""Pieces of a line that are read: a hundred thousand characters; what is longer is a dump of data."""


class Line(Struct):
    """One line of a log."""

    name: str
    """The file's."""
    number: int
    """In its file, from 1."""
    full: str
    """Without colours."""
    text: str
    """Without prefixes too."""
    indent: int = 0
    """Characters of blank in front of the text, prefixes taken off."""
    rank: int | None = None
    host: str | None = None
    pid: str | None = None
    seconds: float | None = None
    bar: bool = False
    """A progress bar, alone or with something behind it."""

    @property
    def who(self) -> str:
        """The process that wrote it, as far as the line tells; lines of one process belong together."""
        if self.rank is not None:
            return f"rank {self.rank}"
        return f"pid {self.pid}" if self.pid is not None else ""

    @property
    def where(self) -> str:
        """Its place, ``train.log:120``."""
        return f"{self.name}:{self.number}" if self.number else self.name


def visible(raw: str) -> Iterator[str]:
    """Yield what a terminal would have shown of a line: no colours, the parts between carriage returns one by one.

    Of a progress bar that was redrawn, the last state alone.
    """
    text = ANSI.sub("", raw) if "\x1b" in raw or "[" in raw else raw
    if not text.isascii():
        text = text.translate(CURLY)
    if "rror" in text or "ption" in text:
        text = TYPED.sub(": ", text)
    if "\\_" in text and MARKDOWN.search(text) and not WINDOWS.search(text):
        text = ESCAPED.sub("", text)
    if FRAME_ESCAPED in text and not PLAIN_QUOTE.search(text):
        text = text.replace('\\"', '"')
    if "&" in text and HTML.search(text):
        text = HTML.sub(lambda entity: ENTITIES[entity[0]], text)
    if "\r" not in text:
        yield text
        return
    parts = [part for part in text.split("\r") if part.strip()]
    if len(parts) > REDRAWN:
        parts = [part for part in parts[:-1] if not BAR.search(part)][: REDRAWN // 2] + parts[-REDRAWN // 2 :]
    for number, part in enumerate(parts):
        if number == len(parts) - 1 or not (BAR.search(part) and len(part) < 400):
            yield part


def _pieces(text: str) -> Iterator[str]:
    """Yield a long line in pieces that overlap by more than a message; of a very long one the beginning and the end."""
    starts = range(0, len(text), LINE_MOST - OVERLAP)
    for number, start in enumerate(starts):
        if number < PIECES // 2 or number >= len(starts) - PIECES // 2:
            yield text[start : start + LINE_MOST]


def unmarked(text: str) -> str:
    """Take off the marks of inline code and of bold letters that stand around a line.

    At one end alone they stay: a line that a terminal broke is known by its width.
    ```` `ImportError: No module named 'amp_C'` ```` is what an issue makes of an error.
    """
    if text[-1:] not in MARKS:
        return text
    body = text.strip()
    if body.startswith("```") or body.endswith("```") or not body.strip("`* "):
        return text
    if BOLD.fullmatch(body):
        body = body[2:-2].strip()
    if body.count("`") == 2 and body.startswith("`") and body.endswith("`"):
        body = body.strip("`")
    return text[: len(text) - len(text.lstrip())] + body


def parted(text: str) -> list[str]:
    """Return a line's parts where something stands right behind a progress bar: a shell's word, a traceback's first."""
    if "/s" not in text and "s/" not in text:
        return [text]
    glued = GLUED.search(text, 0, LINE_MOST)
    return [text] if glued is None else [text[: glued.end()], text[glued.end() :]]


def plain(text: str) -> list[str]:
    """Return the lines of a text as a terminal shows them at last."""
    return [next(reversed(list(visible(line))), "") for line in text.replace("\r\n", "\n").split("\n")]


SLURMS = ("srun: ", "slurmstepd: ", "salloc: ", "sbatch: ")
"""How Slurm's own lines begin, which no rank wrote, whatever stands in front of them."""


def read_lines(
    raw: Sequence[tuple[int, str]], name: str, rank: int | None = None, seconds: float | None = None
) -> list[Line]:
    """Read numbered raw lines; `rank` and `seconds` are what the file as a whole tells."""
    seen = [
        (number, text)
        for number, whole in raw
        for line in unfolded(whole.rstrip("\r\n"))
        for shown in visible(line)
        for text in map(unmarked, parted(shown))
    ]
    shown = [
        (number, piece)
        for number, text in unbroken(seen)
        for piece in (_pieces(text) if len(text) > LINE_MOST else (text,))
    ]
    # the indent of a block of code in an issue
    blanks = min((len(text) - len(text.lstrip(" \t")) for _, text in shown if text.strip()), default=0)
    shown = [(number, text[blanks:]) for number, text in shown]
    also = habits(text for _, text in shown)
    prefixes = [read(text, also) for _, text in shown]
    ranks = _global_ranks(prefixes)
    lines = []
    for (number, text), prefix in zip(shown, prefixes, strict=True):
        own = prefix.rank if prefix.launched is not None else ranks.get(prefix.rank, prefix.rank)
        rest = text[prefix.length :].rstrip()
        body = rest.lstrip()
        if body.startswith(SLURMS):
            own = None
        lines.append(
            Line(
                name=name,
                number=number,
                full=text,
                text=body,
                indent=len(rest) - len(body),
                rank=rank if own is None else own,
                host=prefix.host,
                pid=prefix.pid,
                seconds=seconds if prefix.seconds is None else prefix.seconds,
                bar=bool(BAR.search(body)),
            )
        )
    return _outdented(_same_process(lines))


def _global_ranks(prefixes: Sequence[Prefix]) -> dict[int | None, int]:
    """Return the global rank of each that a launcher puts in front, where the processes' own prefixes tell one."""
    told: dict[int, set[int]] = {}
    for prefix in prefixes:
        if prefix.launched is not None and prefix.rank is not None:
            told.setdefault(prefix.launched, set()).add(prefix.rank)
    return {launched: own.pop() for launched, own in told.items() if len(own) == 1}


def _same_process(lines: list[Line]) -> list[Line]:
    """Give C++'s word that an exception ended a process the rank that its message, in the next line, names.

    Where several processes end at once, their words stand in each other's.
    """
    waiting: list[Line] = []
    since = 0
    for line in lines:
        if line.rank is None and line.text.startswith(TERMINATED):
            waiting.append(line)
            since = 0
        elif waiting and line.text.startswith(WHAT):
            for terminated in waiting:
                terminated.rank = line.rank
            waiting = []
        elif waiting and (since := since + 1) > len(waiting) + 1:
            waiting = []
    return lines


def _outdented(lines: list[Line]) -> list[Line]:
    """Take off the indent that all lines have behind their prefixes, or behind one that is not known."""
    common = min((line.indent for line in lines if line.text), default=0)
    if not common:
        return lines
    return [replace(line, indent=max(0, line.indent - common)) for line in lines]


def read_text(text: str, name: str) -> list[Line]:
    """Read a whole text as a log."""
    return read_lines(list(enumerate(text.split("\n"), 1)), name)


def by_process(lines: Iterable[Line]) -> dict[tuple[str, str], list[Line]]:
    """Put each process's lines together; lines that name none belong to their file's unnamed process."""
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        groups.setdefault((line.name, line.who), []).append(line)
    return groups

"""The exceptions in a log: what was raised, by which process, where in the user's own code."""

import itertools
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

from gpudoctor.logs.compiled_code import COMPILED, below_heading
from gpudoctor.logs.exception_names import NATIVE, USAGE_ERROR, bare_name, begins_name, named_in
from gpudoctor.logs.lines import Line, by_process
from gpudoctor.logs.notebooks import ARROW, DEBUGGED, IPYTHON_HEADER, NUMBERED, called, is_frame
from gpudoctor.logs.one_line import run_together
from gpudoctor.logs.raised import CUT_BEHIND, CUT_OFF, OWN_MOST, Frame, Raised
from gpudoctor.patterns import late_pattern

# A terminal may have cut the word.
HEADER = late_pattern(r"(?:Traceback |^[a-z]{1,8} |^)\(most recent call last\)")
FRAME = late_pattern(
    r'(?<!# )File "(?P<path>[^"\n]{1,400})", line (?P<line>\d+)(?:, in (?P<function>[^\s`]+))?'
)
# rich's and IPython's: "│ /home/me/train.py:204 in fit │", "/home/me/train.py in fit(self)"
BOXED = late_pattern(r"^[│|] (?P<path>\S{1,400}\.py):(?P<line>\d+) in (?P<function>\S+)")
MARKED = late_pattern(r"^[│|] +❱ +\d+ +(?:│ +)*(?P<text>\S.*?) *[│|]?$")
"""The line of a box's source that was running."""
GROUP = "|+ "
"""What stands in front of the lines of an exception group."""
POINTED = late_pattern(r"^\s*> File \"")
"""loguru's mark of the frame in which an exception was caught (loguru/_better_exceptions.py)."""
BOX = 12
"""Lines below a box's frame among which its marked line stands."""
SOURCE = late_pattern(
    r"^(?:raise \w|[│|] +(?:❱ +)?\d+ [│|]|❱ |"
    # the values of variables: rich's box inside its box, loguru's below a frame
    r"│ [│╭╰]|(?:│ *){0,40}└ |"
    r"-{2,}> ?\d+ )"  # IPython's
)
BOX_SIDES = ("│", "|")
UNCAUGHT = late_pattern(r"(?:^|:)\[rank\d+\]: ")
"""What torch puts before the traceback of an exception that ends a rank: init_process_group sets sys.excepthook."""
RANKED = late_pattern(r"\[rank\d+\]: ")
CUT_FRAME = late_pattern(r"^File \"(?:[^\"]*|[^\"]*\"[, a-z]{0,7}\d*)$")
"""A frame that was cut off."""
NUMBERED_ROW = late_pattern(r"^[│|] (?: {2,}|❱ +)\d+ ")
"""A line of source in a box of rich's, with its number; a table's row may look like it."""
CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
LATE = late_pattern(
    r"(?:^|\]\s{0,400})Exception ignored in|^Error in atexit|^Error in sys\.excepthook|"
    r"^Exception in thread QueueManagerThread|"
    # torchrun's agent, which waits for those of other nodes where its own workers have ended
    r"\bError waiting on exit barrier\b"
)
FORKED = "can only test a child process"
"""What a DataLoader's iterator says in a forked process that throws it away: Python ignores it (dataloader.py)."""
RECORD = late_pattern(r"^\{\"(?=.{0,400}\"(?:level|levelname|severity|lvl)\" ?: ?\")")
"""What a logger writes as JSON."""
INFORMS = late_pattern(r"\b(?:INFO|DEBUG|WARN(?:ING)?)\b")
"""The level in front of a logger's line."""
EXITED = late_pattern(r"^\S.{0,60} exited with (?:code|status) -?\d+\b")
"""What Docker Compose, and many a supervisor, says of a program's end."""
GROUP_ENDS = "+---"
"""What Python draws below the last exception of a group."""
CALLED_FROM = "At:"
"""Above the Python lines that pybind11 puts behind the message of an exception that came through C++."""
NAME_BEGUN = late_pattern(r"^(?:[a-z_]\w{0,60}\.){0,8}[A-Za-z_]\w{0,60}\.?$")
NAME_ENDS = late_pattern(r"^[\w.]{0,120}(?:ror|eption|Exit|Interrupt|NotMet)(?:: \S|:?$)")
"""The two halves of the name of an exception that a terminal cut in two."""
ADVICE = late_pattern(
    r"(?:Tip|Hint|HINT): |To (?:fix|avoid|debug) this\b|If (?:this error|you (?:suspect|believe))\b|"
    r"For more (?:debugging|information)\b|"
    r"Set TORCH\w+=|from user code:$"
)
"""How a paragraph of torch's advice begins, below what an exception says; no program of a user's prints that."""
SHORTENED = late_pattern(r"^Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace")
"""What Hydra says below an error with which it ends the program (hydra/_internal/utils.py)."""
RAISING = late_pattern(r"^raise (?P<type>(?:[A-Za-z_]\w*\.){0,6}[A-Z]\w{1,60}(?:Error|Exception|Exit))\b")
"""The line of source that raised what is not named any more."""
LINES_OF_MESSAGE = 20


def quoted_source(lines: Sequence[Line]) -> set[int]:
    """Return the places of lines that quote source below a traceback's frame: ``raise KeyError("…")`` is no error."""
    quoted: set[int] = set()
    frames: dict[tuple[str, str], int] = {}
    last: dict[tuple[str, str], deque[int]] = defaultdict(lambda: deque(maxlen=2))
    ran: dict[tuple[str, str], int] = {}
    for place, line in enumerate(lines):
        key = (line.name, line.who)
        if FRAME.search(line.text) or is_frame(line.text):
            frames[key] = line.indent
        elif SOURCE.match(line.text) or (
            key in frames and line.text and (line.indent > frames[key] or NUMBERED.match(line.text))
        ):
            quoted.add(place)
            last[key].append(place)
            if MARKED.match(line.text):
                ran[key] = place
        elif line.text and not line.bar:
            if named_in(line.text, inside=key in frames):
                last.pop(key, None)
                ran.pop(key, None)
            frames.pop(key, None)
    # Where the log ends inside a traceback, its last lines of source are all that tells what was raised.
    return quoted.difference(*last.values(), ran.values())


def in_traceback(lines: Sequence[Line], place: int) -> bool:
    """Return whether a line is one of a traceback's own: its first, a frame, or source that it quotes."""
    text = lines[place].text[:400]
    if FRAME.search(text) or HEADER.search(text):
        return True
    if ARROW.match(text) or (NUMBERED.match(text) and _by_an_arrow(lines, place)):
        return True
    if text[:1] in BOX_SIDES and (BOXED.match(text) or _in_box(lines, place)):
        return True
    return place > 0 and FRAME.search(lines[place - 1].text) is not None


def _by_an_arrow(lines: Sequence[Line], place: int) -> bool:
    """Return whether a row with a number in front stands beside the line that IPython's arrow points to."""
    near = lines[max(0, place - BOX // 2) : place + BOX // 2]
    return any(ARROW.match(row.text) for row in near)


def _in_box(lines: Sequence[Line], place: int) -> bool:
    """Return whether a row is source of a frame in a box of rich's: the frame, or the line that ran, stands near it."""
    if not NUMBERED_ROW.match(lines[place].text):
        return False
    near = lines[max(0, place - BOX) : place + BOX // 2]
    return any(BOXED.match(row.text) or MARKED.match(row.text) for row in near)


def exceptions(lines: Sequence[Line], source: set[int] | None = None) -> list[Raised]:
    """Return the exceptions of a log, in the order of the text; `source` as for `seen_in`."""
    places = {id(line): place for place, line in enumerate(lines)}
    source = quoted_source(lines) if source is None else source
    found = [
        raised
        for group in by_process(lines).values()
        for raised in _of_process(group, [places[id(x)] for x in group], source)
    ]
    return sorted(found, key=lambda raised: raised.place)


def _of_process(lines: Sequence[Line], places: list[int], source: set[int]) -> Iterator[Raised]:
    frames: list[Frame] = []
    first: int | None = None
    chained = late = headed = False
    begins = last_frame = 0
    notebook = ""
    shown = -1
    above: Raised | None = None
    for number, line in enumerate(lines):
        text, place = line.text, places[number]
        if not text or number <= shown:
            continue
        if first is None and COMPILED.match(text):
            shown = below_heading(lines, number)
            continue
        if SHORTENED.match(text) and (refused := _refused(lines, places, number, above)):
            yield refused
            continue
        if debugged := DEBUGGED.match(text):
            message, calls, shown = _debugged(lines, number)
            kind = debugged["type"].rpartition(".")[2]
            yield Raised(kind, message, line, place, place, places[shown], calls, headed=True)
            continue
        if flat := run_together(text):
            yield Raised(*flat[:2], line, place, place, place, flat[2], headed=True)
        elif HEADER.search(text):
            first, frames, headed, begins = place, [], True, number
            named = IPYTHON_HEADER.match(text)
            notebook = named["type"] if named else ""
            before = [x.text for x in lines[max(0, number - 4) : number] if x.text]
            chained = any(x.startswith(CHAINED) for x in before)
            late = any(LATE.search(x) for x in before)
        elif frame := FRAME.search(text) or BOXED.match(text):
            if first is None:
                first, frames, chained, late, headed = place, [], False, False, False
                begins = number
            last_frame = number
            quoted = number + 1 < len(lines) and places[number + 1] in source
            text = _source(text, lines[number + 1 : number + 1 + BOX], quoted=quoted)
            frames.append(Frame(frame["path"], int(frame["line"]), frame["function"], text))
        elif call := called(text, lines[number + 1 : number + 1 + BOX], old=bool(notebook)):
            if first is None:
                first, frames, chained, late, headed = place, [], False, False, False
            last_frame = number
            frames.append(Frame(*call))
        elif place not in source and (
            raised := (_cut_name(lines, number) if frames else None)
            or named_in(text, inside=bool(frames))
            or bare_name(lines, number)
        ):
            if text.startswith("terminate called") and any(
                NATIVE.match(x.text) for x in lines[number + 1 : number + 3]
            ):
                continue  # what() says more
            last = _end(lines, number)
            begun = place if first is None else first
            above = Raised(
                *raised,
                line,
                begun,
                place,
                places[last],
                frames,
                chained,
                late or raised[1] == FORKED,
                headed,
                bool(frames) and any(map(_by_a_handler, lines[begins:number])),
            )
            yield above
            first, frames, chained, late, headed, notebook = None, [], False, False, False, ""
    # A stack without the words above it is one that a program printed of its own, and went on.
    rest = [x for x in lines[last_frame:] if x.text]
    rest = rest[:-1] if rest and begins_name(rest[-1].text) else rest
    open_end = headed or not any(x.indent < lines[last_frame].indent for x in rest)
    last_text = lines[last_frame].text if frames else ""
    marked = bool(frames) and bool(frames[-1].text) and (is_frame(last_text) or bool(BOXED.match(last_text)))
    below = rest[1:]
    # One frame alone is a traceback's where nothing but its source stands below it, and that of another above.
    upper = next((x for x in reversed(lines[:last_frame]) if x.text), None)
    cut = upper is None or upper.indent > lines[last_frame].indent
    alone = cut and len(below) == 1 and below[0].indent > lines[last_frame].indent
    # So is one that torch marks as a rank's end, and one with which the log ends, or begins to.
    marked = marked or (bool(frames) and (not below or RANKED.search(lines[last_frame].full) is not None))
    marked = marked or (bool(below) and CUT_FRAME.match(below[-1].text) is not None)
    stopped = bool(notebook) or len(frames) > (0 if headed or marked or alone else 1)
    if first is not None and stopped and open_end and not _printed_again(frames, first, above):
        # The log ends, or was cut, before the line that names the exception.
        line = next(line for line, place in zip(lines, places, strict=True) if place == first)
        raising = next(filter(None, (RAISING.match(x.text) for x in reversed(below[-2:]))), None)
        kind = (notebook or (raising["type"] if raising else "")).rpartition(".")[2] or CUT_OFF
        said = CUT_BEHIND if raising or notebook else ""
        # Who pressed Ctrl-C gets the traceback of that.
        at = places.index(first)
        late = late or any(x.full.startswith("^C") for x in lines[max(0, at - 4) : at + 1])
        yield Raised(kind, said, line, first, first, places[-1], frames, chained, late, headed)


def _cut_name(lines: Sequence[Line], number: int) -> tuple[str, str] | None:
    """Return type and message of an exception at the end of a traceback whose name goes on in the next line."""
    text = lines[number].text
    if number + 1 >= len(lines) or not NAME_BEGUN.match(text):
        return None
    below = lines[number + 1].text
    if not NAME_ENDS.match(below) or (named_in(text, inside=True) and not below[0].islower()):
        return None
    return named_in(text + below, inside=True)


def _refused(lines: Sequence[Line], places: list[int], number: int, above: Raised | None) -> Raised | None:
    """Return what Hydra says above the line in which it has left out the traceback; ``None`` where that is there."""
    end = number - 1 if number and not lines[number - 1].text else number
    begin = end
    while begin and lines[begin - 1].text and end - begin < LINES_OF_MESSAGE:
        begin -= 1
    if (
        begin == end
        or (above is not None and above.last >= places[begin])
        or SHORTENED.match(lines[begin].text)
    ):
        return None
    said = lines[begin]
    return Raised(USAGE_ERROR, said.text, said, places[begin], places[begin], places[number])


def _printed_again(frames: Sequence[Frame], first: int, above: Raised | None) -> bool:
    """Return whether a traceback that is cut off begins as the one right above it, from another rank or a log file."""
    if above is None or above.last + 1 != first:
        return False
    begin = [(x.path, x.line) for x in above.frames[: len(frames)]]
    return begin == [(x.path, x.line) for x in frames]


def _debugged(lines: Sequence[Line], number: int) -> tuple[str, list[Frame], int]:
    """Return message and frames of what a debugger shows below a line, the outermost in front, and where it ends."""
    message = next((line.text for line in lines[number + 1 : number + 3] if line.text), "")
    frames: list[Frame] = []
    last = number
    for at in range(number + 1, min(len(lines), number + OWN_MOST)):
        if frame := FRAME.search(lines[at].text):
            source = lines[at + 1].text if at + 1 < len(lines) else ""
            frames.insert(0, Frame(frame["path"], int(frame["line"]), frame["function"], source))
            last = min(at + 1, len(lines) - 1)
        elif frames and at > last:
            break
    return message, frames, last


def _by_a_handler(line: Line) -> bool:
    """Return whether a line of a traceback shows that a logger wrote it: loguru's mark, rich's box behind a margin."""
    return POINTED.match(line.full) is not None or (line.text.startswith("╭─") and line.indent > 0)


def _source(frame: str, below: Sequence[Line], *, quoted: bool) -> str:
    """Return the source of a frame: the line right below it where that quotes it, or the one that a box marks."""
    if not below:
        return ""
    grouped = frame.startswith("|") and below[0].text.startswith("|   ")
    if grouped or (quoted and not BOXED.match(frame)):
        return below[0].text.lstrip(GROUP)
    box = itertools.takewhile(lambda line: not BOXED.match(line.text), below)
    return next((marked["text"] for line in box if (marked := MARKED.match(line.text))), "")


def _end(lines: Sequence[Line], number: int) -> int:
    """Return the number of the last line of the message that begins in a line."""
    last = begin = number
    for after in range(number + 1, min(number + 2 * LINES_OF_MESSAGE, len(lines))):
        text = lines[after].text
        if after - begin >= LINES_OF_MESSAGE:
            break
        if HEADER.search(text) or text.startswith(CHAINED) or lines[after].bar:
            break
        if lines[after].seconds is not None and lines[number].seconds is None:
            break  # a logger's line, not the exception's
        if text.startswith(GROUP_ENDS):
            break
        if EXITED.match(text):
            break  # what had started the program says that it ended
        if RECORD.match(text) or INFORMS.search(lines[after].full[: -len(text)] if text else ""):
            break
        if not text and (after + 1 >= len(lines) or lines[after + 1].indent <= lines[number].indent):
            below = next((x.text for x in lines[after + 1 : after + 4] if x.text), "")
            if below != CALLED_FROM and not ADVICE.match(below):
                break
            begin = after
        last = after
    return last

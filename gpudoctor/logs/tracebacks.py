"""The exceptions in a log: what was raised, by which process, where in the user's own code."""

import itertools
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from gpudoctor.facts import SourceLine
from gpudoctor.logs.lines import Line, by_process
from gpudoctor.logs.notebooks import DEBUGGED, IPYTHON_HEADER, NUMBERED, called, is_frame
from gpudoctor.patterns import late_pattern

# A terminal may have cut the word.
HEADER = late_pattern(r"(?:Traceback|^[a-z]{0,8}) \(most recent call last\)")
FRAME = late_pattern(r'File "(?P<path>[^"\n]{1,400})", line (?P<line>\d+)(?:, in (?P<function>[^\s`]+))?')
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
RAISED = late_pattern(
    r"^(?:[#*`>|│E ]{0,8})(?P<type>(?:[A-Za-z_]\w{0,60}\.){1,8}(?:[a-z]{0,12}error|timeout)(?=: |:?$)|"
    # Ray names in brackets what it passes on
    r"(?:[A-Za-z_]\w{0,60}\.){0,8}_?[A-Z]\w{0,80}(?:\(\w{1,60}\)(?=: ))?"
    # Any capitalised name may be an exception where a message follows; alone, its name must say so.
    r"(?=: |:?$)(?:(?<=Error|.Exit)|(?<=Exception|Interrupt|Iteration)|(?=: \S))|"
    # Alone with its module, as queue.Empty, it is no word of a sentence.
    r"(?:[A-Za-z_]\w{0,60}\.){1,8}[A-Z]\w{0,80}(?=$))(?:: ?(?P<message>.*))?$"
)
# Outside of a traceback the name itself must say that it is an exception.
NAMED = late_pattern(
    r"(?:^|[\s`*>#│|(\]:-])(?P<type>(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception|StopIteration|KeyboardInterrupt|SystemExit)(?:\(\w{1,60}\))?|"
    # the plain one at a line's beginning alone: elsewhere the word is a sentence's
    r"(?<!.)Exception) {0,8}: (?P<message>\S.*)$"
)
BARE = late_pattern(r"^(?P<type>(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{1,60}(?:Error|Exception))$")
"""An exception without a message; it counts where the source that raised it, or carets, stand right above it."""
USAGE = late_pattern(
    r"^(?P<message>[\w./-]*python[\d.]*: (?:can't open file|No module named ).*|[\w./-]+\.py: error: .*|"
    r"Error .{1,200} at line \d+ in file \S+|"
    # absl, absl/app.py
    r"FATAL Flags parsing error: .*|"
    # argparse and click, whatever the program is called
    r"[\w./-]{1,80}: error: (?:argument |the following arguments are required|unrecognized arguments|"
    r"one of the arguments|ambiguous option).*|"
    r"Error: (?:Invalid value|No such (?:option|command)|Missing (?:option|argument|parameter|command)).*|"
    # the same in rich's box, as typer prints it
    r"│ (?:Invalid value for|No such (?:option|command):|Missing (?:option|argument|parameter|command)|"
    r"Got unexpected extra argument).* │|"
    r"(?:/bin/)?(?:ba|z)?sh: .{0,200}(?:command not found|No such file or directory|Permission denied))$"
)
"""What Python, argparse and a shell say before a script runs."""
PYTHONS = late_pattern(r"^[\w./-]*python[\d.]*: Error while finding module specification for .*")
"""Python's own end where the module of ``python -m`` is not there: it quotes an exception that it caught itself."""
NATIVE = late_pattern(
    r"^(?:terminate called after throwing an instance of '(?P<type>[^']{1,80})'|what\(\): +(?P<message>\S.*))"
)
SOURCE = late_pattern(
    r"^(?:raise \w|[│|] +(?:❱ +)?\d+ [│|]|❱ |"
    # the values of variables: rich's box inside its box, loguru's below a frame
    r"│ [│╭╰]|(?:│ *){0,40}└ |"
    r"-{2,}> ?\d+ )"  # IPython's
)
WRAPPERS = late_pattern(
    r"(?:ChildFailedError|ProcessRaisedException|ProcessExitedException|CalledProcessError|RayTaskError(?:\(\w+\))?|"
    r"RayActorError|ActorDiedError|NodeDiedError|TrainingFailedError|WorkerCrashedError|SystemExit|SignalException|BrokenProcessPool|"
    r"RemoteTraceback|_RemoteTraceback|MaxRetryError|TaskError|(?:Base)?ExceptionGroup|RemoteError|WorkerFailedError|CheckpointException)$"
)
"""Exceptions that only pass on that another process, or a task of this one, failed."""
PASSED_ON = late_pattern(
    r"Caught \w+ in (?:DataLoader worker process|replica|pin memory thread)|(?:\w+: )?On WorkerInfo\(id="
)
"""What torch writes in front of "Original Traceback" (torch/_utils.py, ExceptionWrapper), and of one that a function
raised which was called on another process (torch/distributed/rpc/internal.py)."""
NOT_OWN = late_pattern(
    r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python\d|[/\\]python\d\.\d+[/\\]|^<|^/opt/pytorch|[/\\]torch[/\\](?:nn|utils|distributed)[/\\]|importlib|runpy\.py|^\.\.\.|[/\\]bin[/\\]\w+$|"
    # Cython's, whose paths are those of the machine that compiled it: pandas/_libs/hashtable_class_helper.pxi
    r"\.p(?:yx|x[id])$"
)
CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
LATE = late_pattern(
    r"(?:^|\]\s{0,400})Exception ignored in|^Error in atexit|^Error in sys\.excepthook|"
    r"^Exception in thread QueueManagerThread"
)
FORKED = "can only test a child process"
"""What a DataLoader's iterator says in a forked process that throws it away: Python ignores it (dataloader.py)."""
IN_THREAD = late_pattern(r"[/\\]threading\.py$")
RECORD = late_pattern(r"^\{\"(?=.{0,400}\"(?:level|levelname|severity|lvl)\" ?: ?\")")
"""What a logger writes as JSON."""
INFORMS = late_pattern(r"\b(?:INFO|DEBUG|WARN(?:ING)?)\b")
"""The level in front of a logger's line."""
EXITED = late_pattern(r"^\S.{0,60} exited with (?:code|status) -?\d+\b")
"""What Docker Compose, and many a supervisor, says of a program's end."""
USAGE_ERROR = "usage error"
"""What stands in the place of an exception's type where a script did not come to run."""
CALLED_FROM = "At:"
"""Above the Python lines that pybind11 puts behind the message of an exception that came through C++."""
ADVICE = late_pattern(
    r"(?:Tip|Hint|HINT): |To (?:fix|avoid|debug) this\b|If (?:this error|you (?:suspect|believe))\b|"
    r"For more (?:debugging|information)\b|"
    r"Set TORCH\w+=|from user code:$"
)
"""How a paragraph of torch's advice begins, below what an exception says; no program of a user's prints that."""
SHORTENED = late_pattern(r"^Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace")
"""What Hydra says below an error with which it ends the program (hydra/_internal/utils.py)."""
CUT_OFF = "an exception that is not named: the log ends inside its traceback"
CUT_BEHIND = "its message is not here: the log ends inside its traceback"
RAISING = late_pattern(r"^raise (?P<type>(?:[A-Za-z_]\w*\.){0,6}[A-Z]\w{1,60}(?:Error|Exception|Exit))\b")
"""The line of source that raised what is not named any more."""
LINES_OF_MESSAGE = 20
OWN_MOST = 64
"""Lines of the user's own files that are kept."""


OUTERMOST = frozenset(
    {"<module>", "_bootstrap", "_bootstrap_inner", "_run_module_as_main", "_wrap", "spawn_main"}
)
"""Functions with which the traceback of an exception begins that nobody caught: Python's own way into user code."""


class Frame(Struct, frozen=True):
    """One call of a traceback."""

    path: str
    line: int
    function: str | None
    text: str = ""
    """The line of source, where the traceback quotes it."""


class Raised(Struct):
    """One exception."""

    type: str
    """Without its module."""
    message: str
    line: Line
    """The line that names it."""
    first: int
    """Place of the traceback's header among the lines that were read."""
    place: int
    """Place of the line that names it."""
    last: int
    """Place of the last line of its message."""
    frames: list[Frame] = []
    chained: bool = False
    """Raised while an earlier one was handled."""
    late: bool = False
    """Raised while the interpreter ended, or ignored by Python itself."""
    headed: bool = False
    """The first line of its traceback is here, so that its first frame is the outermost."""
    pointed: bool = False
    """It is written as loguru or rich's handler of a logger writes it: Python has not printed it."""

    @property
    def wrapper(self) -> bool:
        """Whether it only passes on that another process or thread failed, whose own exception comes below."""
        return WRAPPERS.search(self.type) is not None or PASSED_ON.match(self.message) is not None

    @property
    def caught(self) -> bool:
        """Whether a handler printed it: its traceback begins in a function, and not where Python begins."""
        if not (self.headed and self.frames):
            return False
        return (self.frames[0].function or "<module>") not in OUTERMOST or self.tried or self.pointed

    @property
    def tried(self) -> bool:
        """Whether its traceback begins in a line that tries something, and goes on where that fails."""
        return bool(self.frames) and self.frames[0].text.startswith("try:")

    @property
    def told(self) -> str:
        """The words of a program in front of it, where no traceback is shown: it had caught it when it wrote them."""
        named = None if self.frames or self.type == USAGE_ERROR else NAMED.search(self.line.text)
        return "" if named is None else self.line.text[: named.start("type")].strip("#*`>|│E [(:")

    @property
    def at_top(self) -> bool:
        """Whether its traceback begins in a script, as of one that nobody caught does."""
        return bool(self.frames) and self.frames[0].function == "<module>" and not self.late

    @property
    def of_thread(self) -> bool:
        """Whether it was raised in a thread: its traceback begins in threading.py."""
        return bool(self.frames) and IN_THREAD.search(self.frames[0].path) is not None

    @property
    def own(self) -> Frame | None:
        """The last frame in the user's own files."""
        return next((f for f in reversed(self.frames) if not NOT_OWN.search(f.path)), None)


def own_lines(raised: Iterable[Raised]) -> tuple[SourceLine, ...]:
    """Return the lines of the user's own files that tracebacks name, the innermost of each in front."""
    found = {
        (frame.path, frame.line): SourceLine(path=frame.path, line=frame.line, text=frame.text)
        for one in raised
        for frame in reversed(one.frames)
        if not NOT_OWN.search(frame.path)
    }
    return tuple(itertools.islice(found.values(), OWN_MOST))


def quoted_source(lines: Sequence[Line]) -> set[int]:
    """Return the places of lines that quote source below a traceback's frame: ``raise KeyError("…")`` is no error."""
    quoted: set[int] = set()
    frames: dict[tuple[str, str], int] = {}
    last: dict[tuple[str, str], deque[int]] = defaultdict(lambda: deque(maxlen=2))
    for place, line in enumerate(lines):
        key = (line.name, line.who)
        if FRAME.search(line.text) or is_frame(line.text):
            frames[key] = line.indent
        elif SOURCE.match(line.text) or (
            key in frames and line.text and (line.indent > frames[key] or NUMBERED.match(line.text))
        ):
            quoted.add(place)
            last[key].append(place)
        elif line.text and not line.bar:
            if _raised(line.text, inside=key in frames):
                last.pop(key, None)
            frames.pop(key, None)
    # Where the log ends inside a traceback, its last lines of source are all that tells what was raised.
    return quoted.difference(*last.values())


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
        if SHORTENED.match(text) and (refused := _refused(lines, places, number, above)):
            yield refused
            continue
        if debugged := DEBUGGED.match(text):
            message, calls, shown = _debugged(lines, number)
            kind = debugged["type"].rpartition(".")[2]
            yield Raised(kind, message, line, place, place, places[shown], calls, headed=True)
            continue
        if HEADER.search(text):
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
        elif place not in source and (raised := _raised(text, inside=bool(frames)) or _bare(lines, number)):
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
    open_end = headed or not any(x.text and x.indent < lines[last_frame].indent for x in lines[last_frame:])
    marked = bool(frames) and bool(frames[-1].text) and is_frame(lines[last_frame].text)
    below = [x for x in lines[last_frame + 1 :] if x.text]
    # One frame alone is a traceback's where a paste holds nothing but it and its source.
    whole = sum(bool(x.text) for x in lines) == 2
    alone = whole and len(below) == 1 and below[0].indent > lines[last_frame].indent
    stopped = bool(notebook) or len(frames) > (0 if headed or marked or alone else 1)
    if first is not None and stopped and open_end and not _printed_again(frames, first, above):
        # The log ends, or was cut, before the line that names the exception.
        line = next(line for line, place in zip(lines, places, strict=True) if place == first)
        raising = next(filter(None, (RAISING.match(x.text) for x in reversed(below[-2:]))), None)
        kind = (notebook or (raising["type"] if raising else "")).rpartition(".")[2] or CUT_OFF
        said = CUT_BEHIND if raising and not notebook else ""
        yield Raised(kind, said, line, first, first, places[-1], frames, chained, late, headed)


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


def _raised(text: str, *, inside: bool) -> tuple[str, str] | None:
    """Return type and message of the exception that a line names."""
    match = RAISED.match(text) if inside else NAMED.search(text)
    if match is None and inside:
        match = NAMED.search(text)
    if match is not None and PYTHONS.match(text):
        return USAGE_ERROR, text
    if match is not None:
        return match["type"].rpartition(".")[2], (match["message"] or "").strip(" `│|*")
    if usage := USAGE.match(text):
        return USAGE_ERROR, usage["message"].strip("│ ")
    if native := NATIVE.match(text):
        return (native["type"] or "C++ exception").rpartition("::")[2], native["message"] or ""
    return None


def _bare(lines: Sequence[Line], number: int) -> tuple[str, str] | None:
    """Return type and message of an exception that ends a traceback of which the top was cut off."""
    bare = BARE.match(lines[number].text)
    above = lines[number - 1] if number else None
    if bare is None or above is None or not above.text or above.indent <= lines[number].indent:
        return None
    return bare["type"].rpartition(".")[2], ""


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

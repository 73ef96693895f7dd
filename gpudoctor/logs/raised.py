"""An exception of a log: what was raised, through which calls, and what its traceback tells of who printed it."""

import itertools
from collections.abc import Iterable

from msgspec import Struct

from gpudoctor.facts import SourceLine
from gpudoctor.logs.exception_names import NAMED, USAGE_ERROR
from gpudoctor.logs.lines import Line
from gpudoctor.patterns import late_pattern

WRAPPERS = late_pattern(
    r"(?:ChildFailedError|ProcessRaisedException|ProcessExitedException|CalledProcessError|RayTaskError(?:\(\w+\))?|"
    r"RayActorError|ActorDiedError|NodeDiedError|TrainingFailedError|WorkerCrashedError|SystemExit|SignalException|BrokenProcessPool|"
    r"RemoteTraceback|_RemoteTraceback|MaxRetryError|TaskError|(?:Base)?ExceptionGroup|RemoteError|WorkerFailedError|CheckpointException|"
    r"ExecuteUserScriptError|AlgorithmError)$"
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
IN_LIBRARY = late_pattern(r"^[>\s]{0,8}\[?[EF][\d .:]{0,40}\b\w+\.(?:cpp|cc|cxx|cu|hpp|h):\d+\]")
"""The place in its source that a library of C++ writes in front of what it reports: no handler of a program's does."""
IN_THREAD = late_pattern(r"[/\\]threading\.py$")
CUT_OFF = "an exception that is not named: the log ends inside its traceback"
CUT_BEHIND = "its message is not here: the log ends inside its traceback"
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
    kept_from: bool = False
    """The script lies here, and its source shows that it catches this and goes on."""

    @property
    def wrapper(self) -> bool:
        """Whether it only passes on that another process or thread failed, whose own exception comes below."""
        return WRAPPERS.search(self.type) is not None or PASSED_ON.match(self.message) is not None

    @property
    def caught(self) -> bool:
        """Whether a handler printed it: its traceback begins in a function, and not where Python begins."""
        if not (self.headed and self.frames):
            return False
        return (
            (self.frames[0].function or "<module>") not in OUTERMOST
            or self.tried
            or self.pointed
            or self.kept_from
        )

    @property
    def tried(self) -> bool:
        """Whether its traceback begins in a line that tries something, and goes on where that fails."""
        return bool(self.frames) and self.frames[0].text.startswith("try:")

    @property
    def told(self) -> str:
        """The words of a program in front of it, where no traceback is shown: it had caught it when it wrote them."""
        named = None if self.frames or self.type == USAGE_ERROR else NAMED.search(self.line.text)
        said = "" if named is None else self.line.text[: named.start("type")].strip("#*`>|│E [(:")
        return "" if IN_LIBRARY.search(self.line.full, 0, 200) else said

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

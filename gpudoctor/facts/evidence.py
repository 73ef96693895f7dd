"""What was read or run, beside the machine: a log, scripts, a command, an interpreter that keeps silent."""

import enum

from msgspec import Struct


class GivenKind(enum.Enum):
    """What a file is taken for."""

    SCRIPT = "script"
    LOG = "log"
    CHECKPOINT = "checkpoint"
    REPORT = "report"


class GivenFile(Struct, frozen=True, kw_only=True):
    """A file or folder that was handed in, and what it was taken for."""

    path: str
    kind: GivenKind
    unread: str = ""
    """Why it could not be read as that, in a sentence."""


class Given(Struct, frozen=True, kw_only=True):
    """All that was handed in beside the machine."""

    files: tuple[GivenFile, ...] = ()


class SourceLine(Struct, frozen=True, kw_only=True):
    """A line of the user's own source that a log names."""

    path: str
    line: int
    text: str = ""
    """As the log quotes it; empty where it does not."""


class Log(Struct, frozen=True, kw_only=True):
    """What a training printed, as far as it was read."""

    lines: int
    """Of all files together."""
    middle: str = ""
    """How far the training had come where the log ends in the middle of it, such as ``epoch 3 of 10``."""
    hosts: tuple[str, ...] = ()
    """Machines, and lists of them, that any line names in a form of its own; those that the findings speak of."""
    users: tuple[str, ...] = ()
    """Users of whom the same is true."""
    repositories: tuple[str, ...] = ()
    """What belongs to one of them on a public site, ``owner/name``."""
    projects: tuple[str, ...] = ()
    """Accounts, jobs, queues and name spaces."""
    serials: tuple[str, ...] = ()
    """Numbers that identify a board or an account."""
    own: tuple[SourceLine, ...] = ()
    """The lines of the user's own source that its tracebacks name, each once."""


class Code(Struct, frozen=True, kw_only=True):
    """Source of training scripts, as far as it was read."""

    files: int
    """All that were asked for, those that cannot be read too."""
    lines: int
    """Of those that were read."""
    unread: tuple[str, ...] = ()
    """Why a file could not be read, a sentence for each."""
    partly: tuple[str, ...] = ()
    """Files whose program is too long to be followed to its end."""
    suppressed: int = 0
    """Findings that a comment in the source hides."""


class Run(Struct, frozen=True, kw_only=True):
    """A command that was run untouched (``gpudoctor run``)."""

    name: str
    exit_code: int
    """As a shell says it: 128 and the signal's number where a signal ended it."""
    seconds: float
    interrupted: bool = False
    """By Ctrl-C, or by a signal that was sent to us and passed on."""
    killed: bool = False
    """Whether it died of SIGKILL itself, and did not only pass on the exit code of another process."""
    oom_kills: int | None = None
    """How many processes the kernel killed on this machine, while it ran, because memory had run out."""
    largest_bytes: int | None = None
    """The most memory that one of its processes held."""
    silent: float | None = None
    """For how many seconds it had printed nothing when it was asked to end; ``None`` where nobody did."""
    longest_silence: float = 0.0
    """The longest time before that, in seconds, in which it printed nothing."""
    lines: int | None = None
    """Lines of its output that it had printed when it was asked to end, of those that are kept."""
    still: bool = False
    """Whether its ranks stood still for certain when it was asked to end: none computed."""
    ranks: str = ""
    """What their processes did then, as a sentence."""
    stacks: str = ""
    """Where they stood then, as py-spy told; empty where it is not installed, or might not look."""


class Silence(Struct, frozen=True, kw_only=True):
    """The patient gave no answer: its interpreter hangs, dies, or is no Python."""

    executable: str
    how: str
    """How it ended, such as ``no answer in 15 s`` or ``killed by SIGSEGV``."""
    said: str = ""
    """The last line that it wrote to standard error."""
    started: bool = True
    """Whether it could be started at all."""

"""The words that a check is written in: severity, fix, evidence, finding, symptom, check."""

import enum
import functools
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.field_types import typed, typed_all

FAMILIES = (
    "hardware",
    "driver",
    "build",
    "nccl",
    "network",
    "launch",
    "placement",
    "ddp",
    "checkpoint",
    "processes",
    "data",
)
"""The layers in causal order: the first broken one is the likely cause of those after it."""


def layer(family: str) -> int:
    """Return a family's place in the causal order; families of local checks come last."""
    return FAMILIES.index(family) if family in FAMILIES else len(FAMILIES)


UNRECOGNISED = "unrecognised-error"
"""The check that reports what no other check knows."""

Function = TypeVar("Function", bound=Callable[..., Iterable["Finding"]])


class Severity(enum.Enum):
    """How much a finding matters on this machine and for this launch."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """Its place in the order, 0 for the worst."""
        return list(Severity).index(self)


class Source(enum.Enum):
    """The kind of evidence that a finding rests on."""

    ENVIRONMENT = "environment"
    LOG = "log"
    CODE = "code"
    CHECKPOINT = "checkpoint"
    REPRODUCTION = "reproduction"


class Role(enum.Enum):
    """Whether a finding is what went wrong, or what followed from it."""

    CAUSE = "cause"
    CONSEQUENCE = "consequence"


class Kind(enum.Enum):
    """What a fix asks for."""

    COMMAND = "command"
    """Safe to paste into a shell."""
    EDIT = "edit"
    """A change of the user's own code."""
    ADMIN = "admin"
    """Needs root, or the owner of the machine or cluster."""
    MITIGATION = "mitigation"
    """Hides the fault; the summary says what it costs."""


class How(enum.Enum):
    """How it is known of a fix that it helps."""

    SEEN = "seen to work"
    """A script failed without it and passed with it."""
    REPORTED = "reported to work"
    """Somebody says so, in an issue."""
    DOCUMENTED = "from the documentation"
    """Documentation says what it does; that it mends this failure was not run."""
    LOOKS = "only looks"
    """It changes nothing."""
    FOLLOWS = "follows from what was found"
    """It undoes what the finding names, or is common practice: nobody's documentation is needed for it."""


class Known(Struct, frozen=True):
    """What is known of a fix."""

    how: How
    by: str = ""
    """Where it was seen, such as ``torch 2.15.0 on the CPU``, or what the documentation describes."""
    link: str = ""


class Fix(Struct, frozen=True):
    """One way to repair a failure: what it does, and the exact command or code."""

    summary: str
    command: str = ""
    kind: Kind = Kind.COMMAND
    filled: tuple[str, ...] | None = None
    """What was put into it from a log or a machine: that alone may be private. ``None`` where nobody can tell."""
    proof: str = ""
    """The part of the command that the reproduction proves: ``fixed.py`` has it and ``broken.py`` has not."""
    source: str = ""
    """The link that shows this fix, where ``grounds.json`` does not know it by its command."""
    known: Known | None = None
    """What is known of it; put there when a report is made."""


class Evidence(Struct, frozen=True):
    """A quoted observation."""

    text: str
    where: str | None = None
    """Its place, such as ``train.log:120`` or ``/proc/driver/nvidia/version``."""
    rank: int | None = None


class Location(Struct, frozen=True):
    """A place in a source file; lines and columns count from 1."""

    path: str
    line: int
    column: int = 1


class Where(Protocol):
    """Anything that names a place in a source file: a `Location`, or the ``Place`` of a fact."""

    @property
    def path(self) -> str:
        """The file, as it was named."""

    @property
    def line(self) -> int:
        """Counted from 1."""

    @property
    def column(self) -> int:
        """Counted from 1."""


class Finding(Struct, frozen=True, kw_only=True):
    """One occurrence of a check's failure."""

    id: str
    family: str
    title: str
    severity: Severity
    source: Source = Source.ENVIRONMENT
    role: Role = Role.CAUSE
    message: str
    """The observed value, then why it matters."""
    evidence: list[Evidence] = []
    location: Location | None = None
    fixes: list[Fix] = []
    page: str
    ranks: list[int] = []
    """The ranks that it was seen on, in a log."""
    handled: bool = False
    """The process went on after it."""
    behind: str = ""
    """What is known of its own cause where that does not show here, in a sentence; the verdict repeats it."""
    also: list[str] = []
    """Other ids under which the same failure shows: a script's collective in a branch as a log's time-out."""
    raises: str = ""
    """Of a script: the exception in which the run ends by it, such as NameError."""


class Symptom(Struct, frozen=True):
    """A line of a log that shows a failure.

    `pattern` is a regular expression that is searched in single lines; its named groups (port, gpu, key …) fill the
    places ``<port>`` in the check's message and fixes. Where the line alone does not tell, `near` must be found in the
    lines of the same process around it, and `unless` must not; the groups of `near` count too. With `last`, the log
    must end there: no program prints anything below but such lines, and nothing fails. With `asked`, somebody
    wrote it who asks for help: what programs print around it tells nothing of that. With `differ`, it counts only where
    two ranks show it and not all of those groups are the same; a group `of` tells which lines are compared.
    """

    pattern: str
    near: str = ""
    unless: str = ""
    last: bool = False
    asked: bool = False
    differ: tuple[str, ...] = ()


class Sighting(Struct, frozen=True, kw_only=True):
    """A symptom seen in a log."""

    line: str
    """Without colours and without the prefixes of launchers and loggers."""
    around: str = ""
    """The lines of the same process around it, and the line itself."""
    groups: dict[str, str] = {}
    """What the pattern's named groups caught."""
    rank: int | None = None
    where: str | None = None


class CannotTell(Exception):
    """Raised by a check whose facts are there and do not suffice; its text is the reason.

    "Could not look" is a result of its own and never counts as healthy.
    """


class Check:
    """One failure: everything that gpudoctor knows of it.

    A module in a check package holds one, named ``check``. The module's name is the failure's id, its package the
    family, the first line of its docstring the title, and the rest of the docstring the page.
    """

    def __init__(
        self,
        *,
        severity: Severity,
        symptoms: Iterable[str | Symptom] = (),
        message: str = "",
        fixes: Iterable[Fix] = (),
        secondary: bool = False,
        elsewhere: bool = False,
        follows: Iterable[str] = (),
        no_reproduction: str = "",
        otherwise: str = "",
        words_stand: bool = False,
        machine: bool = False,
        background: bool = False,
    ) -> None:
        """Describe a failure.

        `severity` is that of a finding that says no other; `otherwise` says when one does, ``a note on a lone
        machine``. `symptoms` show it in logs; plain text is the pattern of a
        `Symptom`. `message` says what a log with one of them shows; ``<group>`` stands for what the symptom's group
        caught, and a part in brackets, ``[ on port <port>]``, is left out where that is not known. `fixes` come in the
        order in which they should be tried, mitigations last; in a finding, one with a ``<group>`` that is not known is
        left out. A `secondary` failure is mostly the consequence of another one and never wins over a cause; where that
        lies `elsewhere`, in another process, its output is asked for. `follows` names the ids that cause this one where
        both are seen: in one log, on one machine, or this one in a log and the other in a script or facts beside
        it. `no_reproduction` says why it has no ``broken.py`` and ``fixed.py``: ``needs two hosts``. In a ticket
        `words_stand` where the facts do not show the failure: they are of another moment, or too few to deny it.
        With `machine` its words tell of the machine, whatever a program did: a ticket is searched for them.
        A note of it is `background` where it tells how a machine mostly is: other notes stand before it.
        Raises TypeError for a field of another type.
        """
        self.severity = typed("severity", severity, Severity)
        self.symptoms = tuple(
            typed(f"symptoms[{n}]", Symptom(s) if isinstance(s, str) else s, Symptom)
            for n, s in enumerate(typed_all("symptoms", symptoms, object))
        )
        self.message = typed("message", message, str)
        self.fixes = typed_all("fixes", fixes, Fix)
        self.secondary = typed("secondary", secondary, bool)
        self.elsewhere = typed("elsewhere", elsewhere, bool)
        self.follows = frozenset(typed_all("follows", follows, str))
        self.no_reproduction = typed("no_reproduction", no_reproduction, str)
        self.otherwise = typed("otherwise", otherwise, str)
        self.words_stand = typed("words_stand", words_stand, bool)
        self.machine = typed("machine", machine, bool)
        self.background = typed("background", background, bool)
        self.functions: dict[Source, Callable[..., Iterable[Finding]]] = {}
        self.id = self.family = self.title = self.page = ""
        self.site = False
        """Whether it comes from a local folder or another package: what a site knows of its own comes first."""

    def describe(self, *, id: str, family: str, docstring: str, site: bool = False) -> None:
        """Take id, family, title and page from the module that holds this check; called by the registry."""
        title, _, page = docstring.strip().partition("\n")
        self.id, self.family, self.title, self.page = id, family, title.strip().rstrip("."), page.strip()
        self.site = site

    def environment(self, function: Function) -> Function:
        """Register the function that looks for this failure in the facts of a machine.

        Like all functions of a check it names what it needs by type: a parameter ``T`` is required (without it the
        check is *unknown*), ``T | None`` is optional. It yields findings, or raises `CannotTell`.
        """
        return self._register(Source.ENVIRONMENT, function)

    def checkpoint(self, function: Function) -> Function:
        """Register the function that looks for this failure in a checkpoint.

        It may ask for a `CheckpointFile`, and for the `Comparison` and the `CheckpointValues` that belong to it.
        """
        return self._register(Source.CHECKPOINT, function)

    def log(self, function: Function) -> Function:
        """Register the function that makes the finding of a `Sighting`, where message and fixes alone do not do.

        It yields nothing where the line means another failure after all.
        """
        return self._register(Source.LOG, function)

    def code(self, function: Function) -> Function:
        """Register the function that looks for this failure in a training script's source.

        It asks for a `Script`, and gives each finding the `location` at which the script has to be changed.
        """
        return self._register(Source.CODE, function)

    def _register(self, source: Source, function: Function) -> Function:
        self.functions[source] = function
        return function

    @functools.cached_property
    def _caught(self) -> set[str]:
        """The places, in a message or a fix, of what the symptoms catch."""
        groups = (part for each in self.symptoms for part in (each.pattern + each.near).split("(?P<")[1:])
        return {f"<{part.partition('>')[0]}>" for part in groups}

    def found(
        self,
        message: str,
        *,
        severity: Severity | None = None,
        role: Role = Role.CAUSE,
        evidence: Iterable[Evidence | str] = (),
        location: Where | None = None,
        fixes: Iterable[Fix] | None = None,
        raises: str = "",
    ) -> Finding:
        """Make a finding of this failure; the kind of evidence that it rests on is added by whoever runs the check.

        `evidence` may be plain text. `raises` names the exception in which a script ends by it. `fixes` made for this
        machine replace the check's general ones; of those the ones are left out that name what a symptom catches.
        """
        general = (f for f in self.fixes if not any(place in f.summary + f.command for place in self._caught))
        return Finding(
            id=self.id,
            family=self.family,
            title=self.title,
            severity=severity or self.severity,
            role=role,
            message=message,
            evidence=[Evidence(e) if isinstance(e, str) else e for e in evidence],
            location=Location(location.path, location.line, location.column) if location else None,
            fixes=[replace(fix, filled=()) for fix in general] if fixes is None else list(fixes),
            page=f"docs/checks/{self.id}.md",
            raises=raises,
        )

"""The words of gpudoctor: severity, fix, finding, check, result, proof, report."""

import enum
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from msgspec import Struct, field

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

Environment = TypeVar("Environment", bound=Callable[..., Iterable["Finding"]])
Log = TypeVar("Log", bound=Callable[["Sighting"], "Finding | None"])


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


class Fix(Struct, frozen=True):
    """One way to repair a failure: what it does, and the exact command or code."""

    summary: str
    command: str = ""
    kind: Kind = Kind.COMMAND


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

    @property
    def order(self) -> tuple[bool, int, int]:
        """Sort key, most likely cause first: causes, then the more severe, then the lower layer."""
        layer = FAMILIES.index(self.family) if self.family in FAMILIES else len(FAMILIES)
        return (self.role is Role.CONSEQUENCE, self.severity.rank, layer)


class Symptom(Struct, frozen=True):
    """A line of a log that shows a failure.

    `pattern` is a regular expression that is searched in single lines; its named groups (port, gpu, key …) fill the
    places ``<port>`` in the check's message and fixes. Where the line alone does not tell, `near` must be found in the
    lines of the same process around it, and `unless` must not; the groups of `near` count too.
    """

    pattern: str
    near: str = ""
    unless: str = ""


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
    ) -> None:
        """Describe a failure.

        `severity` is that of a finding that says no other. `symptoms` show it in logs; plain text is the pattern of a
        `Symptom`. `message` says what a log with one of them shows; ``<group>`` stands for what the symptom's group
        caught, and a part in brackets, ``[ on port <port>]``, is left out where that is not known. `fixes` come in the
        order in which they should be tried, mitigations last; in a finding, one with a ``<group>`` that is not known is
        left out. A `secondary` failure is mostly the consequence of another one and never wins over a cause; where that
        lies `elsewhere`, in another process, its output is asked for. `follows` names the ids that cause this one where
        both are seen.
        """
        self.severity = severity
        self.symptoms = tuple(Symptom(s) if isinstance(s, str) else s for s in symptoms)
        self.message = message
        self.fixes = tuple(fixes)
        self.secondary = secondary
        self.elsewhere = elsewhere
        self.follows = frozenset(follows)
        self.environment_function: Callable[..., Iterable[Finding]] | None = None
        self.checkpoint_function: Callable[..., Iterable[Finding]] | None = None
        self.log_function: Callable[[Sighting], Finding | None] | None = None
        self.id = self.family = self.title = self.page = ""

    def describe(self, *, id: str, family: str, docstring: str) -> None:
        """Take id, family, title and page from the module that holds this check; called by the registry."""
        title, _, page = docstring.strip().partition("\n")
        self.id, self.family, self.title, self.page = id, family, title.strip().rstrip("."), page.strip()

    def environment(self, function: Environment) -> Environment:
        """Register the function that looks for this failure in facts.

        Its parameters are fact types: ``T`` is required (without it the check is *unknown*), ``T | None`` is
        optional. It yields findings, or raises `CannotTell`.
        """
        self.environment_function = function
        return function

    def checkpoint(self, function: Environment) -> Environment:
        """Register the function that looks for this failure in a checkpoint: it is given a `CheckpointFile`."""
        self.checkpoint_function = function
        return function

    def log(self, function: Log) -> Log:
        """Register the function that makes the finding of a sighting, where the message and fixes alone do not do.

        It returns ``None`` where the line means another failure after all.
        """
        self.log_function = function
        return function

    def found(
        self,
        message: str,
        *,
        severity: Severity | None = None,
        source: Source = Source.ENVIRONMENT,
        role: Role = Role.CAUSE,
        evidence: Iterable[Evidence | str] = (),
        location: Location | None = None,
        fixes: Iterable[Fix] | None = None,
    ) -> Finding:
        """Make a finding of this failure.

        `evidence` may be plain text. `fixes` made for this machine replace the check's general ones.
        """
        return Finding(
            id=self.id,
            family=self.family,
            title=self.title,
            severity=severity or self.severity,
            source=source,
            role=role,
            message=message,
            evidence=[Evidence(e) if isinstance(e, str) else e for e in evidence],
            location=location,
            fixes=list(self.fixes if fixes is None else fixes),
            page=f"docs/checks/{self.id}.md",
        )


class CheckStatus(enum.Enum):
    """How a check ended."""

    FOUND = "found"
    PASSED = "passed"
    UNKNOWN = "unknown"
    CRASHED = "crashed"


class Result(Struct, frozen=True, kw_only=True):
    """What became of one check."""

    id: str
    status: CheckStatus
    reason: str | None = None
    """Why it is unknown or crashed."""
    seconds: float = 0.0


class ProbeStatus(enum.Enum):
    """How a probe ended."""

    OK = "ok"
    FAILED = "failed"
    """It ran and could not learn its facts; the reason says why."""
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    SKIPPED = "skipped"
    """It was not asked, or the text that was read does not hold its facts."""


class ProbeResult(Struct, frozen=True, kw_only=True):
    """What became of one probe."""

    name: str
    status: ProbeStatus
    reason: str | None = None
    seconds: float = 0.0


class ProofStatus(enum.Enum):
    """How one half of a reproduction, or a training mode, ended."""

    FAILED_AS_EXPECTED = "failed-as-expected"
    FAILED_OTHERWISE = "failed-otherwise"
    """It failed, without the check's own symptom."""
    FAILED = "failed"
    PASSED = "passed"
    TIMEOUT = "timeout"
    NOT_RUN = "not-run"


class Proof(Struct, frozen=True, kw_only=True):
    """The record of having run a reproduction (both halves) or a training mode (`fixed` alone)."""

    id: str
    broken: ProofStatus | None = None
    fixed: ProofStatus
    seconds: float = 0.0
    reason: str | None = None
    """Why it was not run, or what went otherwise than expected."""
    error: str | None = None
    """The last lines that ``broken.py``, or a training mode that failed, printed."""
    symptom: str | None = None
    """The line of `broken.py`'s output that the check's own symptom matched."""
    difference: str | None = None
    """The unified diff from ``broken.py`` to ``fixed.py``: the fix."""
    label: str | None = None
    """What a training mode exercised, such as ``nn.DataParallel on cuda:0, cuda:1``."""
    notes: list[str] = []
    metrics: dict[str, float | int | bool | None] = {}
    """Of a training mode: loss, accuracy, seconds, largest relative difference of gradients …"""

    @property
    def held(self) -> bool:
        """Whether everything that ran did what it must."""
        return self.fixed is ProofStatus.PASSED and self.broken in (None, ProofStatus.FAILED_AS_EXPECTED)


class Status(enum.Enum):
    """The verdict in one word."""

    BROKEN = "broken"
    SUSPECT = "suspect"
    HEALTHY = "healthy"
    UNKNOWN = "unknown"


class Verdict(Struct, frozen=True, kw_only=True):
    """What it comes to."""

    status: Status
    primary: str | None = None
    """Id of the most likely cause."""
    sentence: str = ""


SCHEMA = "gpudoctor.report/1"


class Report(Struct, kw_only=True):
    """Facts, findings, what could not be checked, and proofs. Every rendering is made of it."""

    schema: str = SCHEMA
    version: str = ""
    """gpudoctor's own version."""
    command: str = ""
    created: str = ""
    """UTC, ISO 8601."""
    verdict: Verdict = field(default_factory=lambda: Verdict(status=Status.UNKNOWN))
    findings: list[Finding] = []
    checks: list[Result] = []
    probes: list[ProbeResult] = []
    facts: dict[str, Any] = {}
    """By probe topic; the types are those of `gpudoctor.facts`."""
    proofs: list[Proof] = []

    def worst(self) -> Severity | None:
        """Return the worst severity among the findings, or ``None`` without any."""
        return min((f.severity for f in self.findings), key=lambda s: s.rank, default=None)

    def with_status(self, status: CheckStatus) -> Iterator[Result]:
        """Yield the results that ended in `status`."""
        return (r for r in self.checks if r.status is status)

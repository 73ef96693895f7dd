"""What an examination comes to: results of checks and probes, proofs, the verdict, the report."""

import enum
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct, field

from gpudoctor.model import Finding, Severity

Say = Callable[[str], None]
"""Who is told, in a line, what is being done while a report is made, or what goes without saying in it."""


class CheckStatus(enum.Enum):
    """How a check ended."""

    FOUND = "found"
    PASSED = "passed"
    UNKNOWN = "unknown"
    CRASHED = "crashed"


WORST = (CheckStatus.PASSED, CheckStatus.UNKNOWN, CheckStatus.FOUND, CheckStatus.CRASHED)
"""What a check came to, of several subjects the last in this order."""


class Result(Struct, frozen=True, kw_only=True):
    """What became of one check."""

    id: str
    status: CheckStatus
    reason: str | None = None
    """Why it is unknown or crashed."""
    seconds: float = 0.0

    @property
    def what(self) -> str:
        """What it is the result of, for a sentence: a plug-in or a probe that cannot be loaded says so in its id."""
        return self.id if " " in self.id else f"check {self.id}"


class ProbeStatus(enum.Enum):
    """How a probe ended."""

    OK = "ok"
    FAILED = "failed"
    """It ran and could not learn its facts; the reason says why."""
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    SKIPPED = "skipped"
    """It was not asked, or the text that was read does not hold its facts."""


NOT_IN_TEXT = "not in the text"
"""The reason of a probe that was skipped since a pasted text says nothing of its topic."""


class ProbeResult(Struct, frozen=True, kw_only=True):
    """What became of one probe."""

    name: str
    status: ProbeStatus
    reason: str | None = None
    seconds: float = 0.0

    @property
    def blind(self) -> bool:
        """Whether it was asked and could not learn its facts, for another reason than that this user may not see them.

        The kernel log, for one, is closed to most users: what goes by it is listed as not checked, and counted.
        """
        refused = self.status is ProbeStatus.FAILED and (self.reason or "").startswith("PermissionError")
        return self.status not in (ProbeStatus.OK, ProbeStatus.SKIPPED) and not refused


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
    torch: str | None = None
    """The version of torch that a reproduction ran with; ``None`` where its Python has none."""
    device: str | None = None
    """What a reproduction ran on: ``CPU``, or the model of the GPU."""
    date: str | None = None
    """The day on which a reproduction was run, UTC: ``2026-11-22``."""
    shown_on: str | None = None
    """What was there in the place of the real thing: ``a stand-in for the NVIDIA driver``; ``None``: nothing was."""
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

"""What programs in a pasted text complained of the machine: words of a failure, where no block shows its state."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from msgspec.structs import replace

from gpudoctor.diagnose import related
from gpudoctor.facts import Host, Infiniband, Storage, Torch
from gpudoctor.guard import parameters
from gpudoctor.logs.explain import explain
from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Check, Finding, Severity, Source, layer
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Report, Result
from gpudoctor.verdict import conclude

LAYERS = ("hardware", "driver", "build")
"""What is broken there is so for every training on the machine; the other layers' words are of one training."""
CHARACTERS_MOST = 4_000_000
# "* No `GPU has fallen off the bus`" in a list of what was looked for
_DENIED = re.compile(
    r"[\s>*\u2022-]{0,12}(?:there (?:is|are|was|were) )?(?:no|not a|never an?|without) "
    r"(?!MIG devices found|GPU instances found)",  # what a tool says itself
    re.IGNORECASE,
)
# until 2.2 without its name: "[0] include/socket.h:360 WARN Call to connect failed"
_WARNS = re.compile(r"NCCL WARN |(?:^|\s)[\w/]{1,60}\.(?:h|cu|cc):\d{1,5} WARN ")
# what torch passes on of NCCL's last words, and NCCL's own lines of its networks
_PASSED_ON = re.compile(
    r"\bnccl(?:Internal|System|Remote|UnhandledCuda)Error: |\bNCCL error in: |\bNET/(?:IB|Socket) ?: "
    r"|\bNET/Plugin ?: libnccl\S{1,60}: ",
    re.IGNORECASE,
)
# What the kernel says that it killed, or Slurm counted for a job's control group; a node of Kubernetes without memory
_OF_NODE = re.compile(
    r"[\w.:/-]{1,64} invoked oom-killer|[Mm]emory cgroup out of memory"
    r"|\bslurmstepd: error: Detected \d+ oom[-_]kill event|[Tt]he node was low on resource: memory"
    r"|\bJobState=(?:OUT_OF_MEMORY|NODE_FAIL|BOOT_FAIL)\b"
)


@dataclass(frozen=True)
class Complaints:
    """What the words of a text show, and the checks that crashed over them."""

    findings: list[Finding]
    crashed: list[Result]
    of_one_program: tuple[str, ...] = ()
    """Ids of failures in the text that no machine shows."""


def read(text: str, name: str, registry: Registry) -> Complaints:
    """Look for the symptoms of a machine's own failures in a text, called `name` where it is quoted.

    ``RuntimeError: CUDA error: no kernel image is available for execution on the device``
    """
    explained = explain(text[:CHARACTERS_MOST], name=name, checks=registry, source=False)
    checks = {f.id: registry.get(f.id) for f in explained.findings}
    passed_on = _PASSED_ON.search(text[:CHARACTERS_MOST]) is not None
    of_node = _of_node(text[:CHARACTERS_MOST], checks.values())
    findings = [
        replace(f, severity=max(f.severity, check.severity, key=lambda s: s.rank))
        for f in explained.findings
        if (check := checks[f.id]) is not None
        and (of_machine(check) or _by_nccl(check, f, registry, passed_on=passed_on) or f.id in of_node)
        and not _is_denied(f)
    ]
    shown = {f.id for f in findings}
    others = [
        f.id
        for f in explained.findings
        if f.severity is Severity.ERROR and f.id not in {*shown, "unrecognised-error"}
    ]
    return Complaints(findings, list(explained.with_status(CheckStatus.CRASHED)), tuple(others))


def _is_denied(finding: Finding) -> bool:
    """Return whether somebody writes that the words are *not* there."""
    return bool(finding.evidence) and all(_DENIED.match(shown.text) for shown in finding.evidence)


def _by_nccl(check: Check, finding: Finding, registry: Registry, *, passed_on: bool) -> bool:
    """Return whether NCCL itself warns of what the check sees on machines too: an interface, a plug-in, a version.

    Or of what can only follow from a fault of hardware or driver, such as the switches' multicast. `passed_on`:
    somewhere in the text torch quotes it, one line or more away from the exception's name.
    """
    warned = any(_WARNS.search(shown.text) for shown in finding.evidence)
    if Source.ENVIRONMENT in check.functions:
        return (check.family == "nccl" and (warned or passed_on)) or (check.family == "network" and warned)
    if check.family != "nccl" or not warned:
        return False
    causes = [cause.family for id in check.follows if (cause := registry.get(id)) is not None]
    return bool(causes) and set(causes) <= set(LAYERS)


def _of_node(text: str, checks: Iterable[Check | None]) -> set[str]:
    """Return the ids of failures of which Slurm or Kubernetes tells that they were its node's."""
    shown = "\n".join(
        text[match.start() : match.end() + 100] for match in islice(_OF_NODE.finditer(text), 100)
    )
    return {seen.check.id for seen in matches(shown, [check for check in checks if check is not None])}


def of_machine(check: Check) -> bool:
    """Return whether what the check knows is a state of the machine or of what is installed on it.

    In the layers above, that is what no fact of a launch or a script decides: it is asked of the host's facts, of those
    of its adapters or disks, or of what the installed torch has; or what the check itself says is one.
    """
    function = check.functions.get(Source.ENVIRONMENT)
    if check.machine:
        return True
    if check.family not in LAYERS:
        needed = {p.kind for p in parameters(function) if not p.optional} if function is not None else set()
        return layer(check.family) > layer("build") and needed in ({Host}, {Infiniband}, {Storage}, {Torch})
    return function is not None or check.family == "driver"


def add(complaints: Complaints, report: Report, registry: Registry, ids: Iterable[str]) -> Report:
    """Add to a report on a text's facts what its words show, of the checks of `ids`, and conclude it anew.

    What the facts found is said already, and what they deny was said of another moment or machine, but for a failure
    whose `Check.words_stand`.
    """
    asked, found = set(ids), {finding.id for finding in report.findings}
    passed = {result.id for result in report.checks if result.status is CheckStatus.PASSED}
    passed -= {
        check.id
        for check in registry.checks(sorted(passed & {f.id for f in complaints.findings}))
        if check.words_stand
    }
    new = [f for f in complaints.findings if f.id in asked - found - passed]
    known = {result.id for result in report.checks if result.status is CheckStatus.CRASHED}
    report.checks += [r for r in complaints.crashed if r.id not in known]
    if new:
        shown = {finding.id for finding in new}
        report.checks = [r for r in report.checks if r.id not in shown]
        report.checks += [Result(id=id, status=CheckStatus.FOUND) for id in sorted(shown)]
        both = [*report.findings, *new]
        report.findings = related(both, registry.checks(sorted({finding.id for finding in both})))
    return conclude(report, registry)

"""A report without what is private: what its own facts and this process tell of that, and the aliases in its place."""

import getpass
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from gpudoctor.facts import (
    Distributions,
    Format,
    KernelLog,
    Launch,
    Names,
    Outcome,
    Proxies,
    Python,
    Sockets,
    Torch,
)
from gpudoctor.model import Fix, How, Kind, Role, Severity, Source
from gpudoctor.redact.leftovers import leftovers
from gpudoctor.redact.names import Private
from gpudoctor.redact.redactor import Redactor
from gpudoctor.redact.word_lists import HIDDEN, generic
from gpudoctor.report import CheckStatus, ProbeStatus, ProofStatus, Report, Status
from gpudoctor.snapshot import Snapshot, rewritten, without_keys

__all__ = ["own_words", "private", "redacted", "redacted_tree", "sealed"]

T = TypeVar("T")

ENUMS = (CheckStatus, Format, How, Kind, Outcome, ProbeStatus, ProofStatus, Role, Severity, Source, Status)
RESERVED = frozenset(member.value for kind in ENUMS for member in kind)
"""Words of the report itself: a user of that name would make it unreadable."""
HOST_VARIABLES = (
    "MASTER_ADDR",
    "PET_MASTER_ADDR",
    "PET_RDZV_ENDPOINT",
    "SLURMD_NODENAME",
    "SLURM_JOB_NODELIST",
    "SLURM_LAUNCH_NODE_IPADDR",
    "SLURM_NODELIST",
    "SLURM_SRUN_COMM_HOST",
    "SLURM_STEP_NODELIST",
    "SLURM_SUBMIT_HOST",
    "SLURM_TOPOLOGY_ADDR",
)
USER_VARIABLES = ("SLURM_JOB_USER", "SLURM_JOB_ACCOUNT", "SLURM_JOB_GROUP")


def redacted(report: Report, known: Private) -> Report:
    """Return a copy of a report in which aliases stand for what is private; the same alias for the same thing.

    What the project itself says is not private, and no evidence of what is: the titles, and of fixes all but what was
    filled in.
    """
    findings = [replace(f, title="", page="", fixes=[_bare(fix) for fix in f.fixes]) for f in report.findings]
    copy = rewritten(replace(report, findings=findings), Redactor(known).tree)
    copy.findings = [
        replace(made, title=own.title, page=own.page, fixes=list(map(_refilled, made.fixes, own.fixes)))
        for made, own in zip(copy.findings, report.findings, strict=True)
    ]
    return copy


def own_words(report: Report) -> Iterator[str]:
    """Yield what the project itself says in a report: nothing of that is private."""
    for finding in report.findings:
        yield finding.title
        yield from (text for f in finding.fixes if f.filled is not None for text in (f.summary, f.command))


def _bare(fix: Fix) -> Fix:
    """Return a fix without the words that are the project's own."""
    bare = replace(fix, proof="", source="", known=None)
    return bare if fix.filled is None else replace(bare, summary="", command="")


def _refilled(made: Fix, own: Fix) -> Fix:
    """Put the project's own words back, with what was made of the values in them."""
    if own.filled is None or made.filled is None:
        return replace(made, proof=own.proof, source=own.source, known=own.known)
    aliases = dict(zip(own.filled, made.filled, strict=True))
    values = sorted(filter(None, aliases), key=len, reverse=True)
    if not values:
        return own
    # In one pass: an alias may hold what is another value.
    anyone = re.compile("|".join(map(re.escape, values)))
    summary, command = (anyone.sub(lambda v: aliases[v[0]], text) for text in (own.summary, own.command))
    return replace(own, summary=summary, command=command, filled=made.filled)


def redacted_tree(value: T, known: Private) -> T:
    """Return plain data in which aliases stand for what is private."""
    return Redactor(known).tree(value)


def sealed(text: str, known: Private, spared: Iterable[str] = ()) -> tuple[str, int]:
    """Look through a finished rendering once more; return it with what was left hidden, and how much that was.

    What stands in one of the names that were `spared` is a word of a model, and stays.
    """
    left = leftovers(text, known)
    if left:
        words = set(left)
        for name in spared:
            words = {word for word in words if word not in name}
        left = [word for word in left if word in words]
    for word in left:
        text = text.replace(word, HIDDEN)
    return text, len(left)


def private(report: Report) -> Private:
    """Gather what is known to be private: from the report's own facts, and from this process."""
    facts = Snapshot(report.facts)
    names, launch, python = facts.get(Names), facts.get(Launch), facts.get(Python)
    variables = launch.variables if launch else {}
    asked = [names.own, names.master, names.endpoint] if names else []
    own = [resolution.name for resolution in asked if resolution]
    proxies = facts.get(Proxies)
    own += [proxy.host for proxy in proxies.all] if proxies else []
    kernel = facts.get(KernelLog)
    own += [event.process for event in kernel.of("nfs")] if kernel else []  # the server that does not answer
    return Private(
        # A name such as "vm" or "node" tells nothing, and stands in sentences that are not about it.
        hosts=_known(
            [*own, os.uname().nodename, *(variables.get(name, "") for name in HOST_VARIABLES)], generic
        ),
        users=_known([_user(), *(variables.get(name, "") for name in USER_VARIABLES)]),
        homes=_known([os.path.expanduser("~")]),
        folders=_known([python.prefix if python else "", _working_folder()]),
        public=_public(facts, report),
    )


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return ""


def _known(values: list[str], harmless: Callable[[str], bool] = lambda value: False) -> tuple[str, ...]:
    kept = (value for value in values if value and value.lower() not in RESERVED and not harmless(value))
    return tuple(dict.fromkeys(kept))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without an entry in /etc/passwd
        return ""


def _public(facts: Snapshot, report: Report) -> tuple[str, ...]:
    """Name what looks private and is not: versions of four parts, commands that hold ports, fields and variables."""
    distributions, torch, sockets = facts.get(Distributions), facts.get(Torch), facts.get(Sockets)
    versions = [d.version for d in distributions.installed] if distributions else []
    versions += [text for text in (torch.cudnn, torch.nccl, torch.cuda) if text] if torch else []
    commands = [s.command for s in (*sockets.listeners, *sockets.held) if s.command] if sockets else []
    return tuple(dict.fromkeys([*versions, *commands, *_keys(msgspec.to_builtins(without_keys(report)))]))


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for entry in value.values():
            yield from _keys(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _keys(entry)

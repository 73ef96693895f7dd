"""What is known of a fix: that it was seen to work, who documents or reports it, or that it needs neither.

The knowledge lies beside the checks: ``proofs/ID.json`` is the record of having run a reproduction,
``proofs/versions.json`` what other versions of torch showed, and ``grounds.json`` says which documentation shows which
commands.
"""

import functools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.model import Finding, Fix, How, Known
from gpudoctor.pattern_cache import compiled
from gpudoctor.patterns import late_pattern
from gpudoctor.registry import Registry
from gpudoctor.report import Proof, ProofStatus
from gpudoctor.text import listed

T = TypeVar("T")

REPORT = late_pattern(r"/(?:issues|pull|discussions)/\d|^https://(?:discuss|forums)\.|stackoverflow\.com")
"""A link to what somebody reports; any other is documentation."""

ESCAPED, BRANCHING = late_pattern(r"\\(?:[xuU\d][0-9A-Fa-f]*|.)"), late_pattern(r"[|(\[{]")
PLAIN = late_pattern(r"[\w =/:,-]+(?![?*])")
"""Characters of a pattern that stand for themselves; of ``colou?r`` those are ``colo``."""

PART = late_pattern(r"""(?:'[^']*'|"[^"]*"|(?<!&)&(?!&)|[^;|&\n'"])+""")
"""A command between the shell's separators; what stands in quotes separates nothing."""


class Source(Struct, frozen=True):
    """Which commands a page shows; without a link, what is to be said of them."""

    title: str
    commands: list[str]
    link: str = ""


class Grounds(Struct, frozen=True):
    """The file ``grounds.json``: regular expressions; of those of documentation the first that is found holds."""

    looks: list[str]
    """What a command, between pipes and semicolons, is as a whole where it changes nothing."""
    documented: list[Source]
    follows: list[Source]


class Halves(Struct, frozen=True):
    """How the halves of a reproduction ended under one version of torch."""

    broken: ProofStatus
    fixed: ProofStatus
    why: str = ""
    """What went otherwise, with the last line that was said."""

    @property
    def held(self) -> bool:
        """Whether the symptom matched, and the fix passed."""
        return self.broken is ProofStatus.FAILED_AS_EXPECTED and self.fixed is ProofStatus.PASSED


def told(findings: Iterable[Finding], registry: Registry | None = None) -> list[Finding]:
    """Return findings whose fixes say what is known of them."""
    return [
        replace(
            finding, fixes=[replace(fix, known=known(fix, finding.id, registry)) for fix in finding.fixes]
        )
        for finding in findings
    ]


def known(fix: Fix, id: str, registry: Registry | None = None) -> Known | None:
    """Return what is known of a fix of a check; ``None`` of one that a site gives, where nobody else knows it."""
    registry = registry or Registry.of(())
    if fix.proof and (seen := seen_on(id, registry)):
        return Known(How.SEEN, seen)
    if fix.source:
        return Known(How.REPORTED if REPORT.search(fix.source) else How.DOCUMENTED, link=fix.source)
    if not fix.command:
        return Known(How.FOLLOWS)
    grounds = _grounds(registry)
    if grounds is None:
        return None
    if _looks(grounds.looks, fix.command):
        return Known(How.LOOKS)
    for source in grounds.documented:
        if _any(source.commands, fix.command):
            how = How.REPORTED if REPORT.search(source.link) else How.DOCUMENTED
            return Known(how, source.title, source.link)
    follows = next((source for source in grounds.follows if _any(source.commands, fix.command)), None)
    return Known(How.FOLLOWS, follows.title) if follows else None


def seen_on(id: str, registry: Registry) -> str:
    """Return where the fix of a check's reproduction was seen to work: ``torch 2.15.0 on the CPU``; empty: nowhere."""
    record, others = proof_of(id, registry), versions_of(id, registry)
    held = [version for version, halves in others.items() if halves.held]
    if record is None or not record.held:
        return f"torch {listed(held, len(held))}, on the CPU" if held else ""
    first = f"torch {record.torch}" if record.torch else "a Python without torch"
    more = [version for version in held if version != record.torch]
    return f"{first} on {device(record)}" + (f", and torch {listed(more, len(more))}" if more else "")


def device(record: Proof) -> str:
    """Return what a reproduction ran on, for a sentence; what stood in the place of the real thing is said too."""
    place = "the CPU" if record.device in (None, "CPU") else str(record.device)
    return f"{place} and {record.shown_on}" if record.shown_on not in (None, place) else place


def proof_of(id: str, registry: Registry) -> Proof | None:
    """Return the record that ships of a check's reproduction."""
    return _read(registry.beside(id, f"proofs/{id}.json"), Proof)


def versions_of(id: str, registry: Registry) -> dict[str, Halves]:
    """Return what other versions of torch showed, by version."""
    path = registry.beside(id, "proofs/versions.json")
    found: dict[str, dict[str, Halves]] | None = _read(path, dict[str, dict[str, Halves]])
    return (found or {}).get(id, {})


def _grounds(registry: Registry) -> Grounds | None:
    id = next(iter(registry.modules), None)
    return _read(registry.beside(id, "grounds.json"), Grounds) if id else None


def _looks(patterns: list[str], command: str) -> bool:
    """Return whether every part of a command only looks."""
    parts = [part.strip() for part in PART.findall(command) if part.strip()]
    return all(
        any(held(pattern) in part and compiled(pattern).fullmatch(part) for pattern in patterns)
        for part in parts
    )


def _any(patterns: Iterable[str], text: str) -> bool:
    return any(held(pattern) in text and compiled(pattern, re.MULTILINE).search(text) for pattern in patterns)


@functools.cache
def held(pattern: str) -> str:
    """Return the longest plain text that every match of a pattern holds; empty where alternatives leave none.

    Few patterns are compiled then: all of them take longer than a short log.
    """
    plain = ESCAPED.sub("\0", pattern)
    return "" if BRANCHING.search(plain) else max(PLAIN.findall(plain), key=len, default="")


@functools.cache
def _read(path: Path | None, kind: type[T]) -> T | None:
    """Return what a file holds; ``None`` without one. A broken file of the package's own is an error."""
    return msgspec.json.decode(path.read_bytes(), type=kind) if path is not None else None

"""Look for failures in the source of training scripts; nothing of it is run."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from gpudoctor.code.definitions import Files
from gpudoctor.code.source import Source, Unreadable
from gpudoctor.code.tracing import trace
from gpudoctor.facts import Script
from gpudoctor.guard import examine
from gpudoctor.model import Check, Evidence, Finding
from gpudoctor.model import Source as Kind
from gpudoctor.report import CheckStatus, Result

T = TypeVar("T")
RELEVANT = ("torch", "lightning", "accelerate", "deepspeed", "DataParallel", "MASTER_", "LOCAL_RANK")
"""A file without any of these words trains nothing on several GPUs."""
WORST = (CheckStatus.PASSED, CheckStatus.UNKNOWN, CheckStatus.FOUND, CheckStatus.CRASHED)


class Examined(NamedTuple):
    """What was found in some files."""

    findings: list[Finding]
    results: dict[str, Result]
    """By id, of several scripts the worst."""
    lines: int
    unread: list[str]
    """Why a file could not be read, a sentence for each."""


class Facts:
    """What checks may ask for about one script."""

    def __init__(self, script: Script) -> None:
        self.script = script

    def get(self, kind: type[T], /) -> T | None:
        """Return what is known of one type, or ``None``."""
        return self.script if isinstance(self.script, kind) else None

    def reason(self, kind: type, /) -> str:
        """Return why nothing is known of one type."""
        return f"a script's source does not tell {kind.__name__}"


def scripts(sources: Iterable[Source], roots: Sequence[Path] = ()) -> Iterator[tuple[Source, Script]]:
    """Yield each file with what the program that it starts does."""
    read = list(sources)
    files = Files(roots)
    known = [files.add(source) for source in read]
    for source, file in zip(read, known, strict=True):
        if any(word in source.text for word in RELEVANT):
            yield source, trace(file)


def look(paths: Sequence[tuple[Path, str]], checks: Sequence[Check], roots: Sequence[Path] = ()) -> Examined:
    """Examine files, each given by its path and the name that findings call it by."""
    sources: list[Source] = []
    unread: list[str] = []
    for path, name in paths:
        try:
            sources.append(Source(path, name, path.read_bytes()))
        except Unreadable as error:
            unread.append(str(error))
        except OSError as error:
            unread.append(f"{name}: {os.strerror(error.errno) if error.errno else error}")
    examined = Examined([], {}, sum(source.text.count("\n") for source in sources), unread)
    by_name = {source.name: source for source in sources}
    for _, script in scripts(sources, roots):
        judge(script, checks, examined)
    examined.findings[:] = [
        _quoted(finding, by_name)
        for finding in _distinct(examined.findings)
        if not _ignored(finding, by_name)
    ]
    return examined


def judge(script: Script, checks: Sequence[Check], examined: Examined) -> None:
    """Add what checks find in a script, and what became of them."""
    facts = Facts(script)
    for check in checks:
        if Kind.CODE in check.functions:
            result, findings = examine(check, Kind.CODE, facts)
            examined.findings.extend(findings)
            before = examined.results.get(check.id, result)
            examined.results[check.id] = max(before, result, key=lambda r: WORST.index(r.status))


def _distinct(findings: list[Finding]) -> list[Finding]:
    """Return findings without those that are said twice: two programs may share a file."""
    seen = set()
    found = []
    for finding in findings:
        key = finding.id, finding.location
        if key not in seen:
            seen.add(key)
            found.append(finding)
    return found


def _file(finding: Finding, by_name: dict[str, Source]) -> tuple[Source, int] | None:
    """Return the file of a finding, and the line in its text."""
    if finding.location is None:
        return None
    name, _, cell = finding.location.path.partition(":cell ")
    source = by_name.get(name)
    if source is None:
        return None
    first = next((line for line, number in source.cells if cell == str(number)), 1)
    return source, finding.location.line + first - 1


def _ignored(finding: Finding, by_name: dict[str, Source]) -> bool:
    """Return whether a comment on the finding's line, or alone on the line above, wants to hear nothing of it."""
    at = _file(finding, by_name)
    if at is None:
        return finding.location is not None and finding.location.path not in by_name
    source, line = at
    for number in (line, line - 1):
        ids = source.ignored.get(number)
        if ids is not None and (not ids or finding.id in ids):
            if number == line or source.line(number).lstrip().startswith("#"):
                return True
    return False


def _quoted(finding: Finding, by_name: dict[str, Source]) -> Finding:
    """Return a finding with its line of source as the first evidence."""
    at = _file(finding, by_name)
    if at is None or finding.location is None:
        return finding
    text = at[0].line(at[1]).strip()
    where = f"{finding.location.path}:{finding.location.line}"
    return replace(finding, evidence=[Evidence(text, where=where), *finding.evidence]) if text else finding

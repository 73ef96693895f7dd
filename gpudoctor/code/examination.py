"""Look for failures in the source of training scripts; nothing of it is run."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.code.definitions import Files
from gpudoctor.code.relevance import relevant
from gpudoctor.code.source import MOST_NOTEBOOK, Source, Unreadable
from gpudoctor.code.suppression import suppressed, unknown
from gpudoctor.code.tracing import trace
from gpudoctor.facts import Script
from gpudoctor.guard import examine, told
from gpudoctor.model import Check, Evidence, Finding
from gpudoctor.model import Source as Kind
from gpudoctor.report import WORST, CheckStatus, Result

T = TypeVar("T")
MAIN = re.compile(r"^if __name__ ?== ?['\"]__main__['\"]", re.M)
MOST_CHARACTERS = 6 * 2**20
"""How much text is held at once of files that import each other: a reader of a million lines of torch took 400 MB."""


class Examined(Struct):
    """What was found in some files."""

    findings: list[Finding] = []
    results: dict[str, Result] = {}
    """By id, of several scripts the worst."""
    lines: int = 0
    unread: list[str] = []
    """Why a file could not be read, a sentence for each."""
    partly: list[str] = []
    """Files whose program is too long to be followed to its end."""
    suppressed: int = 0
    """Findings that a comment hides."""
    remarks: list[str] = []
    """What is wrong in comments for gpudoctor, a sentence each."""

    def add(self, other: "Examined") -> None:
        """Take in what was found in other files."""
        self.findings += other.findings
        for id, result in other.results.items():
            self._result(id, result)
        self.lines += other.lines
        self.unread += other.unread
        self.partly += other.partly
        self.suppressed += other.suppressed
        self.remarks += other.remarks

    def _result(self, id: str, result: Result) -> None:
        before = self.results.get(id, result)
        worse = max(before, result, key=lambda r: WORST.index(r.status))
        self.results[id] = (
            replace(worse, seconds=before.seconds + result.seconds) if id in self.results else result
        )

    def judge(self, script: Script, checks: Sequence[Check]) -> None:
        """Add what checks find in a script, and what became of them."""
        facts = Facts(script)
        for check in checks:
            if Kind.CODE in check.functions:
                result, findings = examine(check, Kind.CODE, facts)
                self.findings.extend(findings)
                self._result(check.id, result)


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


class Examiner:
    """Examines files one after the other, and holds for a while what several of them import."""

    def __init__(
        self,
        names: Mapping[Path, str],
        checks: Sequence[Check],
        roots: Iterable[Path] = (),
        ids: Iterable[str] = (),
    ) -> None:
        """Take what findings call each file that is asked for, and the folders in which imports are looked for last.

        `ids` are those of all checks, also of such as are not asked for: a comment may name them.
        """
        self.names, self.checks = names, checks
        self.roots = tuple(Path(os.path.abspath(root)) for root in roots)
        self.ids = frozenset(ids) or frozenset(check.id for check in checks)
        self._asked = frozenset(names.values())
        self._files = Files(self.roots, names)

    def file(self, path: Path, data: bytes | None = None) -> Examined:
        """Examine the program that one file is; `data` is what stands in it, where that is known."""
        examined = Examined()
        name = self.names[path]
        try:
            source = self._read(path, name, data)
        except Unreadable as error:
            examined.unread.append(str(error))
            return examined
        except OSError as error:
            examined.unread.append(f"{name}: {os.strerror(error.errno) if error.errno else error}")
            return examined
        examined.lines = source.text.count("\n") + (not source.text.endswith("\n") and bool(source.text))
        examined.remarks += unknown(source, self.ids)
        if relevant(source.text) or self._starts(source):
            self._follow(source, examined)
        return examined

    def _starts(self, source: Source) -> bool:
        """Return whether a file without a word of ours starts a program whose parts lie in files that have some."""
        if "__main__" not in source.text or not MAIN.search(source.text):
            return False
        file = self._files.known(source.path) or self._files.add(source)
        return any(relevant(other.source.text) for other in file.neighbours)

    def _read(self, path: Path, name: str, data: bytes | None) -> Source:
        known = self._files.known(path)
        if known is not None:
            return known.source
        if data is None:
            if os.path.isdir(path):
                raise Unreadable(f"{name}: this user may not look into the folder")
            if not os.path.isfile(path) and os.path.exists(path):
                raise Unreadable(f"{name}: it is no file")  # to open a pipe would wait for who writes into it
            with path.open("rb") as file:
                data = file.read(MOST_NOTEBOOK + 1)  # of an endless file no more than tells that it is one
        return Source(path, name, data)

    def _follow(self, source: Source, examined: Examined) -> None:
        """Add what the program does wrong; what keeps it from being followed is a result too."""
        if self._files.characters > MOST_CHARACTERS:
            self._files.clear()
        known = self._files.known(source.path) or self._files.add(source)
        try:
            script = trace(known)
        except (RecursionError, MemoryError):
            examined.unread.append(f"{source.name}: nested too deeply")
            return
        except Exception as error:  # a fault of ours in one file must not end the others
            id = f"reading {source.name}"
            examined.results[id] = Result(id=id, status=CheckStatus.CRASHED, reason=told(error))
            return
        if not script.complete:
            examined.partly.append(source.name)
        examined.judge(script, self.checks)
        self._place(examined)

    def _place(self, examined: Examined) -> None:
        """Give each finding its line of source; leave out those that a comment hides, or in files not asked for."""
        by_name = {source.name: source for source in self._files.sources()}
        kept = []
        for finding in (_seen_from_its_place(found, by_name) for found in examined.findings):
            at = _line(finding, by_name)
            if at is None:
                if finding.location is None or finding.location.path in self._asked:
                    kept.append(finding)
            elif at[0].name in self._asked:
                if suppressed(finding, *at):
                    examined.suppressed += 1
                else:
                    kept.append(_quoted(finding, *at))
        examined.findings = kept


def distinct(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings without those that are said twice: two programs may share a file."""
    seen = set()
    found = []
    for finding in findings:
        key = finding.id, finding.location
        if finding.location is None or key not in seen:
            seen.add(key)
            found.append(finding)
    return found


def _line(finding: Finding, by_name: Mapping[str, Source]) -> tuple[Source, int] | None:
    """Return the file of a finding, and the line in its text."""
    if finding.location is None:
        return None
    name, _, cell = finding.location.path.partition(":cell ")
    source = by_name.get(name)
    if source is None:
        return None
    first = next((line for line, number in source.cells if cell == str(number)), 1)
    return source, finding.location.line + first - 1


def _seen_from_its_place(finding: Finding, names: Iterable[str]) -> Finding:
    """Return a finding whose message names the file of a line only where that is another than its own.

    A check writes ``line {call.place}``, which is ``line train.py:12``: it need not know which file is looked at.
    """

    def told(match: re.Match[str]) -> str:
        path, cell, line = match.group(1, 2, 3)
        if finding.location is not None and f"{path}{cell or ''}" == finding.location.path:
            return f"line {line}"
        return f"line {line} of {path}{cell or ''}"

    message = finding.message
    for name in names:
        if f"line {name}:" in message:
            message = re.sub(rf"\bline ({re.escape(name)})(:cell \d+)?:(\d+)", told, message)
    return finding if message == finding.message else replace(finding, message=message)


def _quoted(finding: Finding, source: Source, line: int) -> Finding:
    """Return a finding with its line of source, as it is indented, as the first evidence."""
    text = source.line(line).rstrip()
    if not text.strip() or finding.location is None:
        return finding
    where = f"{finding.location.path}:{finding.location.line}"
    return replace(finding, evidence=[Evidence(text, where=where), *finding.evidence])

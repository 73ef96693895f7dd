"""lint(): what is wrong in the source of training scripts."""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gpudoctor.bad_input import BadInput
from gpudoctor.code.examination import Examined, Examiner, distinct
from gpudoctor.code.files import STANDARD_INPUT, Chosen, chosen
from gpudoctor.code.fixing import Fixed, fixed, refuse_without_libcst
from gpudoctor.code.fixing import write as replace_file
from gpudoctor.code.settings import Settings, settings
from gpudoctor.code.source import MOST_NOTEBOOK
from gpudoctor.code.workers import examined
from gpudoctor.facts import Code
from gpudoctor.model import Check, Finding, Source
from gpudoctor.registry import Registry, Unknown
from gpudoctor.report import CheckStatus, Report, Result, Say
from gpudoctor.verdict import conclude


def lint(
    paths: Iterable[str | Path],
    *,
    only: Iterable[str] = (),
    skip: Iterable[str] = (),
    checks: Registry | Iterable[Path] = (),
    say: Say = lambda doing: None,
    warn: Say = lambda skipped: None,
) -> Report:
    """Examine the source of training scripts: files, folders, notebooks, ``-``; nothing of them is run.

    `only` and `skip` name checks by id or family; the table ``[tool.gpudoctor]`` of the nearest pyproject.toml does
    too, and says which files of a folder are left out. `say` is told what is being done, `warn` which files cannot be
    read. Raises `BadInput` where nothing can be read at all.

        >>> report = gpudoctor.lint(["train.py"])
        >>> [(finding.id, finding.location.line) for finding in report.findings]
    """
    return Linting(paths, only=only, skip=skip, checks=checks, say=say, warn=warn).report


class Mended(NamedTuple):
    """What is left in scripts, and the files in which something is gone."""

    report: Report
    """Of the scripts as they are now."""
    files: list[Fixed]
    """Each with its name, its `diff`, and how many findings are `mended`."""


def mend(
    paths: Iterable[str | Path],
    *,
    write: bool = True,
    unsafe: bool = False,
    only: Iterable[str] = (),
    skip: Iterable[str] = (),
    checks: Registry | Iterable[Path] = (),
    say: Say = lambda doing: None,
    warn: Say = lambda skipped: None,
) -> Mended:
    """Mend in training scripts what can be mended safely; with `unsafe` what may change what a script does, too.

    Without `write` nothing is changed, and the files say what would be. `warn` is told which files cannot be read or
    written; the rest is as for `lint`. Needs libcst. Raises `BadInput`.

        >>> [file.diff for file in gpudoctor.mend(["train.py"], write=False).files]
    """
    paths, only, skip = list(paths), tuple(only), tuple(skip)
    if write and STANDARD_INPUT in map(str, paths):
        raise BadInput("standard input cannot be mended; --diff shows what would change")
    refuse_without_libcst()
    registry = Registry.of(checks)
    linting = Linting(paths, only=only, skip=skip, checks=registry, say=say, warn=warn, keep=True)
    made = linting.mended(unsafe=unsafe)
    if not write:
        return Mended(linting.report, list(made))
    files = [file for file in made if _written(file, warn)]
    report = Linting(paths, only=only, skip=skip, checks=registry).report if files else linting.report
    return Mended(report, files)


def _written(file: Fixed, warn: Say) -> bool:
    try:
        replace_file(file)
    except BadInput as error:
        warn(str(error))
        return False
    return True


class Linting:
    """One run over some files: its report, and what it read.

    With `keep`, what was read stays, so that it can be mended.
    """

    def __init__(
        self,
        paths: Iterable[str | Path],
        *,
        only: Iterable[str] = (),
        skip: Iterable[str] = (),
        checks: Registry | Iterable[Path] = (),
        say: Say = lambda doing: None,
        warn: Say = lambda skipped: None,
        keep: bool = False,
    ) -> None:
        registry = Registry.of(checks)
        if isinstance(paths, (str, Path)):
            raise BadInput(f"paths is a list of files and folders, and not {str(paths)!r}")
        given = list(paths)
        try:
            os.getcwd()
        except FileNotFoundError:
            raise BadInput("the working folder does not exist any more: go into one that is there") from None
        wanted = settings(given)
        self.files = chosen(given, wanted.exclude, wanted.path.parent if wanted.path else None)
        if not self.files:
            raise BadInput(f"{', '.join(map(str, given))}: no Python file there")
        say(f"reading {len(self.files)} files")
        self.registry, self.checks = registry, _checks(registry, tuple(only), tuple(skip), wanted)
        self.roots = [Path(path) for path in given if os.path.isdir(path)]
        self.names = {file.path: file.name for file in self.files}
        self.contents = _contents(self.files, keep=keep)
        total = Examined()
        for one in examined(self.files, self._examiner(), self.contents, say):
            total.add(one)
        if len(total.unread) == len(self.files) == 1:
            raise BadInput(total.unread[0])
        partly = [
            f"{name}: too long to be followed to its end, and examined in part" for name in total.partly
        ]
        for reason in [*total.unread, *partly, *total.remarks]:
            warn(reason)
        if len(total.unread) == len(self.files):
            raise BadInput(f"none of these {len(self.files)} files can be read as Python")
        self.report = _report(total, self.checks, registry, len(self.files))

    def _examiner(self) -> Examiner:
        return Examiner(self.names, self.checks, self.roots, self.registry.modules)

    def examine(self, path: Path, data: bytes) -> list[Finding]:
        """Return what would be found in a file that holds `data`."""
        return distinct(self._examiner().file(path, data).findings)

    def mended(self, *, unsafe: bool = False) -> Iterator[Fixed]:
        """Yield the files in which something can be mended, without writing them."""
        by_name: dict[str, list[Finding]] = {}
        for finding in self.report.findings:
            if finding.location is not None:
                by_name.setdefault(finding.location.path, []).append(finding)
        for number, (path, name) in enumerate(self.files):
            if name in by_name and number in self.contents and not name.endswith(".ipynb"):
                made = fixed(path, name, self.contents[number], by_name[name], self.examine, unsafe=unsafe)
                if made is not None:
                    yield made


def _report(total: Examined, known: Sequence[Check], registry: Registry, files: int) -> Report:
    report = Report(command="lint", findings=sorted(distinct(total.findings), key=_place))
    passed = {check.id: Result(id=check.id, status=CheckStatus.PASSED) for check in known}
    report.checks = [*(passed | total.results).values(), *registry.failed]
    report.facts["code"] = Code(
        files=files,
        lines=total.lines,
        unread=tuple(total.unread),
        partly=tuple(total.partly),
        suppressed=total.suppressed,
    )
    return conclude(report, registry)


def _checks(
    registry: Registry, only: tuple[str, ...], skip: tuple[str, ...], wanted: Settings
) -> list[Check]:
    """Return the checks of scripts that are asked for; `only` stands in the place of what the project selects."""
    try:
        registry.select(wanted.select, wanted.ignore)
    except Unknown as error:
        raise BadInput(f"{wanted.path}: {error}") from None
    ids = registry.select(only or wanted.select, (*skip, *wanted.ignore))
    return [
        check
        for check in registry.checks(registry.mentioning("check.code", ids))
        if Source.CODE in check.functions
    ]


def _contents(files: Sequence[Chosen], *, keep: bool) -> dict[int, bytes]:
    """Read standard input where it is one of the files, and with `keep` every file that can be read, by number."""
    found = {}
    for number, file in enumerate(files):
        if file.name == STANDARD_INPUT:
            found[number] = sys.stdin.buffer.read(MOST_NOTEBOOK + 1)
        elif keep and os.path.isfile(file.path):
            with contextlib.suppress(OSError):
                found[number] = file.path.read_bytes()
    return found


def _place(finding: Finding) -> tuple[str, int, int]:
    at = finding.location
    return (at.path, at.line, at.column) if at else ("", 0, 0)

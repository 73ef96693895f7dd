"""lint(): what is wrong in the source of training scripts."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpudoctor.bad_input import BadInput
from gpudoctor.code.examination import look
from gpudoctor.model import Source
from gpudoctor.registry import Registry
from gpudoctor.report import Report, Say
from gpudoctor.verdict import conclude

SUFFIXES = (".py", ".ipynb")


def lint(
    paths: Iterable[str | Path],
    *,
    only: Iterable[str] = (),
    skip: Iterable[str] = (),
    checks: Registry | Iterable[Path] = (),
    say: Say = lambda doing: None,
    warn: Say = lambda skipped: None,
) -> Report:
    """Examine the source of training scripts: files, folders, notebooks; nothing of them is run.

    `only` and `skip` name checks by id or family. `say` is told what is being done, `warn` which files cannot be read.
    Raises `BadInput` where nothing can be read at all.

        >>> report = gpudoctor.lint(["train.py"])
        >>> [(finding.id, finding.location.line) for finding in report.findings]
    """
    registry = Registry.of(checks)
    ids = registry.select(tuple(only), tuple(skip))
    given = [Path(path) for path in paths]
    found = list(_files(given))
    if not found:
        raise BadInput(f"{', '.join(str(path) for path in given)}: no Python file there")
    say(f"reading {len(found)} files")
    known = [check for check in registry.checks(ids) if Source.CODE in check.functions]
    examined = look(
        [(path, os.path.relpath(path)) for path in found], known, [p for p in given if p.is_dir()]
    )
    for reason in examined.unread:
        warn(reason)
    if len(examined.unread) == len(found):
        raise BadInput("none of these files can be read as Python")
    report = Report(command="lint", findings=examined.findings)
    report.checks = [*examined.results.values(), *registry.failed]
    return conclude(report)


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            for folder, folders, names in os.walk(path):
                folders[:] = sorted(
                    name for name in folders if not name.startswith(".") and name != "__pycache__"
                )
                yield from (Path(folder, name) for name in sorted(names) if name.endswith(SUFFIXES))
        elif path.exists():
            yield path
        else:
            raise BadInput(f"{path}: no such file or folder")

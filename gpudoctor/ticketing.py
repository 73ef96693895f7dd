"""A ticket: what is found on the machine and in the user's files, with the proofs that were asked for."""

import contextlib
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from gpudoctor.environment import check
from gpudoctor.proving.proofs import Event, prove, refuse_unknown
from gpudoctor.registry import Registry
from gpudoctor.report import Report, Say

Watch = Callable[[str], AbstractContextManager[tuple[Say, Event]]]
"""Told the name of a step; gives whom to tell what is being done, and what a training tells of itself."""


def _silently(step: str) -> AbstractContextManager[tuple[Say, Event]]:
    return contextlib.nullcontext((lambda doing: None, lambda event: None))


def ticket(
    *files: str,
    repro: Iterable[str] = (),
    python: str | None = None,
    log: str | None = None,
    checks: Registry | Iterable[Path] = (),
    timeout: float | None = None,
    watch: Watch = _silently,
    warn: Say = lambda text: None,
) -> Report:
    """Return what `check` finds of the machine and of `files`, with a proof of each mode or id in `repro`.

    The other arguments are those of `check`, but for `watch`, which is told each step. Raises `BadInput`, for an
    unknown name before anything is run.

        >>> gpudoctor.ticket("train.py", "train.log", repro=["ddp"]).proofs[0].held
    """
    registry = Registry.of(checks)
    names = list(repro)
    for name in names:
        refuse_unknown(registry, name)
    with watch("check") as (say, _):
        report = check(*files, python=python, log=log, checks=registry, timeout=timeout, say=say, warn=warn)
    for name in names:
        with watch(name) as (say, on_event):
            report = prove(name, python=python, checks=registry, report=report, say=say, on_event=on_event)
    report.command = "report"
    return report

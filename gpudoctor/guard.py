"""Run one function of a check on what it asks for; whatever it does is a result, never the end of the run."""

import contextlib
import functools
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from types import NoneType, UnionType
from typing import Any, NamedTuple, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import replace

from gpudoctor.interruption import Interrupted
from gpudoctor.model import CannotTell, Check, Finding, Source
from gpudoctor.report import CheckStatus, Result
from gpudoctor.text import one_line

T = TypeVar("T")

THE_USERS = (KeyboardInterrupt, Interrupted)
"""What ends the run when a check's code is at it; all else that it raises is a result of that check."""


class Facts(Protocol):
    """Where a check's arguments come from."""

    def get(self, kind: type[T], /) -> T | None:
        """Return what is known of one type, or ``None``."""

    def reason(self, kind: type, /) -> str:
        """Return why nothing is known of one type."""


class Parameter(NamedTuple):
    """What a function of a check asks for."""

    name: str
    kind: type
    optional: bool


def examine(check: Check, source: Source, facts: Facts) -> tuple[Result, list[Finding]]:
    """Run the function that a check has for one kind of evidence, and return what became of it and what it found."""
    function = check.functions[source]
    return made(check, source, lambda: function(**_arguments(function, facts)), function)


def made(
    check: Check,
    source: Source,
    make: Callable[[], Iterable[Any]],
    function: Callable[..., Any] | None = None,
) -> tuple[Result, list[Finding]]:
    """Make findings of a check, and return what became of that and the findings, stamped with their source.

    `function` is the check's own one, where that is what makes them. What it prints goes to standard error: standard
    output is the report's.
    """
    begun = time.monotonic()
    found: list[Finding] = []
    reason = None
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = [replace(_whole(finding), source=source) for finding in make()]
        status = CheckStatus.FOUND if found else CheckStatus.PASSED
    except THE_USERS:
        raise
    except CannotTell as error:
        status, reason = CheckStatus.UNKNOWN, _text(error)
    except BaseException as error:
        status, reason = CheckStatus.CRASHED, told(error, place(function))
    seconds = round(time.monotonic() - begun, 6)
    return Result(id=check.id, status=status, reason=reason, seconds=seconds), found


def _arguments(function: Callable[..., Any], facts: Facts) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for name, kind, optional in parameters(function):
        arguments[name] = facts.get(kind)
        if arguments[name] is None and not optional:
            raise CannotTell(facts.reason(kind))
    return arguments


def _whole(finding: Any) -> Finding:
    """Return a finding whose fields have their types; raises for one that has not, and for what is no finding."""
    if not isinstance(finding, Finding):
        raise TypeError(f"it yields {finding!r}, which is no Finding")
    return msgspec.convert(msgspec.to_builtins(finding), Finding)


@functools.cache
def parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Return what a function of a check asks for."""
    found = []
    for name, kind in get_type_hints(function).items():
        if name != "return":
            choices = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
            kinds = [choice for choice in choices if choice is not NoneType]
            found.append(Parameter(name, kinds[0], NoneType in choices))
    return tuple(found)


def place(function: Callable[..., Any] | None) -> tuple[str, int] | None:
    """Return the file and the line of a function; ``None`` for what is written in no file."""
    code = getattr(function, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else None


def told(error: BaseException, own: tuple[str, int] | None = None) -> str:
    """Return what was raised, on one line, with the place where a reader looks for it.

    That is the last line of the traceback; with `own`, a check's file and a line in it, the last one in that file, or
    that line.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    says = f"{type(error).__name__}: {_text(error)}".rstrip(": ")
    places = [(place.filename, place.lineno) for place in traceback.extract_tb(error.__traceback__)]
    if own is not None:
        places = [place for place in places if place[0] == own[0]] or [own]
    return one_line(f"{places[-1][0]}:{places[-1][1]}: {says}" if places else says)


def _text(error: BaseException) -> str:
    """Return what an exception says; one of a stranger's own may not be able to."""
    try:
        return str(error)
    except Exception:
        return ""

"""Run one function of a check on what it asks for; whatever it does is a result, never the end of the run."""

import functools
import time
import traceback
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, NamedTuple, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import replace

from gpudoctor.model import CannotTell, Check, Finding, Source
from gpudoctor.report import CheckStatus, Result
from gpudoctor.text import one_line

T = TypeVar("T")

STRANGERS = (Exception, SystemExit, GeneratorExit)
"""What a stranger's code may raise without ending the run; a user's interrupt does."""


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
    begun = time.monotonic()
    found: list[Finding] = []
    reason = None
    try:
        found = _findings(check, source, facts)
        status = CheckStatus.FOUND if found else CheckStatus.PASSED
    except CannotTell as error:
        status, reason = CheckStatus.UNKNOWN, str(error)
    except STRANGERS as error:
        status, reason = CheckStatus.CRASHED, told(error, check.functions[source])
    seconds = round(time.monotonic() - begun, 6)
    return Result(id=check.id, status=status, reason=reason, seconds=seconds), found


def _findings(check: Check, source: Source, facts: Facts) -> list[Finding]:
    function = check.functions[source]
    arguments: dict[str, Any] = {}
    for name, kind, optional in parameters(function):
        arguments[name] = facts.get(kind)
        if arguments[name] is None and not optional:
            raise CannotTell(facts.reason(kind))
    found: list[Any] = list(function(**arguments))
    for finding in found:
        if not isinstance(finding, Finding):
            raise TypeError(f"it yields {finding!r}, which is no Finding")
        msgspec.convert(msgspec.to_builtins(finding), Finding)  # raises for a field of another type
    return [replace(finding, source=source) for finding in found]


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


def told(error: BaseException, function: Callable[..., Any] | None = None) -> str:
    """Return what was raised, on one line, with the place where a reader looks for it.

    That is the last line of the traceback, of a check's `function` the last one in its own file.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    says = f"{type(error).__name__}: {error}".rstrip(": ")
    places = [(place.filename, place.lineno) for place in traceback.extract_tb(error.__traceback__)]
    if function is not None:
        code = function.__code__
        own = [place for place in places if place[0] == code.co_filename]
        places = own or [(code.co_filename, code.co_firstlineno)]
    return one_line(f"{places[-1][0]}:{places[-1][1]}: {says}" if places else says)

"""What somebody writes into a check, held against the types that it must have: a wrong one would show much later."""

from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")

MOST = 60
"""Characters of a wrong value that are quoted."""


def typed(name: str, value: Any, kind: type[T]) -> T:
    """Return a value of a type, a struct's own fields included; raises TypeError with the field's name."""
    if not isinstance(value, kind):
        raise TypeError(f"{name}: {_quoted(value)} is no {kind.__name__}")
    if isinstance(value, msgspec.Struct):
        try:
            return cast(T, msgspec.convert(msgspec.to_builtins(value), type(value)))
        except (TypeError, msgspec.ValidationError) as error:
            raise TypeError(f"{name}: {type(value).__name__}: {error}") from None
    return value


def typed_all(name: str, values: Any, kind: type[T]) -> tuple[T, ...]:
    """Return the values of a list, all of one type; raises TypeError with the field's name and place.

    A single text is no list of letters.
    """
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError(f"{name}: {_quoted(values)} is no list")
    return tuple(typed(f"{name}[{number}]", value, kind) for number, value in enumerate(values))


def _quoted(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MOST else f"{text[:MOST]}..."

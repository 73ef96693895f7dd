"""A report that gpudoctor saved: JSON of schema ``gpudoctor.report/1``."""

import re
from typing import Any

import msgspec
from msgspec import Raw, Struct

from gpudoctor.facts.topics import kind_of
from gpudoctor.importers.source import Unreadable
from gpudoctor.report import SCHEMA, Report

_BYTE = re.compile(r" \(byte (\d+)\)$")


class Damaged(Unreadable):
    """What should be a report is no whole JSON document."""


class _Header(Struct):
    schema: Any = None


class _Saved(Report):
    """A report whose facts are not decoded yet: those of another plug-in never are."""

    facts: dict[str, Raw] = {}


def read(text: str, topics: dict[str, type[Struct]]) -> Report:
    """Decode a report strictly, and its facts into their types; fields that nobody knows here are left out.

    ``{"schema": "gpudoctor.report/1", "probes": [...], "facts": {"torch": {"version": "2.5.1"}}}``
    """
    data = text.encode()
    try:
        _check_schema(msgspec.json.decode(data, type=_Header).schema)
        saved = msgspec.json.decode(data, type=_Saved)
        facts = _facts(saved.facts, topics)
    except msgspec.ValidationError as error:
        raise Unreadable(_wrong_type(str(error))) from None
    except msgspec.DecodeError as error:
        raise Damaged(_malformed(str(error), data)) from None
    except RecursionError:
        raise Damaged("nested too deeply: no report is") from None
    fields = {name: getattr(saved, name) for name in Report.__struct_fields__}
    return Report(**{**fields, "facts": facts})


def _facts(saved: dict[str, Raw], topics: dict[str, type[Struct]]) -> dict[str, Struct]:
    """Decode each topic into its type straight from the text: nothing is built that no type asks for."""
    facts = {}
    for topic, raw in saved.items():
        kind = kind_of(topic, topics)
        if kind is not None:
            try:
                facts[topic] = msgspec.json.decode(raw, type=kind)
            except msgspec.ValidationError as error:
                raise msgspec.ValidationError(f"facts.{topic}: {error}") from None
    return facts


def _check_schema(schema: object) -> None:
    if schema is None:
        raise Unreadable("JSON without a schema: no gpudoctor report")
    if schema == SCHEMA:
        return
    if isinstance(schema, str) and schema.startswith(SCHEMA.partition("/")[0] + "/"):
        raise Unreadable(f"schema {schema[:60]}: this gpudoctor reads {SCHEMA}; upgrade gpudoctor")
    raise Unreadable(f"JSON of another schema ({str(schema)[:60]!r}): no gpudoctor report")


def _wrong_type(message: str) -> str:
    """Turn ``facts.torch: Expected `str` - at `$.version``` into ``facts.torch.version: expected str``."""
    message = message.replace("`", "")
    topic = ""
    if message.startswith("facts."):
        topic, _, message = message.partition(": ")
    what, _, place = message.partition(" - at $")
    place = (topic + place).removeprefix(".") or "the document"
    return f"{place}: {what[:1].lower()}{what[1:200]}"


def _malformed(message: str, data: bytes) -> str:
    """Return where JSON breaks: ``JSON is malformed: invalid character (byte 23)`` -> line and column."""
    match = _BYTE.search(message)
    if match is None:
        lines = data.count(b"\n", 0, len(data.rstrip())) + 1
        return f"cut off or damaged: the JSON has no end (line {lines})"
    before = data[: int(match[1])]
    line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
    what = message[: match.start()].removeprefix("JSON is malformed: ")
    return f"not valid JSON at line {line}, column {column}: {what}"

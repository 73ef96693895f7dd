"""A report as JSON of schema ``gpudoctor.report/1``, and that schema itself."""

from collections.abc import Mapping
from typing import Any

import msgspec

from gpudoctor.report import SCHEMA, Report
from gpudoctor.text import encodable, with_texts


def encode(report: Report) -> str:
    """Write a report as indented JSON; every field is there, and one that does not apply is null or empty."""
    return indented(report)


def indented(data: Any) -> str:
    """Write what msgspec knows as indented JSON."""
    return msgspec.json.format(packed(data), indent=1).decode() + "\n"


def packed(data: Any) -> bytes:
    """Write what msgspec knows as JSON in one line; halves of surrogate pairs, as a name may hold, as escapes."""
    try:
        return msgspec.json.encode(data)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(data)
        return msgspec.json.encode(with_texts(plain, encodable))


def schema(topics: Mapping[str, type[msgspec.Struct]]) -> str:
    """Write the JSON Schema of a report, with the types of the facts of `topics`."""
    (reference, *facts), components = msgspec.json.schema_components(
        [Report, *topics.values()], ref_template="#/$defs/{name}"
    )
    properties = components["Report"]["properties"]
    properties["schema"] = {"const": SCHEMA}
    properties["facts"] = {"type": "object", "properties": dict(zip(topics, facts, strict=True))}
    document: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A report of gpudoctor",
        **reference,
        "$defs": components,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"

"""Names of machines and people in a log: learnt from every line, for a line that is not quoted tells them as well."""

from collections.abc import Sequence

import msgspec

from gpudoctor.logs.lines import Line
from gpudoctor.model import Finding
from gpudoctor.patterns import late_pattern
from gpudoctor.redact.name_forms import machine_name, names_told

TOPICS = {
    "host": "hosts",
    "site": "hosts",
    "user": "users",
    "repository": "repositories",
    "project": "projects",
    "serial": "serials",
}
NUMBER = late_pattern(r"(?<![\w.-])\d[\d.,:]*")
"""A step, a loss, a time: lines that differ in these alone name the same machines."""


def named(lines: Sequence[Line], findings: Sequence[Finding]) -> dict[str, tuple[str, ...]]:
    """Return hosts, users and other names that a log gives, by kind, as far as the findings speak of them."""
    if not findings:
        return {}
    quoted = msgspec.json.encode(findings).decode().lower()
    told: dict[tuple[str, str], None] = {}

    def tell(kind: str, name: str) -> None:
        told.setdefault((kind, name))

    kinds = {NUMBER.sub("", line.full): line.full for line in lines if not line.bar}
    names_told("\n".join(kinds.values()), tell)
    for host in dict.fromkeys(line.host for line in lines if line.host):
        if machine_name(host):
            tell("host", host)
    found: dict[str, list[str]] = {}
    for kind, name in told:
        if (topic := TOPICS.get(kind)) and any(part in quoted for part in _parts(name)):
            found.setdefault(topic, []).append(name)
    return {topic: tuple(dict.fromkeys(names)) for topic, names in found.items()}


def _parts(name: str) -> list[str]:
    """Return what of a name may be quoted alone: a host's first label, its domain, the beginning of a node list."""
    whole = name.lower()
    first, _, domain = whole.partition(".")
    parts = [part.partition("[")[0] for part in (*whole.split(","), first, *domain.split("/"), domain)]
    return [part for part in (*parts, *whole.split("/")) if len(part) > 1]

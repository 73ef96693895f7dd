"""What is known, as data: an entry for each check."""

from collections.abc import Iterable

from msgspec import Struct

from gpudoctor.model import Check, Source
from gpudoctor.proving.scripts import difference, shown_on
from gpudoctor.registry import Registry


class Entry(Struct, frozen=True, kw_only=True):
    """One check as a list shows it."""

    id: str
    family: str
    severity: str
    evidence: list[str]
    """The kinds of evidence that it goes by."""
    title: str


def entry(check: Check, registry: Registry) -> Entry:
    """Return the entry of a check."""
    evidence = [source.value for source in check.functions]
    if check.symptoms and Source.LOG.value not in evidence:
        evidence.append(Source.LOG.value)
    if registry.reproduction(check.id):
        evidence.append(Source.REPRODUCTION.value)
    return Entry(
        id=check.id,
        family=check.family,
        severity=check.severity.value,
        evidence=evidence,
        title=check.title,
    )


def proven(check: Check, registry: Registry) -> str | None:
    """Return the difference between a check's broken and its fixed script, ``None`` where it has none."""
    folder = registry.reproduction(check.id)
    return difference(folder) if folder else None


def ground(check: Check, registry: Registry) -> str | None:
    """Return what a check's reproduction runs on in the place of the real thing; ``None``: on nothing but that."""
    folder = registry.reproduction(check.id)
    return shown_on((folder / "broken.py").read_text(encoding="utf-8")) if folder else None


def pages(checks: Iterable[Check]) -> list[dict[str, str]]:
    """Return what a page holds of each check, as data."""
    fields = ("id", "family", "title", "page")
    return [
        {**{name: getattr(check, name) for name in fields}, "severity": check.severity.value}
        for check in checks
    ]

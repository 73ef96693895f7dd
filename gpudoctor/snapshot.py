"""All facts of one machine at one time; plain data both ways."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from gpudoctor.model import ProbeResult, ProbeStatus, Report

T = TypeVar("T")


class Snapshot:
    """The facts by topic, and what became of each probe.

    A topic is a probe's name for its facts (``torch``, ``gpus``); its type is a struct of `gpudoctor.facts`, or of
    the package that brought the probe.
    """

    def __init__(
        self, facts: dict[str, msgspec.Struct] | None = None, probes: list[ProbeResult] | None = None
    ) -> None:
        self.facts = dict(facts or {})
        self.probes = list(probes or [])

    def get(self, kind: type[T]) -> T | None:
        """Return the facts of one type, or ``None`` when they are not known."""
        return next((fact for fact in self.facts.values() if isinstance(fact, kind)), None)

    def reason(self, kind: type) -> str:
        """Say why the facts of one type are not known, in the probe's own words."""
        topic, result = self._result(kind)
        if result is None or result.status is ProbeStatus.OK:
            return f"{topic}: not in this report"
        return f"{topic}: {result.reason or result.status.value}"

    def asked(self, kind: type) -> bool:
        """Tell whether a probe was asked for the facts of one type."""
        return self._result(kind)[1] is not None

    def _result(self, kind: type) -> tuple[str, ProbeResult | None]:
        """Return the topic of a type, by its name, and what became of its probe."""
        topic = kind.__name__.lower()
        return topic, next((r for r in self.probes if r.name.replace("_", "") == topic), None)


def rewritten(report: Report, rewrite: Callable[[Any], Any]) -> Report:
    """Return a report made anew from what `rewrite` makes of its plain data; the facts keep their types."""
    data = rewrite(msgspec.to_builtins(report))
    copy = msgspec.convert({**data, "facts": {}}, Report)
    copy.facts = {
        topic: msgspec.convert(data["facts"][topic], type(fact)) for topic, fact in report.facts.items()
    }
    return copy

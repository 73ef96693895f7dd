"""All facts of one machine at one time; plain data both ways."""

from typing import Any, TypeVar

import msgspec

from gpudoctor.model import ProbeResult, ProbeStatus

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
        topic = kind.__name__.lower()
        for result in self.probes:
            if result.name.replace("_", "") == topic and result.status is not ProbeStatus.OK:
                return f"{topic}: {result.reason or result.status.value}"
        return f"{topic}: not in this report"

    def builtins(self) -> dict[str, Any]:
        """Return the facts as plain dicts, lists, strings and numbers."""
        return {topic: msgspec.to_builtins(fact) for topic, fact in self.facts.items()}


def read_facts(data: dict[str, Any], topics: dict[str, type[msgspec.Struct]]) -> dict[str, msgspec.Struct]:
    """Turn plain data into typed facts, strictly; topics that nobody knows here are left out.

    Raises msgspec.ValidationError, with the path of the field, for a value of the wrong type.
    """
    facts = {}
    for topic, value in data.items():
        if topic in topics:
            try:
                facts[topic] = msgspec.convert(value, topics[topic])
            except msgspec.ValidationError as error:
                raise msgspec.ValidationError(f"facts.{topic}: {error}") from None
    return facts

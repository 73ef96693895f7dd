"""All facts of one machine at one time; plain data both ways."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from gpudoctor.facts import CheckpointFile
from gpudoctor.facts.topics import TOPICS
from gpudoctor.report import ProbeResult, ProbeStatus, Report

T = TypeVar("T")

CHECKPOINT = ("checkpoint", "values", "comparison")
"""Topics that speak of one checkpoint; those of the second one are numbered, ``checkpoint.2``."""


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

    def all(self, kind: type[T]) -> list[T]:
        """Return all facts of one type: there may be several checkpoints."""
        return [fact for fact in self.facts.values() if isinstance(fact, kind)]

    def reason(self, kind: type) -> str:
        """Return why the facts of one type are not known, in the probe's own words."""
        topic, result = self._result(kind)
        if result is None or result.status is ProbeStatus.OK:
            return f"{topic}: not in this report"
        return f"{topic}: {result.reason or result.status.value}"

    def asked(self, kind: type) -> bool:
        """Return whether a probe was asked for the facts of one type."""
        return self._result(kind)[1] is not None

    @property
    def machine(self) -> bool:
        """Whether anything is known, or was asked, of a machine, and not of files and logs alone."""
        return bool(self.probes) or any(_name(topic) not in TOPICS for topic in self.facts)

    @property
    def read(self) -> bool:
        """Whether anything is known of files, logs or commands."""
        return any(_name(topic) in TOPICS for topic in self.facts)

    def checkpoints(self) -> "Iterator[Snapshot]":
        """Yield the facts of each checkpoint, those of the second one without the number of their topics."""
        for topic, fact in self.facts.items():
            if isinstance(fact, CheckpointFile):
                _, dot, number = topic.partition(".")
                own = {name: self.facts.get(name + dot + number) for name in CHECKPOINT}
                yield Snapshot({name: fact for name, fact in own.items() if fact is not None})

    def _result(self, kind: type) -> tuple[str, ProbeResult | None]:
        """Return the topic of a type, by its name, and what became of its probe."""
        topic = kind.__name__.lower()
        result = next((r for r in self.probes if r.name.replace("_", "") == topic), None)
        return result.name if result else topic, result


def _name(topic: str) -> str:
    return topic.partition(".")[0]


def rewritten(report: Report, rewrite: Callable[[Any], Any]) -> Report:
    """Return a report made anew from what `rewrite` makes of its plain data; the facts keep their types.

    The keys of checkpoints are spared. There may be a million of them, all names of a model's own attributes: nothing
    to hide, and too many to rewrite. Whoever prints one sees to what it holds.
    """
    spared = without_keys(report)
    data = rewrite(msgspec.to_builtins(spared))
    copy = msgspec.convert({**data, "facts": {}}, Report)
    copy.facts = {
        topic: _with_keys(msgspec.convert(data["facts"][topic], type(fact)), fact)
        for topic, fact in report.facts.items()
    }
    return copy


def without_keys(report: Report) -> Report:
    """Return a report without the keys of its checkpoints."""
    facts = {topic: _bare(f) if isinstance(f, CheckpointFile) else f for topic, f in report.facts.items()}
    return replace(report, facts=facts)


def _bare(file: CheckpointFile) -> CheckpointFile:
    states = tuple(replace(state, keys=(), others=(), versions={}) for state in file.state_dicts)
    return replace(file, state_dicts=states, shared=())


def _with_keys(made: Any, own: Any) -> Any:
    """Put the keys back that were spared."""
    if not isinstance(own, CheckpointFile):
        return made
    states = tuple(
        replace(bare, keys=state.keys, others=state.others, versions=state.versions)
        for bare, state in zip(made.state_dicts, own.state_dicts, strict=True)
    )
    return replace(made, state_dicts=states, shared=own.shared)

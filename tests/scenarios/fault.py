"""A fault put into a healthy machine, and what must be found then."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from gpudoctor.report import ProbeResult, ProbeStatus
from gpudoctor.snapshot import Snapshot

Change = Callable[[Snapshot], Snapshot]


@dataclass(frozen=True)
class Fault:
    """One injected fault."""

    name: str
    on: str
    """Name of the healthy machine."""
    change: Change
    expect: str
    """The id that must come first."""
    also: tuple[str, ...] = ()
    """Ids that may be found besides, above a note."""
    note: bool = False
    """It is found as a note: the machine may well be meant to be so."""
    says: str = ""
    """What its message must hold."""


@dataclass(frozen=True)
class Variant:
    """A healthy machine changed in a way that is no fault: nothing above a note may be found."""

    name: str
    on: str
    change: Change


def put(**facts: Any) -> Change:
    """Replace whole topics; ``None``: the topic could not be read."""

    def change(snapshot: Snapshot) -> Snapshot:
        known = {name: fact for name, fact in {**snapshot.facts, **facts}.items() if fact is not None}
        failed = ProbeResult(name="", status=ProbeStatus.FAILED, reason="PermissionError: needs root")
        probes = [
            replace(failed, name=p.name) if facts.get(p.name, p) is None else p for p in snapshot.probes
        ]
        return Snapshot(known, probes)

    return change


def edit(topic: str, **fields: Any) -> Change:
    """Replace fields of one topic's facts; a function gets the field's old value."""

    def change(snapshot: Snapshot) -> Snapshot:
        fact = snapshot.facts[topic]
        made = {name: v(getattr(fact, name)) if callable(v) else v for name, v in fields.items()}
        return put(**{topic: replace(fact, **made)})(snapshot)

    return change


def gpu(index: int | None = None, **fields: Any) -> Change:
    """Replace fields of one GPU that NVML shows, of all without an index."""

    def change(snapshot: Snapshot) -> Snapshot:
        devices = [
            replace(d, **fields) if index in (None, d.index) else d
            for d in snapshot.facts["gpus"].devices  # type: ignore[attr-defined]
        ]
        return edit("gpus", devices=devices)(snapshot)

    return change


def bus(index: int, **fields: Any) -> Change:
    """Replace fields of the index-th GPU on the PCI bus."""

    def change(snapshot: Snapshot) -> Snapshot:
        pci: Any = snapshot.facts["pci"]
        wanted = pci.gpus[index].address
        return edit("pci", nvidia=[replace(d, **fields) if d.address == wanted else d for d in pci.nvidia])(
            snapshot
        )

    return change


def variables(**values: str | None) -> Change:
    """Set launch variables, or with ``None`` remove them."""

    def change(snapshot: Snapshot) -> Snapshot:
        launch: Any = snapshot.facts["launch"]
        left = {name: v for name, v in {**launch.variables, **values}.items() if v is not None}
        return edit("launch", variables=left)(snapshot)

    return change


def both(*changes: Change) -> Change:
    """Make several changes, one after another."""

    def change(snapshot: Snapshot) -> Snapshot:
        for one in changes:
            snapshot = one(snapshot)
        return snapshot

    return change

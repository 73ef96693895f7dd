"""A pasted text of any kind -> a snapshot: each importer reads its own part, and the parts are joined."""

from msgspec import Struct

from gpudoctor.facts import Measurements, Torch
from gpudoctor.facts.topics import PASTED
from gpudoctor.importers import (
    collect_env,
    comfyui_env,
    deepspeed_env,
    framework_env,
    kohya_env,
    lightning_env,
    pasted_text,
    ultralytics_env,
    unsloth_env,
)
from gpudoctor.importers.collect_env_block import begins, spread
from gpudoctor.importers.pasted_parts import Found, Parts
from gpudoctor.importers.source import Unreadable
from gpudoctor.report import NOT_IN_TEXT, ProbeResult, ProbeStatus
from gpudoctor.snapshot import Snapshot


def read(text: str, topics: dict[str, type[Struct]]) -> Snapshot | None:
    """Read what the text says, and no more: a topic that it does not hold is *skipped*, with the reason.

    Returns ``None`` where nothing in the text is known here.
    """
    pieces, rows = pasted_text.rows(text, begins)
    rows = [part for row in rows for part in spread(row)]
    pasted = Parts(text, pieces, rows)
    found = collect_env.read(rows, pasted.table, pasted.refusal)
    block = found is not None
    found = pasted.added(_of_frameworks(found, pieces))
    snapshot = _snapshot(found, topics)
    if snapshot.facts:
        return snapshot
    if block:
        raise Unreadable("collect_env output without any value in it")
    return None


def _of_frameworks(found: Found | None, pieces: list[str]) -> Found:
    """Return collect_env's facts, or else those of a library's own list; some have a few of collect_env's keys."""
    if found is not None:
        torch = found.get("torch")
        told = isinstance(torch, Torch) and torch.imported and torch.cuda_available is None
        more = (comfyui_env.read(pieces) or framework_env.read(pieces) or {}) if told else {}
        return found | {topic: value for topic, value in more.items() if value is not None}
    readers = (
        framework_env.read,
        lightning_env.read,
        deepspeed_env.read,
        comfyui_env.read,
        ultralytics_env.read,
        kohya_env.read,
        unsloth_env.read,
    )
    return next((facts for read in readers if (facts := read(pieces))), {})


def nothing(topics: dict[str, type[Struct]]) -> Snapshot:
    """Return the snapshot of a text that holds no facts."""
    return _snapshot({}, topics)


def _snapshot(found: Found, topics: dict[str, type[Struct]]) -> Snapshot:
    """Keep the facts of the topics that are known here; a text in place of facts says why there are none."""
    facts: dict[str, Struct] = {}
    probes = []
    for topic, kind in topics.items():
        value = found.get(topic)
        if isinstance(value, kind):
            facts[topic] = value
            probes.append(ProbeResult(name=topic, status=ProbeStatus.OK))
        else:
            reason = value if isinstance(value, str) else NOT_IN_TEXT
            probes.append(ProbeResult(name=topic, status=ProbeStatus.SKIPPED, reason=reason))
    for topic, kind in (PASTED | {"measurements": Measurements}).items():
        value = found.get(topic)
        if isinstance(value, kind):
            facts[topic] = value
            probes.append(ProbeResult(name=topic, status=ProbeStatus.OK))
    return Snapshot(facts, probes)

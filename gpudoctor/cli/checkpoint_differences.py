"""The findings that a comparison comes to."""

from collections.abc import Iterator

from gpudoctor.facts.comparison import Comparison
from gpudoctor.model import Finding, Fix, Kind, Source
from gpudoctor.registry import Registry

OUTCOMES = {
    "prefix": "state-dict-prefix",
    "shape": "state-dict-shape",
    "architecture": "state-dict-architecture",
}
LOADING = {
    "prefix": "Or load it under the target's names",
    "shape": "Load what has the target's shape",
    "architecture": "Load what fits the target's names",
}
"""What the line of Python does, by outcome."""


def differences(comparison: Comparison, registry: Registry) -> Iterator[Finding]:
    """Make the finding of what keeps the file from loading."""
    id = OUTCOMES.get(comparison.outcome)
    if id is None:
        return
    check = registry.check(id)
    fixes = []
    if comparison.fix_line:
        fixes.append(Fix("Write a copy with the target's names", comparison.fix_line))
    if comparison.load_line:
        fixes.append(Fix(LOADING[comparison.outcome], comparison.load_line, Kind.EDIT))
    shapes = [
        f"{s.name}: {list(s.own)} in the file, {list(s.other)} in the target"
        + (f" ({s.reason})" if s.reason else "")
        for s in comparison.shapes[:5]
    ]
    shapes += [f"perhaps: {guess}" for guess in comparison.guesses[:3]]
    said = f"against {comparison.target}: {comparison.sentence.rstrip('.')}"
    yield check.found(said, source=Source.CHECKPOINT, evidence=shapes, fixes=fixes or None)

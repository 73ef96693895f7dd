"""Checks of the environment for whose facts nobody imports torch: the tests of the command line ask for these."""

from gpudoctor.diagnose import wanted
from gpudoctor.facts import Measurements, Torch, Torchvision
from gpudoctor.registry import Registry

COSTLY = {Torch, Torchvision, Measurements}


def quick_checks(*families: str) -> list[str]:
    """Return the options with which `check` examines what it can of some families in half a second instead of three."""
    registry = Registry.of(())
    kinds = {check.id: wanted(check) for check in registry.checks(registry.select(families))}
    ids = [id for id, asked in kinds.items() if asked and not asked & COSTLY]
    assert len(ids) >= len(families)
    return [option for id in ids for option in ("--only", id)]

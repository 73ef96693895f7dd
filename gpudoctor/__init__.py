"""Find out why PyTorch training on several GPUs is broken, prove it, and print a fix that was seen to work."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpudoctor import checkpoint
    from gpudoctor.logs.explain import explain
    from gpudoctor.model import (
        CannotTell,
        Check,
        Evidence,
        Finding,
        Fix,
        Kind,
        Location,
        Report,
        Role,
        Severity,
        Sighting,
        Source,
        Symptom,
    )

__all__ = [
    "CannotTell",
    "Check",
    "Evidence",
    "Finding",
    "Fix",
    "Kind",
    "Location",
    "Report",
    "Role",
    "Severity",
    "Sighting",
    "Source",
    "Symptom",
    "__version__",
    "checkpoint",
    "explain",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import the model when one of its words is asked for: ``gpudoctor --help`` does without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "checkpoint":
        return importlib.import_module("gpudoctor.checkpoint")
    if name == "explain":
        from gpudoctor.logs.explain import explain

        return explain
    from gpudoctor import model

    return getattr(model, name)

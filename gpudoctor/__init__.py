"""Find out why PyTorch training on several GPUs is broken, prove it, and print a fix that was seen to work."""

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
    Source,
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
    "Source",
    "__version__",
]

__version__ = "0.1.0"

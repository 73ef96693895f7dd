"""Find out why PyTorch training on several GPUs is broken, prove it, and print a fix that was seen to work."""

import os
import sys

# `python -m gpudoctor` looks into the working folder first, and this file is read before any other: a typing.py or
# random.py that lies there would break what is to find it. While `-m` looks for its module, argv has no more of it; a
# program of the user's that is started by `-m` and imports gpudoctor keeps its folder.
try:
    _here = os.path.realpath(os.getcwd())
except OSError:  # it was deleted
    _here = ""
if (
    sys.argv[:1] == ["-m"]
    and ("gpudoctor" in sys.orig_argv[1:] or "-mgpudoctor" in sys.orig_argv)
    and sys.path
    and os.path.realpath(sys.path[0]) == _here != os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
):
    del sys.path[0]
# The same of PYTHONPATH, when gpudoctor is the program: what the user's modules are called is for the patient to see.
if os.environ.get("PYTHONPATH") and (
    sys.argv[:1] == ["-m"]
    or os.path.basename(sys.argv[0] if sys.argv else "") in ("gpudoctor", "gpudoctor.exe")
):
    _own = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    _theirs = {os.path.realpath(path) for path in os.environ["PYTHONPATH"].split(os.pathsep) if path} - {_own}
    sys.path.sort(key=lambda path: os.path.realpath(path) in _theirs)

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpudoctor import checkpoint
    from gpudoctor.bad_input import BadInput
    from gpudoctor.checkpoint.inspection import inspect
    from gpudoctor.code.linting import lint, mend
    from gpudoctor.environment import check
    from gpudoctor.logs.explain import explain
    from gpudoctor.model import (
        CannotTell,
        Check,
        Evidence,
        Finding,
        Fix,
        Kind,
        Location,
        Role,
        Severity,
        Sighting,
        Source,
        Symptom,
    )
    from gpudoctor.proving.proofs import prove
    from gpudoctor.proving.scaling import scale
    from gpudoctor.report import Report
    from gpudoctor.text import byte_size, count, in_bytes, joined, listed
    from gpudoctor.ticketing import ticket

HOMES = {
    "BadInput": "bad_input",
    "Report": "report",
    "byte_size": "text",
    "check": "environment",
    "count": "text",
    "explain": "logs.explain",
    "in_bytes": "text",
    "inspect": "checkpoint.inspection",
    "joined": "text",
    "lint": "code.linting",
    "listed": "text",
    "mend": "code.linting",
    "prove": "proving.proofs",
    "scale": "proving.scaling",
    "ticket": "ticketing",
}
"""Where a name is defined that is no word of a check's; a module is imported when one of its names is asked for."""

__all__ = [
    "BadInput", "CannotTell", "Check", "Evidence", "Finding", "Fix", "Kind", "Location", "Report", "Role",
    "Severity", "Sighting", "Source", "Symptom", "__version__", "byte_size", "check", "checkpoint", "count",
    "explain", "in_bytes", "inspect", "joined", "lint", "listed", "mend", "prove", "scale",
    "ticket",
]  # fmt: skip

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import what is asked for: ``gpudoctor --help`` does without most of it."""
    if name == "checkpoint":
        return importlib.import_module("gpudoctor.checkpoint")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"gpudoctor.{HOMES.get(name, 'model')}"), name)

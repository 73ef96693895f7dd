"""Read what is in a checkpoint, describe it, compare it with a model, write a fixed copy; nothing in it is run.

>>> checkpoint = read("model.pt")
>>> file = describe(checkpoint)
>>> compare(file, "net.py:Net").outcome
>>> fix("model.pt", "fixed.pt", Changes(strip=("module.",)))
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpudoctor.checkpoint.comparison.target import compare
    from gpudoctor.checkpoint.description.survey import describe
    from gpudoctor.checkpoint.formats.reader import read
    from gpudoctor.checkpoint.repair.copy import fix
    from gpudoctor.checkpoint.repair.edit import Changes
    from gpudoctor.checkpoint.repair.rename import Rename
    from gpudoctor.checkpoint.tree import Call, Checkpoint, Global, Tensor, Unreadable

HOMES = {
    **dict.fromkeys(("Call", "Checkpoint", "Global", "Tensor", "Unreadable"), "tree"),
    "read": "formats.reader",
    "describe": "description.survey",
    "compare": "comparison.target",
    "fix": "repair.copy",
    "Changes": "repair.edit",
    "Rename": "repair.rename",
}
"""Where each name is defined: a module is imported when one of its names is asked for."""
__all__ = [
    "Call", "Changes", "Checkpoint", "Global", "Rename", "Tensor", "Unreadable", "compare", "describe", "fix", "read",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import what is asked for: reading does without comparing and fixing."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)

"""A module that is imported when a test first uses it: torch costs each worker that collects tests two seconds.

It also makes every fork of that worker slower, and only the workers that run such tests need it.
"""

import importlib
import importlib.util
from typing import Any

import pytest


class _Late:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if (
            attribute.startswith("_") and attribute != "__version__"
        ):  # pytest asks each name for what it wraps
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)


def late_import(name: str) -> Any:
    """Return what stands for a module; where its package is not installed, the tests of the file are skipped."""
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        pytest.skip(f"{name} is not installed here", allow_module_level=True)
    return _Late(name)

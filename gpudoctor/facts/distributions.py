"""What is installed in the patient's environment."""

import re
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from packaging.version import Version

CONDA_NAMES = {"pytorch": "torch"}
"""Conda's name of the package that brings the distribution."""


class WheelFile(Struct, frozen=True, kw_only=True):
    """A shared library that a wheel brought, from its ``RECORD``."""

    path: str
    """Where it lies, or should."""
    bytes: int
    """Its size by the RECORD."""
    bytes_there: int | None = None
    """The size of the file that lies there; ``None``: none does."""


class Distribution(Struct, frozen=True, kw_only=True):
    """One installed distribution, from its ``METADATA`` (``importlib.metadata``)."""

    name: str
    version: str
    location: str = ""
    """The folder on the import path in which it lies."""
    requires: list[str] = []
    """Its ``Requires-Dist`` lines that name torch: the pins that a pair must meet."""
    pins: list[str] = []
    """Of torch, its ``Requires-Dist`` lines that name one of NVIDIA's wheels with a version."""
    libraries: list[WheelFile] = []
    """Of NVIDIA's wheels, their shared libraries."""


class Distributions(Struct, frozen=True, kw_only=True):
    """The installed distributions that matter to training, in the order of the import path.

    A name that comes twice is installed twice; the first one is imported.
    Only names of a public list are kept (torch, CUDA, numerics, training frameworks), so that the names of
    private packages stay out of a report.
    """

    installed: list[Distribution] = []

    def named(self, name: str) -> list[Distribution]:
        """Return every copy of a distribution, the one that is imported first."""
        wanted = normal_name(name)
        return [d for d in self.installed if normal_name(d.name) == wanted]

    def get(self, name: str) -> Distribution | None:
        """Return the copy of a distribution that is imported, or ``None``."""
        return next(iter(self.named(name)), None)


def parsed_version(text: str | None) -> "Version | None":
    """Return a version that can be compared, or ``None`` where it is not known or none of PEP 440's."""
    from packaging.version import InvalidVersion, Version  # few examinations need it, all import this module

    try:
        return Version(text) if text else None
    except InvalidVersion:
        return None


def normal_name(name: str) -> str:
    """Return a distribution's name as PEP 503 has it."""
    return re.sub(r"[-_.]+", "-", name).lower()

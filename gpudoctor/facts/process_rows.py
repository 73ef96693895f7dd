"""Rows of ``ps`` and ``top`` in a text."""

from msgspec import Struct

from gpudoctor.facts.processes import Process


class ProcessRows(Struct, frozen=True, kw_only=True):
    """What a text shows of Python's processes, at one look; no probe asks for it, since those look twice."""

    stuck: list[Process] = []
    """In state ``D``."""
    zombies: list[Process] = []
    """In state ``Z``."""

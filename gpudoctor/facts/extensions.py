"""Compiled code of libraries beside torch, as a text tells of it."""

from msgspec import Struct


class Extension(Struct, frozen=True, kw_only=True):
    """One library's own kernels."""

    name: str
    architectures: list[str] = []
    """For which GPUs there is machine code in it, such as ``sm_70``."""


class Extensions(Struct, frozen=True, kw_only=True):
    """What a text shows of them; no probe asks."""

    each: list[Extension] = []

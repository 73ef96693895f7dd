"""The patient's torchvision, without importing all of it."""

from msgspec import Struct


class Torchvision(Struct, frozen=True, kw_only=True):
    """Whether torchvision fits the torch beside it."""

    version: str | None = None
    """From its metadata; ``None``: not installed."""
    requires_torch: list[str] = []
    """Its own pins on torch, such as ``torch==2.6.0``; empty when unknown (conda, source builds)."""
    torch_version: str | None = None
    """The torch it was examined with."""
    library: str | None = None
    """Its compiled extension; ``None``: there is none in the package."""
    operators_load: bool | None = None
    """Whether that library loads into torch and brings the ``nms`` operator; ``None``: not tried."""
    operators_error: str | None = None
    """What the loader said."""
    interrupted: str | None = None
    """How the asking process ended when loading it did not finish."""

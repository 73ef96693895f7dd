"""Read what is in a checkpoint without running anything that is in it."""

from gpudoctor.checkpoint.formats.reader import read
from gpudoctor.checkpoint.tree import Call, Checkpoint, Global, Tensor, Unreadable

__all__ = ["Call", "Checkpoint", "Global", "Tensor", "Unreadable", "read"]

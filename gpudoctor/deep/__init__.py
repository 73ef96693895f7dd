"""Measure what has to use the GPUs, the network and the disk; never unasked (``check --deep``).

Each measurement is a process of its own with a deadline. One that fails is a fact, and never the end of the others.
"""

from gpudoctor.deep.series import GROUND, measure

__all__ = ["GROUND", "measure"]

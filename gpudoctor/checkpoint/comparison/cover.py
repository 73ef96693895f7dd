"""Find the prefixes under which a state dict has every key of another, and which of several copies is the model's."""

import re
from collections.abc import Sequence

MOST = 64
"""Prefixes that are tried."""
MODELS = frozenset("model state_dict model_state_dict net network module student online encoder_q".split())
"""What the model itself is called where a checkpoint has several of one shape."""
COPY = re.compile(
    r"(?:^|[^a-z])(?:ema|teacher|target|swa|avg|average[ds]?|averaged_model|momentum|shadow|encoder_k|old|prev|best|"
    r"copy|init|initial|first_stage|frozen|reference|ref)(?:[^a-z]|$)"
)
"""What is mostly an average, a copy, or another stage of it."""


def covering(own: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return the prefixes, the empty one too, with which each name of `other` is one of `own`; exact and complete."""
    if not other or len(own) < len(other):
        return []
    ours = set(own)
    probe = max(other, key=len)
    ends = [name[: -len(probe)] for name in own if name.endswith(probe)]
    begins = [text for text in dict.fromkeys(ends) if not text or text.endswith(".")][:MOST]
    return [text for text in begins if all(text + name in ours for name in other)]


def standing(name: str) -> int:
    """Return how likely an entry or a prefix is the model itself: 0 by its name, 2 a copy such as EMA, 1 the rest."""
    text = name.rstrip(".").lower()
    if COPY.search(text):
        return 2
    return 0 if not text or text.rpartition(".")[2] in MODELS or text.partition(".")[0] in MODELS else 1

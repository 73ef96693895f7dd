"""Tell by their names which parts of two models mean the same: a word that both have, or one of the same meaning."""

import re
from collections import Counter
from collections.abc import Sequence

FAMILIES: tuple[dict[str, str], ...] = (
    {"query": "q query wq", "key": "k key wk", "value": "v value wv", "output": "o out output wo"},
    {"image": "image img vision visual pixel", "text": "text language lang txt"},
    {"encoder": "encoder enc", "decoder": "decoder dec"},
    {"student": "student", "teacher": "teacher"},
    {"online": "online", "target": "target"},
    {"generator": "generator gen", "discriminator": "discriminator disc"},
    {"actor": "actor policy pi", "critic": "critic qf vf"},
    {"left": "left", "right": "right"},
    {"source": "source src", "destination": "destination dst tgt"},
    {"forward": "forward fwd", "backward": "backward bwd reverse"},
    {"gate": "gate", "up": "up", "down": "down"},
    {"mean": "mean mu", "variance": "variance var std logvar sigma"},
    {"row": "row", "column": "column col"},
    {"low": "low local", "high": "high global"},
    {"weight": "weight gamma scale kernel", "bias": "bias beta shift", "buffer": "running tracked"},
)
"""Roles of which a part has one, and the words for each; two parts with other roles of one family are not the same."""
SAME = (
    "head classifier fc logits score cls", "attn attention", "emb embed embedding embeddings", "norm ln layernorm",
    "mlp ffn feedforward", "backbone trunk", "layer layers block blocks stage stages", "tok token wte", "pos position",
)  # fmt: skip
"""Words of one meaning each."""
TOKEN = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
MEANING = {word: family for words in SAME for word in words.split() for family in [words.split()[0]]} | {
    word: role for family in FAMILIES for role, words in family.items() for word in words.split()
}
FAMILY = {role: number for number, family in enumerate(FAMILIES) for role in family}


def meanings(name: str) -> set[str]:
    """Return what the words of a name mean, without regard to case and digits: ``to_q`` is to, query."""
    return {MEANING.get(word, word) for word in map(str.lower, TOKEN.findall(name))}


def contradict(first: str, second: str) -> bool:
    """Tell whether two names say that the parts are not the same: one a query, the other a key."""
    ours, theirs = _roles(first), _roles(second)
    return any(not (roles & theirs[family]) for family, roles in ours.items() if family in theirs)


def pair_by_name(first: Sequence[str], second: Sequence[str]) -> list[tuple[str, str]]:
    """Return which of the first is which of the second, for those whose names leave no other choice.

    A word tells parts apart if one part alone of each side has it.
    """
    ours, theirs = _told_by(first), _told_by(second)
    pairs = dict.fromkeys((ours[word], theirs[word]) for word in ours if word in theirs)
    found = [(a, b) for a, b in pairs if not contradict(a, b)]
    once = [Counter(pair[side] for pair in found) for side in (0, 1)]
    return [(a, b) for a, b in found if once[0][a] == once[1][b] == 1]


def _told_by(names: Sequence[str]) -> dict[str, str]:
    """Return, for the words that one of the names alone has, that name."""
    words = [(word, name) for name in names for word in meanings(name)]
    counts = Counter(word for word, _ in words)
    return {word: name for word, name in words if counts[word] == 1}


def _roles(name: str) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for meaning in meanings(name):
        if meaning in FAMILY:
            found.setdefault(FAMILY[meaning], set()).add(meaning)
    return found

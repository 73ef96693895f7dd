"""Find what wrappers put into the names of a state dict: in front of all keys, of some, or in the middle."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby

from gpudoctor.facts import Prefix

WRAPPERS = {
    "module": "DataParallel or DistributedDataParallel",
    "_orig_mod": "torch.compile",
    "_forward_module": "Lightning Fabric",
    "_fsdp_wrapped_module": "FSDP",
    "_checkpoint_wrapped_module": "activation checkpointing",
}
"""Attributes in which wrappers keep the model, and the wrappers."""
AVERAGED, AVERAGE = "n_averaged", "AveragedModel (an average of weights: SWA or EMA)"
"""The one key of torch.optim.swa_utils.AveragedModel that is not the model's, and what it is called."""
LEADING = re.compile(rf"(?:(?:{'|'.join(WRAPPERS)})\.)+")
INSIDE = re.compile(r"\.(_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)(?=\.)")
ATTRIBUTES = ("model.", "net.")
"""What a LightningModule's attribute is mostly called, and many a model's own."""
SOME_CLASS = "a LightningModule or another class that keeps the model in an attribute"
BELOW_MODEL = frozenset(
    "layers layer encoder decoder embed_tokens embeddings shared norm final_layer_norm".split()
)
"""Names that stand below a model's own ``model.``, as in transformers."""


def prefixes(names: Sequence[str], *, lightning: bool = False) -> tuple[Prefix, ...]:
    """Return the prefixes of wrappers that keys bear, the longest first; one inside of names as ``*._orig_mod.``.

    ``model.`` and ``net.`` count where all keys bear them and nothing says that they are the model's own names;
    `lightning` tells that Lightning wrote the file. Where an average of weights keeps ``n_averaged`` beside the model,
    that is not counted among the keys.
    """
    if averaged := is_average(names):
        names = [name for name in names if name != AVERAGED]
    who = _around_average if averaged else wrapper
    total = len(names)
    front = [match[0] if (match := LEADING.match(name)) else "" for name in names]
    counts = Counter(front)
    found = [Prefix(text=t, keys=n, total=total, wrapper=who(t)) for t, n in counts.items() if t]
    rest = [name[len(text) :] for name, text in zip(names, front, strict=True)]
    found += _attribute(rest, "" if len(counts) > 1 else front[0], who, lightning) if names else []
    found.sort(key=lambda prefix: -len(prefix.text))
    inside: Counter[str] = Counter()
    for name in rest:
        # Most keys have none: one look at the text before the pattern.
        if "._" in name:
            inside.update({match[1] for match in INSIDE.finditer(name)})
    for mark, keys in inside.items():
        who_inside = f"{WRAPPERS[mark]} of a part of the model"
        found.append(Prefix(text=f"*.{mark}.", keys=keys, total=total, wrapper=who_inside))
    return tuple(found)


def is_average(names: Sequence[str]) -> bool:
    """Return whether names are those of an AveragedModel, which keeps the model in ``module`` and counts beside it."""
    held = [name for name in names if name != AVERAGED]
    return 0 < len(held) < len(names) and all(name.startswith("module.") for name in held)


def _around_average(text: str) -> str:
    inner = text.removeprefix("module.")
    return AVERAGE + (f" around {wrapper(inner)}" if inner else "")


def wrapper(text: str) -> str:
    """Say who puts a prefix there, the outermost first: ``module._orig_mod.``."""
    said = []
    for name, same in groupby(text.strip(".").split(".")):
        times = len(list(same))
        said.append(WRAPPERS.get(name, name) + (f", {times} times" if times > 1 else ""))
    return " around ".join(said)


def _attribute(
    names: Sequence[str], before: str, outermost: Callable[[str], str], lightning: bool
) -> list[Prefix]:
    """Return ``model.`` or ``net.`` where it may be a wrapper's."""
    text = next((text for text in ATTRIBUTES if names[0].startswith(text)), None)
    if text is None or len(names) < 2 or not all(name.startswith(text) for name in names):
        return []
    second = {name.split(".", 2)[1] for name in names}
    own = (
        any(part.isdigit() for part in second)
        or not second.isdisjoint(BELOW_MODEL)
        or not all(name.count(".") > 1 for name in names)
    )
    if own and not lightning:
        return []
    inmost = "Lightning" if lightning else SOME_CLASS
    outer = f"{outermost(before)} around " if before else ""
    return [Prefix(text=before + text, keys=len(names), total=len(names), wrapper=outer + inmost)]

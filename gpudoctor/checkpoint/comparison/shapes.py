"""Tensors of the same name and another shape, and what usually causes that."""

import math
import re
from collections.abc import Mapping

from gpudoctor.facts.checkpoint_file import Key
from gpudoctor.facts.comparison import ShapeDifference

POSITION = re.compile(r"pos_?(emb|enc)|position|(^|\.)wpe\.|absolute_pos|rel_pos", re.IGNORECASE)
WINDOW = re.compile(r"relative_position|rel_pos|attn_mask$")
EMBEDDING = re.compile(r"emb|(^|\.)wte\.|vocab|tok|lm_head|(^|\.)shared\.weight$", re.IGNORECASE)
HEAD = re.compile(
    r"(^|\.)(fc|head|heads|classifier|cls_score|score|logits?|linear|out|output|last_linear|classif\w*|lm_head)\d*\.",
    re.IGNORECASE,
)
PARTITIONED = "shape [0] is what ZeRO-3 leaves outside its gather: {}"
UNGATHERED = PARTITIONED.format("save with stage3_gather_16bit_weights_on_model_save, or run zero_to_fp32.py")

OBJECT = "object"
"""The layout that stands for an entry of a state dict which is no tensor."""

Shape = tuple[int, ...]


def loads(own: Key, other: Key) -> bool:
    """Return whether ``load_state_dict`` copies one into the other: same shape, or what it converts by itself."""
    if own.shape == other.shape or other.layout == "lazy" or OBJECT in (own.layout, other.layout):
        return True
    return not other.shape and len(own.shape) == 1 and own.shape[0] > 0  # a scalar as torch 0.3 saved it


def shape_differences(own: Mapping[str, Key], other: Mapping[str, Key]) -> tuple[ShapeDifference, ...]:
    """Return the tensors that both have with shapes that do not load, in the target's order, each with its reason."""
    pairs = [(name, own[name], key) for name, key in other.items() if name in own]
    differing = {name: (a.shape, b.shape) for name, a, b in pairs if not loads(a, b)}
    if not differing:
        return ()
    weights = [name for name, key in other.items() if len(key.shape) >= 2]
    first = next((name for name in other if 3 <= len(other[name].shape) <= 5), "")
    last = next((name for name in reversed(weights) if len(other[name].shape) == 2), "")
    vocabularies = {
        (a[0], b[0])
        for name, (a, b) in differing.items()
        if len(a) == len(b) == 2 and EMBEDDING.search(name) and not POSITION.search(name)
    }
    return tuple(
        ShapeDifference(
            name=name, own=a, other=b, reason=_reason(name, a, b, vocabularies, first=first, last=last)
        )
        for name, (a, b) in differing.items()
    )


def _reason(
    name: str, a: Shape, b: Shape, vocabularies: set[tuple[int, int]], *, first: str, last: str
) -> str:
    if a == (0,):
        return UNGATHERED
    if b == (0,):
        return PARTITIONED.format("the target is partitioned; load inside deepspeed.zero.GatheredParameters")
    if WINDOW.search(name):
        return "another window or image size: this table must be interpolated, or left out"
    if POSITION.search(name):
        return (
            "another image size, patch size or longest sequence: interpolate it, or build the model as it was"
        )
    if len(a) == len(b):
        return _same_rank(name, a, b, vocabularies, first=first, last=last)
    if math.prod(a) == math.prod(b):
        return "the same number of elements in another form: reshape it"
    return ""


def _same_rank(
    name: str, a: Shape, b: Shape, vocabularies: set[tuple[int, int]], *, first: str, last: str
) -> str:
    changed = [place for place in range(len(a)) if a[place] != b[place]]
    if len(a) == 2 and a == b[::-1]:
        return "transposed: Conv1D as in GPT-2, or a file from TensorFlow, against Linear"
    if changed == [0] and len(a) <= 2:
        if (a[0], b[0]) in vocabularies:
            return f"vocabulary size: {a[0]} in the file, {b[0]} in the target"
        if HEAD.search(name) or name.rpartition(".")[0] == last.rpartition(".")[0]:
            return f"number of classes: {a[0]} in the file, {b[0]} in the target"
    mine, theirs = (" x ".join(str(shape[place]) for place in changed) for shape in (a, b))
    if changed == [1] and len(a) == 2:
        return (
            f"input features: {mine} in the file, {theirs} in the target; "
            "another image size or another width of the layer before"
        )
    if changed == [1] and name == first:
        return f"input channels: {mine} in the file, {theirs} in the target"
    what = "another width"
    if min(changed) >= 2:
        what = "kernel or patch size" if name == first else "kernel size"
    return f"{what}: {mine} in the file, {theirs} in the target"

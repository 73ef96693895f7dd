"""Keys that a known change of a library renamed, added or dropped."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpudoctor.checkpoint.comparison.renaming import Step
from gpudoctor.checkpoint.comparison.words import meanings
from gpudoctor.facts.checkpoint_file import Key


class Renamed(NamedTuple):
    """A change of names: `old` and `new` are regular expressions, `into` and `back` what they are replaced by.

    `words` stand in every name that `old` and that `new` is in, one each: a look for them is quick.
    """

    words: tuple[str, str]
    old: str
    into: str
    new: str
    back: str
    note: str


WEIGHT_NORM = (
    "torch.nn.utils.parametrizations names weight_norm's weight_g and weight_v original0 and original1"
)
RENAMED = (
    Renamed(
        ("LayerNorm.gamma", "LayerNorm.weight"),
        r"\bLayerNorm\.gamma$", "LayerNorm.weight", r"\bLayerNorm\.weight$", "LayerNorm.gamma",
        "LayerNorm.gamma and .beta are the names of BERT's TensorFlow code; in torch they are .weight and .bias",
    ),
    Renamed(
        ("LayerNorm.beta", "LayerNorm.bias"),
        r"\bLayerNorm\.beta$", "LayerNorm.bias", r"\bLayerNorm\.bias$", "LayerNorm.beta",
        "LayerNorm.gamma and .beta are the names of BERT's TensorFlow code; in torch they are .weight and .bias",
    ),
    Renamed(
        ("denselayer", "denselayer"),
        r"(denselayer\d+\.(?:norm|conv))\.([12]\.)", r"\1\2", r"(denselayer\d+\.(?:norm|conv))([12]\.)", r"\1.\2",
        "torchvision's first DenseNet files say norm.1 and conv.1 where its model says norm1 and conv1",
    ),
    Renamed(
        (".mlp.linear_1.", ".mlp.0."),
        r"\.mlp\.linear_1\.", ".mlp.0.", r"\.mlp\.0\.", ".mlp.linear_1.",
        "torchvision's first vision transformers say mlp.linear_1 and mlp.linear_2, later ones mlp.0 and mlp.3",
    ),
    Renamed(
        (".mlp.linear_2.", ".mlp.3."),
        r"\.mlp\.linear_2\.", ".mlp.3.", r"\.mlp\.3\.", ".mlp.linear_2.",
        "torchvision's first vision transformers say mlp.linear_1 and mlp.linear_2, later ones mlp.0 and mlp.3",
    ),
    Renamed(
        ("_blocks.", "_blocks."),
        r"((?:inner|layer)_blocks\.\d+)\.(weight|bias)$", r"\1.0.\2",
        r"((?:inner|layer)_blocks\.\d+)\.0\.(weight|bias)$", r"\1.\2",
        "torchvision's feature pyramid says inner_blocks.0.0 where its first version said inner_blocks.0",
    ),
    Renamed(
        ("weight_g", "original0"),
        r"(^|\.)weight_g$", r"\1parametrizations.weight.original0",
        r"(^|\.)parametrizations\.weight\.original0$", r"\1weight_g",
        WEIGHT_NORM,
    ),
    Renamed(
        ("weight_v", "original1"),
        r"(^|\.)weight_v$", r"\1parametrizations.weight.original1",
        r"(^|\.)parametrizations\.weight\.original1$", r"\1weight_v",
        WEIGHT_NORM,
    ),
    Renamed(
        (".lora_", ".lora_"),
        r"\.(lora_[AB])\.weight$", r".\1.default.weight", r"\.(lora_[AB])\.default\.weight$", r".\1.weight",
        "PEFT saves adapters without their name: lora_A.weight in the file, lora_A.default.weight in the model",
    ),
)  # fmt: skip
BASE_LAYER = "PEFT keeps the weights of a layer that has a LoRA adapter under base_layer"


class Extra(NamedTuple):
    """Keys that one side may have and the other lack without harm, or that tell what the file is."""

    words: tuple[str, ...]
    """One of them stands in every such key: a look for them is quick."""
    end: str
    """A regular expression of the key's end."""
    note: str
    harmless: bool
    """Whether the model computes the same without them, or fills them in by itself."""
    ranks: tuple[int, ...] = ()
    """How many dimensions such a tensor has, where its name alone does not tell."""


FUSED = re.compile(
    r"(?:^|\.)(in_proj_weight|in_proj|qkv|qkv_proj|to_qkv|c_attn|query_key_value|W_?qkv)(?:\.|$)"
)
"""What attention calls a tensor that holds query, key and value."""
ROLES = {"query", "key", "value"}
ADAPTER = re.compile(r"(?:^|\.)lora_\w+(?:\.|$)")
COUNTER = "num_batches_tracked"
EXTRA = (
    Extra(
        ("position_ids",), r"embeddings\.position_ids",
        "transformers 4.31 stopped saving embeddings.position_ids", True,
    ),
    Extra(
        ("inv_freq",), r"rotary_emb\.inv_freq",
        "newer transformers compute rotary_emb.inv_freq and do not save it", True,
    ),
    Extra(
        ("attn.bias", "attn.masked_bias"), r"h\.\d+\.(?:attn|crossattention)\.(?:bias|masked_bias)",
        "transformers stopped saving GPT-2's causal masks attn.bias and attn.masked_bias", True, (0, 4),
    ),
    Extra((COUNTER,), COUNTER, "BatchNorm counts num_batches_tracked since torch 0.4.1; older files lack it", True),
    Extra(
        ("total_ops", "total_params"), r"total_(ops|params)",
        "thop's counters total_ops and total_params were saved with the model", True,
    ),
    Extra(
        ("n_averaged",), r"n_averaged",
        "n_averaged counts the averages of torch.optim.swa_utils.AveragedModel", True,
    ),
    Extra(
        ("lora_",), r"lora_(A|B|embedding_A|embedding_B)(\.\w+)*",
        "these are LoRA adapters: PEFT loads them, or merges them", False,
    ),
    Extra(
        ("lora_",), r"lora_(down|up)(\.\w+)*",
        "these are LoRA adapters as diffusers and Kohya name them", False,
    ),
    Extra(
        ("absmax", "quant_", "SCB"), r"(absmax|quant_map|nested_absmax|nested_quant_map|quant_state\.\w+|SCB)",
        "bitsandbytes quantised these weights: load them into a model that is quantised likewise", False,
    ),
    Extra(
        ("qweight", "qzeros", "g_idx"), r"(qweight|qzeros|g_idx)",
        "GPTQ or AWQ quantised these weights: load them into a model that is quantised likewise", False,
    ),
    Extra(
        ("flat_param",), r"_?flat_param(_\d+)?",
        "FSDP saved its flat parameters: save with FULL_STATE_DICT to get the model's names", False,
    ),
    Extra(
        ("_mask",), r"(weight|bias)_mask",
        "torch.nn.utils.prune keeps weight_orig and weight_mask until prune.remove", False,
    ),
    Extra(
        ("weight_g", "original0"), r"(weight_g|parametrizations\.weight\.original0)",
        "weight_norm keeps a weight as two tensors, of which neither is the weight: build the model with it, or call "
        "remove_weight_norm (remove_parametrizations) before saving", False,
    ),
    Extra(
        ("weight_u", "._u"), r"(weight_u|parametrizations\.\w+\.0\._u)",
        "spectral_norm keeps a weight as weight_orig or original, which it divides by its norm: build the model with "
        "it, or call remove_spectral_norm (remove_parametrizations) before saving", False,
    ),
    Extra(
        ("activation_post_process", "fake_quant"), r"(activation_post_process\.\w+|fake_quant\w*(\.\w+)*)",
        "one side is prepared for quantisation", False,
    ),
)  # fmt: skip


def renames(own_only: Sequence[str], other_only: Sequence[str]) -> list[tuple[Step, str]]:
    """Return the steps that may turn keys of one side into those of the other, each with why; to be tried in order."""
    wanted = set(other_only)
    text = "\n".join(own_only)
    found = []
    for change in RENAMED:
        ways = ((change.old, change.into), (change.new, change.back))
        for word, (pattern, replacement) in zip(change.words, ways, strict=True):
            compiled = re.compile(pattern)
            if word in text and any(
                compiled.search(name) and compiled.sub(replacement, name) in wanted for name in own_only
            ):
                found.append((Step(pattern, replacement), change.note))
    return found + [(step, BASE_LAYER) for step in _base_layers(own_only, other_only)]


def _base_layers(own_only: Sequence[str], other_only: Sequence[str]) -> list[Step]:
    """Return the step that adds or takes away PEFT's base_layer, for those layers alone that have it."""
    wrapped = re.compile(r"(?:^|\.)([^.]+)\.base_layer\.(?:weight|bias)$")
    ours, theirs = ([name for name in side if ".base_layer." in name] for side in (own_only, other_only))
    if any(wrapped.search(name) for name in ours):
        return [Step(r"\.base_layer\.(weight|bias)$", r".\1")]
    layers = {match[1] for name in theirs if (match := wrapped.search(name))}
    if not layers:
        return []
    return [Step(rf"\.({'|'.join(map(re.escape, sorted(layers)))})\.(weight|bias)$", r".\1.base_layer.\2")]


def fused(own_only: Sequence[str], other_only: Sequence[str]) -> str:
    """Say that one side keeps query, key and value in one tensor and the other in three; empty where it is not so."""
    sides = (
        ("the file", own_only, "the target", other_only),
        ("the target", other_only, "the file", own_only),
    )
    for side, names, another, others in sides:
        one = next((match for name in names if (match := FUSED.search(name))), None)
        if one is None:
            continue
        if {role for name in others for role in (meanings(name) & ROLES)} == ROLES:
            how = "split it (torch.split)" if side == "the file" else "join the three (torch.cat)"
            return (
                f"{one[1]} in {side} is query, key and value in one tensor, and {another} keeps them apart: no "
                f"renaming will do, {how}"
            )
    return ""


def adapters(names: Sequence[str]) -> list[str]:
    """Return the keys that are weights of LoRA adapters and their like."""
    return [name for name in names if ADAPTER.search(name)] if any("lora_" in name for name in names) else []


def extras(
    names: Sequence[str], own: Mapping[str, Key], other: Mapping[str, Key]
) -> tuple[dict[str, list[str]], list[str], list[str]]:
    """Sort keys that one side alone has: harmless ones by the pattern of their end, the rest, and what is known.

    `own` is that side, and `other` the one that lacks them: a counter of BatchNorm's is missing there only where the
    layer is not.
    """
    harmless: dict[str, list[str]] = {}
    notes: list[str] = []
    rest = list(names)
    text = "\n".join(names)
    for extra in EXTRA:
        if not any(word in text for word in extra.words):
            continue
        compiled = re.compile(rf"(^|\.){extra.end}$")
        hit = [name for name in rest if compiled.search(name)]
        if extra.end == COUNTER:
            hit = [name for name in hit if name[: -len(COUNTER)] + "running_mean" in other]
        if extra.ranks:
            hit = [name for name in hit if len(own[name].shape) in extra.ranks]
        if hit:
            notes.append(extra.note)
            if extra.harmless:
                harmless[extra.end] = hit
                gone = set(hit)
                rest = [name for name in rest if name not in gone]
    return harmless, rest, notes

"""Keys that a known change of a library renamed, added or dropped."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from gpudoctor.checkpoint.comparison.alignment import COUNTER, Alignment
from gpudoctor.checkpoint.comparison.renames import Step, folded
from gpudoctor.facts.checkpoint_file import Key

BASE_LAYER = "PEFT keeps the weights of a layer that has a LoRA adapter under base_layer"
GAMMA = (
    "LayerNorm.gamma and .beta are the names of BERT's TensorFlow code; in torch they are .weight and .bias"
)
DENSENET = "torchvision's first DenseNet files say norm.1 and conv.1 where its model says norm1 and conv1"
TRANSFORMER = (
    "torchvision's first vision transformers say mlp.linear_1 and mlp.linear_2, later ones mlp.0 and mlp.3"
)
PYRAMID = "torchvision's feature pyramid says inner_blocks.0.0 where its first version said inner_blocks.0"
WEIGHT_NORM = (
    "torch.nn.utils.parametrizations names weight_norm's weight_g and weight_v original0 and original1"
)
ADAPTER_NAME = (
    "PEFT saves adapters without their name: lora_A.weight in the file, lora_A.default.weight in the model"
)
ATTENTION = "diffusers 0.18 renamed attention's query, key, value and proj_attn to_q, to_k, to_v and to_out.0"
RENAMED = (
    (r"\bLayerNorm\.gamma$", "LayerNorm.weight", GAMMA),
    (r"\bLayerNorm\.beta$", "LayerNorm.bias", GAMMA),
    (r"\bLayerNorm\.weight$", "LayerNorm.gamma", GAMMA),
    (r"\bLayerNorm\.bias$", "LayerNorm.beta", GAMMA),
    (r"(denselayer\d+\.(?:norm|conv))\.([12]\.)", r"\1\2", DENSENET),
    (r"(denselayer\d+\.(?:norm|conv))([12]\.)", r"\1.\2", DENSENET),
    (r"\.mlp\.linear_1\.", ".mlp.0.", TRANSFORMER),
    (r"\.mlp\.linear_2\.", ".mlp.3.", TRANSFORMER),
    (r"\.mlp\.0\.", ".mlp.linear_1.", TRANSFORMER),
    (r"\.mlp\.3\.", ".mlp.linear_2.", TRANSFORMER),
    (r"((?:inner|layer)_blocks\.\d+)\.(weight|bias)$", r"\1.0.\2", PYRAMID),
    (r"((?:inner|layer)_blocks\.\d+)\.0\.(weight|bias)$", r"\1.\2", PYRAMID),
    (r"(^|\.)weight_g$", r"\1parametrizations.weight.original0", WEIGHT_NORM),
    (r"(^|\.)weight_v$", r"\1parametrizations.weight.original1", WEIGHT_NORM),
    (r"(^|\.)parametrizations\.weight\.original0$", r"\1weight_g", WEIGHT_NORM),
    (r"(^|\.)parametrizations\.weight\.original1$", r"\1weight_v", WEIGHT_NORM),
    (r"\.(lora_[AB])\.weight$", r".\1.default.weight", ADAPTER_NAME),
    (r"\.(lora_[AB])\.default\.weight$", r".\1.weight", ADAPTER_NAME),
    (r"(attentions?(?:\.\d+)?)\.query\.", r"\1.to_q.", ATTENTION),
    (r"(attentions?(?:\.\d+)?)\.key\.", r"\1.to_k.", ATTENTION),
    (r"(attentions?(?:\.\d+)?)\.value\.", r"\1.to_v.", ATTENTION),
    (r"(attentions?(?:\.\d+)?)\.proj_attn\.", r"\1.to_out.0.", ATTENTION),
)
"""A regular expression for names, what it is replaced by, and why."""


FUSED = re.compile(
    r"(?:^|\.)(in_proj_weight|in_proj|qkv|qkv_proj|to_qkv|c_attn|query_key_value|W_?qkv)(?:\.|$)"
)
"""What attention calls a tensor that holds query, key and value."""
ROLE = re.compile(r"(?:^|[._])w?(q|k|v|query|key|value)(?=[._]|$)", re.IGNORECASE)
ADAPTER = re.compile(r"(?:^|\.)lora_\w+(?:\.|$)")
CAUSAL_MASKS = r"h\.\d+\.(?:attn|crossattention)\.(?:bias|masked_bias)"
MASK_RANKS = (0, 4)
"""Dimensions of a causal mask; the name alone is that of any bias."""
HARMLESS = {
    r"embeddings\.position_ids": "transformers 4.31 stopped saving embeddings.position_ids",
    r"rotary_emb\.inv_freq": "newer transformers compute rotary_emb.inv_freq and do not save it",
    CAUSAL_MASKS: "transformers stopped saving GPT-2's causal masks attn.bias and attn.masked_bias",
    COUNTER: "BatchNorm counts num_batches_tracked since torch 0.4.1; older files lack it",
    r"total_(ops|params)": "thop's counters total_ops and total_params were saved with the model",
    r"n_averaged": "n_averaged counts the averages of torch.optim.swa_utils.AveragedModel",
}
"""Keys without which the model computes the same, or that it fills in by itself: ends of their names, and why."""
TELLING = {
    r"lora_(A|B|embedding_A|embedding_B)(\.\w+)*": "these are LoRA adapters: PEFT loads them, or merges them",
    r"lora_(down|up)(\.\w+)*": "these are LoRA adapters as diffusers and Kohya name them",
    r"(absmax|quant_map|nested_absmax|nested_quant_map|quant_state\.\w+|SCB)": (
        "bitsandbytes quantised these weights: load them into a model that is quantised likewise"
    ),
    r"(qweight|qzeros|g_idx)": (
        "GPTQ or AWQ quantised these weights: load them into a model that is quantised likewise"
    ),
    r"_?flat_param(_\d+)?": "FSDP saved its flat parameters: save with FULL_STATE_DICT to get the model's names",
    r"(weight|bias)_mask": "torch.nn.utils.prune keeps weight_orig and weight_mask until prune.remove",
    r"(weight_g|parametrizations\.weight\.original0)": (
        "weight_norm keeps a weight as two tensors, of which neither is the weight: build the model with it, or call "
        "remove_weight_norm (remove_parametrizations) before saving"
    ),
    r"(weight_u|parametrizations\.\w+\.0\._u)": (
        "spectral_norm keeps a weight as weight_orig or original, which it divides by its norm: build the model with "
        "it, or call remove_spectral_norm (remove_parametrizations) before saving"
    ),
    r"(activation_post_process\.\w+|fake_quant\w*(\.\w+)*)": "one side is prepared for quantisation",
}
"""Keys that tell what the file or the model is: ends of their names, and what."""


def follow(alignment: Alignment) -> Alignment:
    """Return the alignment with the names that libraries changed."""
    own_only, other_only = alignment.alone()
    if not own_only or not other_only:
        return alignment
    wanted = set(other_only)
    examples = dict(zip(folded(own_only), own_only, strict=True)).values()
    for pattern, new, note in RENAMED:
        change = re.compile(pattern)
        if any(change.search(name) and change.sub(new, name) in wanted for name in examples):
            after = alignment.renamed(Step(pattern, new))
            if after is not alignment:
                alignment = replace(after, drift=(*after.drift, note))
    return alignment


def fused(own_only: Sequence[str], other_only: Sequence[str]) -> str:
    """Say that one side keeps query, key and value in one tensor and the other in three; empty where it is not so."""
    sides = (
        ("the file", own_only, "the target", other_only),
        ("the target", other_only, "the file", own_only),
    )
    for side, names, another, others in sides:
        one = next((match for name in names if (match := FUSED.search(name))), None)
        roles = {role[0].lower() for name in others for role in ROLE.findall(name)} if one else set()
        if one and roles == {"q", "k", "v"}:
            how = "split it (torch.split)" if side == "the file" else "join the three (torch.cat)"
            return (
                f"{one[1]} in {side} is query, key and value in one tensor, and {another} keeps them apart: no "
                f"renaming will do, {how}"
            )
    return ""


def adapters(names: Sequence[str]) -> list[str]:
    """Return the keys that are weights of LoRA adapters and their like."""
    return [name for name in names if "lora_" in name and ADAPTER.search(name)]


def extras(
    names: Sequence[str], own: Mapping[str, Key], other: Mapping[str, Key]
) -> tuple[list[str], list[str], list[str]]:
    """Sort keys that one side alone has: those that do no harm, the rest, and what is known of them.

    `own` is that side, and `other` the one that lacks them: a counter of BatchNorm's is missing there only where the
    layer is not.
    """
    kinds: dict[str, list[str]] = defaultdict(list)
    for kind, name in zip(folded(names), names, strict=True):
        kinds[kind].append(name)
    harmless: set[str] = set()
    notes: list[str] = []
    for pattern, note in (HARMLESS | TELLING).items():
        end = re.compile(rf"(^|\.){pattern}$")
        hit = [name for members in kinds.values() if end.search(members[0]) for name in members]
        if pattern == COUNTER:
            hit = [name for name in hit if name[: -len(COUNTER)] + "running_mean" in other]
        if pattern == CAUSAL_MASKS:
            hit = [name for name in hit if len(own[name].shape) in MASK_RANKS]
        if hit:
            notes.append(note)
            harmless.update(hit if pattern in HARMLESS else ())
    return [n for n in names if n in harmless], [n for n in names if n not in harmless], notes

"""Parts under another name: told where the names inside are the same, and never by shapes or order alone."""

import pytest

from gpudoctor.checkpoint.comparison.key_comparison import compare_keys
from gpudoctor.facts import Key, Outcome, StateDict


def keys(*names, shape=(8, 8)):
    """Make a weight, and a bias, of each linear layer; a tuple is a name with its own shape."""
    found = []
    for name in names:
        name, size = name if isinstance(name, tuple) else (name, shape)
        for part, whole in (("weight", size), ("bias", size[:1])):
            found.append(Key(name=f"{name}.{part}", dtype="float32", shape=whole, size=64, device="cpu"))
    return tuple(found)


def against(own, other):
    return compare_keys(StateDict(entry="", keys=own), StateDict(entry="", keys=other)).comparison


def moved(found, own):
    """Return what each module becomes by the renames that are offered."""
    import re

    result = {}
    for key in own:
        name = key.name
        for old, new in found.renames:
            name = re.sub(old, new, name)
        result[key.name.rpartition(".")[0]] = name.rpartition(".")[0]
    return result


@pytest.mark.parametrize(
    "own,other",
    [
        (["encoder", "decoder"], ["student", "teacher"]),
        (["a", "b"], ["c", "d"]),
        (["student", "teacher"], ["model"]),
        (["encoder_q.fc", "encoder_k.fc"], ["encoder.fc"]),
        (["encoder_q.fc", "encoder_k.fc"], ["one.fc", "two.fc"]),
        (["first"], ["one", "two"]),
        (["attn.out_proj"], ["attn.x_proj", "attn.y_proj", "attn.z_proj"]),
        # a single layer, and a sequence: nothing inside tells what they are
        (["classifier"], ["qa_outputs"]),
        (["to_q"], ["key"]),
        (["actor.0", "actor.2"], ["policy.0", "policy.2"]),
        (["0", "2"], ["0", "3"]),
    ],
)
def test_parts_of_one_shape_are_not_renamed(own, other):
    rest = keys(("stem", (3, 8)))
    found = against((*rest, *keys(*own)), (*rest, *keys(*other)))
    assert found.outcome is Outcome.ARCHITECTURE
    assert not found.likely
    assert not found.renames
    assert not found.fix_line
    assert "re.sub(" not in found.load_line
    assert "strict=False" in found.load_line
    assert "known" not in found.sentence


@pytest.mark.parametrize(
    "own,other,renamed",
    [
        (["encoder.conv", "encoder.norm"], ["net.conv", "net.norm"], {"encoder": "net"}),
        (["model.encoder.conv"], ["model.net.conv"], {"model.encoder": "model.net"}),
        (
            ["vision.patch", "words.token"],
            ["image.patch", "text.token"],
            {"vision": "image", "words": "text"},
        ),
    ],
)
def test_a_part_with_the_same_names_inside_is_renamed(own, other, renamed):
    rest = keys(("stem", (3, 8)))
    file = (*keys(*own), *rest)
    found = against(file, (*rest, *keys(*other)))
    assert moved(found, file) == dict(zip(own, other, strict=True)) | {"stem": "stem"}
    assert found.likely == tuple(f"{a} in the file is {b} in the target" for a, b in renamed.items())
    assert all(f"{a} is {b}" in found.sentence for a, b in renamed.items())
    assert found.fix_line.count("--rename") == len(renamed)
    assert not found.drift


def test_a_part_of_other_shapes_is_another_part():
    found = against(keys("stem", "encoder.conv"), keys("stem", ("net.conv", (9, 8))))
    assert not found.renames


def test_the_attention_of_diffusers_old_and_new():
    old = {"query": "to_q", "key": "to_k", "value": "to_v", "proj_attn": "to_out.0"}
    own = keys(*(f"mid.attentions.{n}.{part}" for n in range(3) for part in old))
    other = keys(*(f"mid.attentions.{n}.{part}" for n in range(3) for part in reversed(old.values())))
    found = against(own, other)
    assert found.outcome is Outcome.ARCHITECTURE
    assert moved(found, own)["mid.attentions.2.query"] == "mid.attentions.2.to_q"
    assert moved(found, own)["mid.attentions.2.proj_attn"] == "mid.attentions.2.to_out.0"
    assert any("diffusers" in text for text in found.drift)
    assert "strict=False" not in found.load_line


@pytest.mark.parametrize(
    "own,other",
    [
        (["fc.weight_g", "fc.weight_v"], ["fc.weight"]),
        (["fc.weight_orig", "fc.weight_mask"], ["fc.weight"]),
        (["fc.weight"], ["fc.weight_orig", "fc.weight_u", "fc.weight_v"]),
        (["fc.weight_v"], ["fc.weight"]),
        (["norm.bias"], ["norm.weight"]),
    ],
)
def test_a_tensor_of_which_the_weight_is_made_is_not_the_weight(own, other):
    def tensors(names):
        return tuple(
            Key(name=n, dtype="float32", shape=(4, 4), size=64, device="cpu") for n in ("stem", *names)
        )

    found = against(tensors(own), tensors(other))
    assert not found.renames
    assert not found.likely
    assert not found.fix_line


@pytest.mark.parametrize(
    "own,other,words",
    [
        (["attn.in_proj"], ["attn.q_proj", "attn.k_proj", "attn.v_proj"], "in_proj in the file is query, key"),
        (["attn.q", "attn.k", "attn.v"], ["attn.qkv"], "qkv in the target is query, key and value in one"),
        (["h.0.attn.c_attn"], ["h.0.attn.to_q", "h.0.attn.to_k", "h.0.attn.to_v"], "c_attn in the file"),
        (["a.qkv"], ["a.self.query", "a.self.key", "a.self.value"], "qkv in the file"),
        (["a.qkv"], ["a.wq", "a.wk", "a.wv"], "qkv in the file"),
    ],
)  # fmt: skip
def test_fused_attention_is_named_and_no_line_made(own, other, words):
    sizes = {True: (24, 8), False: (8, 8)}
    found = against(
        keys(*((n, sizes[len(own) == 1]) for n in own)), keys(*((n, sizes[len(other) == 1]) for n in other))
    )
    assert words in found.sentence
    assert not found.load_line
    assert not found.renames

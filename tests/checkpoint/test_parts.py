"""Parts under another name: told where the names or the shapes leave one choice, and else no more than a guess."""

import pytest

from gpudoctor.checkpoint.comparison.draft import compare
from gpudoctor.checkpoint.comparison.words import contradict, meanings, pair_by_name
from gpudoctor.facts import Key, StateDict


def keys(*names, shape=(8, 8)):
    """Make a weight, and a bias, of each linear layer; a tuple is a name with its own shape."""
    found = []
    for name in names:
        name, size = name if isinstance(name, tuple) else (name, shape)
        for part, whole in (("weight", size), ("bias", size[:1])):
            found.append(Key(name=f"{name}.{part}", dtype="float32", shape=whole, size=64, device="cpu"))
    return tuple(found)


def against(own, other):
    return compare(StateDict(entry="", keys=own), other)


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
        (["encoder_q", "encoder_k"], ["encoder"]),
        (["first"], ["one", "two"]),
        (["attn.out_proj"], ["attn.x_proj", "attn.y_proj", "attn.z_proj"]),
    ],
)
def test_parts_of_one_shape_and_names_that_say_nothing_are_a_guess(own, other):
    rest = keys(("head", (3, 8)))
    found = against((*rest, *keys(*own)), (*rest, *keys(*other)))
    assert found.outcome == "architecture"
    assert found.guesses
    assert not found.likely
    assert not found.renames
    assert not found.fix_line
    assert "re.sub(" not in found.load_line
    assert "zip(" not in found.load_line
    assert "known" not in found.sentence


@pytest.mark.parametrize(
    "own,other",
    [
        ({"to_q": "query", "to_k": "key", "to_v": "value"}, ["key", "query", "value"]),
        ({"image_encoder": "vision_model", "text_encoder": "text_model"}, ["text_model", "vision_model"]),
        (
            {"key": "to_k", "proj_attn": "to_out.0", "query": "to_q", "value": "to_v"},
            ["to_q", "to_k", "to_v", "to_out.0"],
        ),
        ({"q_proj": "wq", "k_proj": "wk", "v_proj": "wv", "o_proj": "wo"}, ["wv", "wk", "wq", "wo"]),
        ({"backbone": "trunk"}, ["trunk"]),
        ({"classifier": "my_own"}, ["my_own"]),
    ],
)
def test_parts_are_told_by_their_names_whatever_the_order(own, other):
    rest = keys(("stem", (3, 8)))
    file = (*keys(*own), *rest)
    found = against(file, (*rest, *keys(*other)))
    assert moved(found, file) == own | {"stem": "stem"}
    assert "re.sub(" in found.load_line
    assert found.likely
    assert not found.drift


def test_the_same_parts_of_every_layer_are_renamed_at_once():
    own = keys(*(f"layer.{n}.{part}" for n in range(12) for part in ("query", "key", "value")))
    other = keys(*(f"layer.{n}.{part}" for n in range(12) for part in ("to_v", "to_k", "to_q")))
    found = against(own, other)
    assert len(found.renames) == 3
    assert moved(found, own)["layer.7.query"] == "layer.7.to_q"


@pytest.mark.parametrize(
    "own,other",
    [
        ({"0": "0", "2": "3"}, ["0", "3"]),
        ({"0": "0", "2": "3", "4": "6", "6": "9"}, ["0", "3", "6", "9"]),
        ({"0": "0", "3": "2", "6": "4", "9": "6"}, ["0", "2", "4", "6"]),
        ({"net.1": "net.0", "net.3": "net.1"}, ["net.0", "net.1"]),
    ],
)
def test_numbers_keep_their_order_also_where_some_are_on_both_sides(own, other):
    found = against(keys(*own), keys(*other))
    assert moved(found, keys(*own)) == own
    assert "re.sub(" in found.load_line


def test_shapes_that_fit_one_place_alone_are_told_as_no_more_than_that():
    found = against(keys("stem", ("fc", (10, 8))), keys("stem", ("output", (10, 8))))
    assert moved(found, keys(("fc", (10, 8)))) == {"fc": "output"}
    assert "by its shapes alone" in found.likely[0]
    assert "known" not in found.sentence


def test_a_query_is_no_key_even_where_the_shapes_leave_nothing_else():
    found = against(keys("stem", "to_q"), keys("stem", "key"))
    assert not found.renames


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
        (["h.0.attn.c_attn"], ["h.0.attn.q", "h.0.attn.k", "h.0.attn.v"], "c_attn in the file"),
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


def test_words_and_what_they_mean():
    assert meanings("to_q") == {"to", "query"}
    assert "attn" in meanings("selfAttention")
    assert contradict("to_q", "key_proj")
    assert not contradict("to_q", "q_proj")
    assert not contradict("encoder", "student")
    assert pair_by_name(["q_lin", "k_lin"], ["k_proj", "q_proj"]) == [
        ("q_lin", "q_proj"),
        ("k_lin", "k_proj"),
    ]
    assert pair_by_name(["a", "b"], ["c"]) == []

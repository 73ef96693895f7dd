"""Two lists of keys: does one load into the other, and if not, why, and which line of Python makes it load."""

# ruff: noqa: E501

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpudoctor.checkpoint.comparison.key_comparison import NAMELESS, compare_keys
from gpudoctor.checkpoint.comparison.key_groups import globs
from gpudoctor.checkpoint.comparison.renames import Step, add, drop_component, folded, strip
from gpudoctor.checkpoint.comparison.snippets import entry_keys, loosened
from gpudoctor.checkpoint.repair.rename import Rename, steps
from gpudoctor.facts import CheckpointFile, Entry, Key, Outcome, StateDict
from tests.processor_time import within

RESNET = [
    "conv1.weight",
    "bn1.weight",
    "bn1.bias",
    "layer1.0.conv1.weight",
    "layer1.1.conv1.weight",
    "fc.weight",
]


def key(name, shape=(4, 4), dtype="float32", layout="strided"):
    return Key(name=name, dtype=dtype, shape=tuple(shape), size=64, device="cpu", layout=layout)


def state(names, entry=""):
    keys = [key(*name) if isinstance(name, tuple) else key(name) for name in names]
    return StateDict(entry=entry, keys=tuple(keys))


def compare(own, keys, file=NAMELESS):
    return compare_keys(own, StateDict(entry="", keys=tuple(keys)), file).comparison


def against(own, other, entry="", file=NAMELESS):
    return compare(state(own, entry), state(other).keys, file)


component = st.text("abcdefgh_xyz0123456789", min_size=1, max_size=6)
names = st.lists(
    st.lists(component, min_size=1, max_size=4).map(".".join), min_size=1, max_size=30, unique=True
)
prefix = st.lists(component, min_size=1, max_size=3).map(lambda parts: "".join(part + "." for part in parts))


def renamed(found, own):
    """The names that the outcome promises: its own prefixes or expressions, applied."""
    import re

    result = [found.add + name.removeprefix(found.strip) for name in own]
    for old, new in found.renames:
        result = [re.sub(old, new, name) for name in own]
        own = result
    return result


def loaded_names(found, own, target):
    """The names that the printed lines give to ``load_state_dict`` of a model with these."""
    import types

    given = []
    model = types.SimpleNamespace(
        state_dict=lambda: dict.fromkeys(target),
        load_state_dict=lambda state, strict=True: given.extend(state),
    )
    torch = types.SimpleNamespace(load=lambda *a, **k: dict.fromkeys(own))
    exec(found.load_line, {"model": model, "torch": torch})
    return given


@given(names)
def test_a_state_dict_loads_into_itself(own):
    found = against(own, own)
    assert (found.outcome, found.strip, found.add, found.shapes, found.groups) == (
        Outcome.LOADS,
        "",
        "",
        (),
        (),
    )
    assert found.matched == len(own)
    assert not found.fix_line


@given(names, prefix)
def test_a_prefix_on_all_names_is_always_found(own, text):
    wrapped = [text + name for name in own]
    assume(set(wrapped) != set(own))
    found = against(wrapped, own)
    assert found.outcome == Outcome.PREFIX
    assert sorted(renamed(found, wrapped)) == sorted(own)
    back = against(own, wrapped)
    assert back.outcome == Outcome.PREFIX
    assert sorted(renamed(back, own)) == sorted(wrapped)


@given(names, prefix, prefix)
def test_one_prefix_in_the_place_of_another_is_found(own, first, second):
    a, b = [first + name for name in own], [second + name for name in own]
    found = against(a, b)
    assert found.outcome == (Outcome.LOADS if first == second else Outcome.PREFIX)
    assert sorted(renamed(found, a)) == sorted(b)


@given(names, names)
def test_no_two_lists_break_it_and_what_it_says_is_true(own, other):
    found = against(own, other)
    assert found.keys == len(own)
    assert found.target_keys == len(other)
    if found.outcome in (Outcome.LOADS, Outcome.PREFIX):
        assert set(other) <= set(renamed(found, own))
        assert len(own) == len(other) + found.left_out
    if found.outcome is Outcome.LOADS:
        assert found.load_line.count("\n") == 1


parts = st.sampled_from(
    ["a", "b", "0", "1", "module", "_orig_mod", "submodule", "base_layer", "LayerNorm", "gamma"]
)
wrapped_names = st.lists(
    st.lists(parts, min_size=1, max_size=5).map(".".join), min_size=1, max_size=8, unique=True
)


@given(wrapped_names, wrapped_names)
def test_the_lines_give_the_names_that_are_promised(own, other):
    found = against(own, other)
    if not found.load_line:
        return
    given = loaded_names(found, own, other)
    assert len(set(given) & set(other)) >= found.matched
    if found.outcome in (Outcome.LOADS, Outcome.PREFIX):
        assert sorted(given) == sorted(other)


@pytest.mark.parametrize(
    "wrapper", ["module.", "module.module.", "_orig_mod.", "_orig_mod.module.", "model.", "net."]
)
def test_the_wrappers_of_training(wrapper):
    own = [wrapper + name for name in RESNET]
    found = against(own, RESNET)
    assert (found.outcome, found.strip, found.add) == (Outcome.PREFIX, wrapper, "")
    assert found.load_line == (
        "state = torch.load('checkpoint.pt', map_location='cpu', weights_only=True)\n"
        f"state = {{k.removeprefix({wrapper!r}): v for k, v in state.items()}}\n"
        "model.load_state_dict(state)"
    )
    assert found.fix_line == (
        f"gpudoctor checkpoint fix checkpoint.pt -o checkpoint-fixed.pt --strip-prefix {wrapper}"
    )
    back = against(RESNET, own)
    assert (back.strip, back.add) == ("", wrapper)
    assert f"--add-prefix {wrapper}" in back.fix_line


def test_a_prefix_on_some_names_only():
    own = ["module." + name if number % 3 else name for number, name in enumerate(RESNET)]
    found = against(own, RESNET)
    assert (found.outcome, found.strip) == (Outcome.PREFIX, "module.")
    found = against(RESNET, own)
    assert found.outcome == Outcome.PREFIX
    # No one prefix does it: the model itself tells where its wrapper stands.
    assert "names = {k.replace('module.', ''): k for k in model.state_dict()}" in found.load_line
    assert not found.fix_line
    assert not found.renames
    mixed = ["module." + name for name in RESNET[1:]] + RESNET[:1]
    found = against(mixed, ["module." + name for name in RESNET])
    assert (found.outcome, found.strip, found.add) == (Outcome.PREFIX, "module.", "module.")


def test_a_wrapper_inside_of_names_goes_and_comes():
    compiled = [name.replace("layer1.", "layer1._orig_mod.") for name in RESNET]
    found = against(compiled, RESNET)
    assert found.outcome == Outcome.PREFIX
    assert ".replace('_orig_mod.', '')" in found.load_line
    assert found.renames
    assert renamed(found, compiled) == RESNET
    back = against(RESNET, compiled)
    assert back.outcome == Outcome.PREFIX
    assert loaded_names(back, RESNET, compiled) == compiled
    assert not back.fix_line
    fsdp = [
        "_fsdp_wrapped_module." + n.replace("layer1.0.", "layer1.0._fsdp_wrapped_module.") for n in RESNET
    ]
    found = against(fsdp, RESNET)
    assert (found.outcome, renamed(found, fsdp)) == (Outcome.PREFIX, RESNET)


def test_module_that_is_the_models_own_name_stays():
    own = ["submodule.module.weight", "submodule.bias"]
    found = against(["module." + name for name in own], own)
    assert (found.outcome, found.strip) == (Outcome.PREFIX, "module.")
    # Taking the text module. out everywhere would break submodule.
    found = against(["a.module.submodule.w", "b.w"], ["a.submodule.w", "b.w"])
    assert found.outcome == Outcome.PREFIX
    assert "re.sub(" in found.load_line
    assert renamed(found, ["a.module.submodule.w", "b.w"]) == ["a.submodule.w", "b.w"]


@pytest.mark.parametrize(
    "name,own,other,words",
    [
        ("fc.weight", (1000, 512), (5, 512), "number of classes: 1000 in the file, 5 in the target"),
        ("fc.bias", (1000,), (5,), "number of classes"),
        ("embed_tokens.weight", (32000, 64), (32016, 64), "vocabulary size: 32000 in the file, 32016"),
        ("pos_embed", (1, 197, 64), (1, 577, 64), "image size"),
        ("encoder.embeddings.position_embeddings.weight", (512, 64), (1024, 64), "longest sequence"),
        ("attn.relative_position_bias_table", (169, 4), (529, 4), "window"),
        ("stem.weight", (64, 3, 7, 7), (64, 1, 7, 7), "input channels: 3 in the file, 1 in the target"),
        ("stem.weight", (64, 3, 7, 7), (64, 3, 3, 3), "kernel or patch size: 7 x 7 in the file, 3 x 3"),
        ("stem.weight", (0,), (64, 3, 7, 7), "ZeRO-3"),
        ("fc.weight", (1000, 512), (0,), "ZeRO-3"),
        ("h.weight", (64, 256), (256, 64), "transposed"),
        ("h.weight", (64, 256), (64, 1024), "input features: 256 in the file, 1024 in the target"),
        ("h.weight", (64, 256), (128, 512), "another width"),
        ("h.weight", (64, 256), (64 * 256,), "another form"),
    ],
)  # fmt: skip
def test_a_shape_has_its_usual_reason(name, own, other, words):
    rest = [("first.bias", (7,)), ("norm.weight", (7,))]
    found = against([*rest, (name, own)], [*rest, (name, other)])
    assert found.outcome == Outcome.SHAPE
    (difference,) = found.shapes
    assert (difference.name, difference.own, difference.other) == (name, own, other)
    assert words in difference.reason
    assert "if k in own and v.shape == own[k].shape" in found.load_line
    assert "strict=False" in found.load_line


def test_an_output_layer_as_large_as_the_vocabulary_is_no_class_count():
    own = [("wte.weight", (100, 8)), ("lm_head.weight", (100, 8)), ("lm_head.bias", (100,))]
    found = against(own, [("wte.weight", (120, 8)), ("lm_head.weight", (120, 8)), ("lm_head.bias", (120,))])
    assert [d.reason.split(":")[0] for d in found.shapes] == ["vocabulary size"] * 3
    assert not found.load_line  # nothing would be left to load


def test_shapes_are_told_beside_a_prefix_and_many_of_them_by_a_condition():
    own = [(f"module.{n}.weight", (4, 4)) for n in range(9)] + [("module.end.bias", (2,))]
    found = against(own, [(f"{n}.weight", (8, 4)) for n in range(9)] + [("end.bias", (2,))])
    assert (found.outcome, found.strip, len(found.shapes)) == (Outcome.SHAPE, "module.", 9)
    assert "v.shape == own[k].shape" in found.load_line
    assert "--strip-prefix module." in found.fix_line


def test_what_load_state_dict_converts_by_itself_loads():
    assert against([("scale", (1,))], [("scale", ())]).outcome == Outcome.LOADS
    assert against([("scale", ())], [("scale", (1,))]).outcome == Outcome.SHAPE
    half = compare(StateDict(entry="", keys=(key("w", dtype="float16"),)), [key("w")])
    assert half.outcome == Outcome.LOADS
    assert any("float16 in the file, float32 in the target" in note for note in half.notes)
    lazy = key("w", (), "", layout="lazy")
    assert compare(state(["w"]), [lazy]).outcome == Outcome.LOADS


def test_a_deeper_model_is_grouped_by_stem_with_counts():
    def layers(count):
        return ["embed.weight"] + [
            f"enc.layer.{n}.{p}.weight" for n in range(count) for p in ("q", "k", "out")
        ]

    found = against(layers(12), layers(24))
    assert found.outcome == Outcome.ARCHITECTURE
    assert {(g.stem, g.own, g.other) for g in found.groups} == {
        ("enc.layer.*.q", 0, 12), ("enc.layer.*.k", 0, 12), ("enc.layer.*.out", 0, 12),
    }  # fmt: skip
    assert "another depth: enc.layer counts 12 in the file, 24 in the target" in found.notes
    assert any("load 37 of the target's 73 tensors" in note for note in found.notes)
    assert "strict=False" in found.load_line
    assert not found.fix_line


def test_a_part_with_another_name_is_found_by_its_contents():
    own = [("backbone.conv.weight", (4, 3)), ("backbone.conv.bias", (4,)), ("fc.weight", (2, 4))]
    other = [("encoder.conv.weight", (4, 3)), ("encoder.conv.bias", (4,)), ("fc.weight", (2, 4))]
    found = against(own, other)
    assert found.outcome == Outcome.ARCHITECTURE
    assert any("backbone in the file is encoder in the target" in text for text in found.likely)
    assert not found.drift  # it is no known change of a library
    assert "known" not in found.sentence
    assert "--rename" in found.fix_line
    assert renamed(found, [name for name, _ in own]) == [name for name, _ in other]


def test_the_nearest_key_is_told():
    found = against(
        [("a.w", (2,)), ("classifier.weight", (10, 8))], [("a.w", (2,)), ("class_head.weight", (10, 9))]
    )
    by_stem = {group.stem: group for group in found.groups}
    assert by_stem["classifier"].nearest == "class_head.weight"
    assert not by_stem["classifier"].same_shape


@pytest.mark.parametrize(
    "own,other,words,line",
    [
        (["bert.embeddings.position_ids", "bert.w"], ["bert.w"], "transformers 4.31", "if k in own}"),
        (["bert.w"], ["bert.embeddings.position_ids", "bert.w"], "transformers 4.31", "strict=False"),
        (["a.LayerNorm.gamma", "a.LayerNorm.beta", "w"], ["a.LayerNorm.weight", "a.LayerNorm.bias", "w"], "TensorFlow", "re.sub("),
        (["x.lora_A.weight", "x.lora_B.weight"], ["x.lora_A.default.weight", "x.lora_B.default.weight"], "PEFT", "re.sub("),
        (["m.q.weight", "m.n.weight"], ["m.q.base_layer.weight", "m.n.weight", "m.q.lora_A.default.weight"], "LoRA", "strict=False"),
        (["d.denselayer1.norm.1.weight", "w"], ["d.denselayer1.norm1.weight", "w"], "DenseNet", "re.sub("),
        (["e.mlp.linear_1.weight", "e.mlp.linear_2.weight"], ["e.mlp.0.weight", "e.mlp.3.weight"], "vision transformers", "re.sub("),
        (["c.weight_g", "c.weight_v"], ["c.parametrizations.weight.original0", "c.parametrizations.weight.original1"], "weight_norm", "re.sub("),
        (["w", "total_ops", "a.total_params"], ["w"], "thop", "if k in own}"),
    ],
)  # fmt: skip
def test_known_drift(own, other, words, line):
    found = against(own, other)
    assert found.outcome == Outcome.ARCHITECTURE
    assert any(words in text for text in found.drift), found.drift
    assert line in found.load_line


def test_an_averaged_model_has_a_counter_beside_the_prefix():
    found = against(["n_averaged", "module.w", "module.b"], ["w", "b"])
    assert (found.outcome, found.strip, found.left_out) == (Outcome.PREFIX, "module.", 1)
    assert any("AveragedModel" in text for text in found.drift)
    assert loaded_names(found, ["n_averaged", "module.w", "module.b"], ["w", "b"]) == ["w", "b"]
    assert "--drop n_averaged --strip-prefix module." in found.fix_line


def test_counters_of_batchnorm_are_filled_in_for_files_without_versions():
    own, other = (
        ["bn.weight", "bn.running_mean"],
        ["bn.weight", "bn.running_mean", "bn.num_batches_tracked"],
    )
    found = against(own, other)
    assert found.outcome == Outcome.LOADS
    assert "torch fills in 1 counter of BatchNorm" in found.sentence
    assert "strict" not in found.load_line
    new = msgspec.structs.replace(state(own), versions={"": 1, "bn": 2})
    found = compare(new, state(other).keys)
    assert found.outcome == Outcome.ARCHITECTURE
    assert "strict=False" in found.load_line
    prefixed = msgspec.structs.replace(state(["module." + n for n in own]), versions={"": 1, "module.bn": 2})
    found = compare(prefixed, state(other).keys)  # the line makes a dict without versions
    assert found.outcome == Outcome.PREFIX
    assert "strict" not in found.load_line


def test_a_head_is_called_tied_only_where_the_target_says_so():
    own = ["tok_emb.weight"]
    found = against(own, [*own, "lm_head.weight"])
    assert any("if the model ties lm_head.weight" in note for note in found.notes)
    assert "is the same parameter" not in found.sentence
    tied = [
        msgspec.structs.replace(key(name), storage="one parameter 3") for name in [*own, "lm_head.weight"]
    ]
    found = compare(state(own), tied)
    assert "lm_head.weight, which is the same parameter as tok_emb.weight" in found.sentence
    assert "strict=False" in found.load_line
    found = compare(state(["model." + name for name in own]), tied)
    assert found.outcome == Outcome.PREFIX
    assert "loaded with strict=False, for it lacks lm_head.weight" in " ".join(found.notes)


def test_a_missing_batchnorm_layer_is_no_drift():
    found = against(["a.weight"], ["a.weight", "bn.running_mean", "bn.num_batches_tracked"])
    assert not found.drift


def test_the_same_shapes_in_order_are_no_reason_to_load_by_order():
    own = [("0.weight", (4, 3)), ("0.bias", (4,)), ("2.weight", (2, 4)), ("2.bias", (2,))]
    other = [("first.weight", (4, 3)), ("first.bias", (4,)), ("last.weight", (2, 4)), ("last.bias", (2,))]
    found = against(own, other)
    assert found.outcome == Outcome.ARCHITECTURE
    assert not found.load_line
    assert not found.renames


def test_nothing_in_common():
    found = against(["a.weight"], [("b.c.d.kernel", (9,))])
    assert (found.outcome, found.matched, found.load_line, found.fix_line) == (
        Outcome.ARCHITECTURE,
        0,
        "",
        "",
    )
    assert against([], []).outcome == Outcome.LOADS
    assert against([], ["a"]).outcome == Outcome.ARCHITECTURE


def test_an_entry_is_taken_out_of_the_whole():
    entries = (Entry(path="epoch", kind="number"), Entry(path="model", kind="state dict"))
    file = CheckpointFile(path="it's here.pt", kind="torch zip", entries=entries)
    found = against(RESNET, RESNET, "model", file)
    assert found.outcome == Outcome.LOADS
    assert """torch.load("it's here.pt", map_location='cpu', weights_only=True)['model']""" in found.load_line
    assert found.fix_line.endswith("--select model")
    assert any("whole checkpoint" in note for note in found.notes)


@pytest.mark.parametrize(
    "entry,known,keys",
    [
        ("", [], []), ("a", [], ["a"]), ("a.b", ["a", "a.b"], ["a", "b"]), ("a.b", ["a.b"], ["a.b"]),
        ("0", ["0", "1"], [0]), ("models.1", ["models", "models.0", "models.1"], ["models", 1]),
    ],
)  # fmt: skip
def test_the_keys_to_an_entry(entry, known, keys):
    file = CheckpointFile(
        path="x", kind="torch zip", entries=tuple(Entry(path=p, kind="dict") for p in known)
    )
    assert entry_keys(entry, file) == keys


@pytest.mark.parametrize(
    "kind,words", [("safetensors", "load_file('f')"), ("torchscript", "torch.jit.load('f'")]
)
def test_each_kind_of_file_is_loaded_in_its_own_way(kind, words):
    assert words in against(["a"], ["a"], file=CheckpointFile(path="f", kind=kind)).load_line


@given(st.lists(st.text("ab.0\n", max_size=6), max_size=8))
def test_names_are_folded_and_stripped_at_once_as_one_by_one(rows):
    assert folded(rows) == [folded([row])[0] for row in rows]
    assert drop_component("a").apply(rows) == [drop_component("a").apply([row])[0] for row in rows]


@pytest.mark.parametrize(
    "step,rows",
    [
        (drop_component("_orig_mod"), ["_orig_mod.a._orig_mod.w", "x"]),
        (Step(r"^back\.", "enc."), ["back.a", "b.back.a"]),
        (add("m."), ["a", "b.c"]),
        (strip("m."), ["m.a", "b"]),
    ],
)
def test_checkpoint_fix_does_with_the_rename_what_was_promised(step, rows):
    (done,) = steps((), (), (Rename(step.pattern, step.new),))
    assert [done.change(row) for row in rows] == step.apply(rows)


def test_a_target_that_is_wrapped_in_many_places_is_still_told():
    own = [f"{c}.w" for c in "abcdef"]
    found = against(own, [f"{c}._orig_mod.w" for c in "abcdef"])
    assert found.outcome == Outcome.PREFIX
    assert loaded_names(found, own, [f"{c}._orig_mod.w" for c in "abcdef"]) == [
        f"{c}._orig_mod.w" for c in "abcdef"
    ]
    assert not found.fix_line


def test_twenty_thousand_keys_take_a_moment():
    rows = [
        f"model.layers.{n}.block.{m}.attn.{p}.weight"
        for n in range(20)
        for m in range(100)
        for p in "abcdefghij"
    ]
    own = state(["module." + row for row in rows])
    target = state(rows).keys
    other = [
        key(row.replace(".attn.", f".{'abc'[n % 3]}.").replace("weight", "w")) for n, row in enumerate(rows)
    ]
    with within(3):
        assert compare(own, target).outcome == Outcome.PREFIX
        half = compare(own, [key("x." + row) for row in rows[:10_000]])
        assert (half.outcome, half.left_out) == (Outcome.PREFIX, 10_000)
        assert compare(own, other).outcome == Outcome.ARCHITECTURE


@pytest.mark.parametrize("end", ["", ".weight"])
def test_twenty_thousand_parts_that_cannot_be_told_apart_take_a_moment(end):
    own = state([f"a{n}{end}" for n in range(20_000)])
    with within(2):
        found = compare(own, [key(f"b{n}{end}") for n in range(20_000)])
    assert found.outcome == Outcome.ARCHITECTURE
    assert not found.load_line


def test_lines_are_loosened_where_they_call_load_state_dict():
    assert loosened("state = x\nmodel.load_state_dict(state)") == (
        "state = x\nmodel.load_state_dict(state, strict=False)"
    )
    assert loosened("dcp.load(state, checkpoint_id='folder')") == ""
    assert loosened("") == ""


@pytest.mark.parametrize(
    "gone,kept,words",
    [
        (["neck.0.w", "neck.1.w", "fc.w"], ["body.w"], ["neck.*", "fc.w"]),
        (["a.fc.w"], ["a.w"], ["a.fc.w"]),
        ([f"l.{n}.q.lora_A.w" for n in range(9)], [f"l.{n}.q.w" for n in range(9)], ["*.lora_A.*"]),
        ([f"h.{n}.attn.bias" for n in range(9)], [f"h.{n}.mlp.bias" for n in range(9)], ["*.attn.*"]),
        ([f"h.{n}.a.bias" for n in range(9)], [f"h.{n}.a.w" for n in range(9)], ["*.bias"]),
        ([], ["a"], []),
    ],
)  # fmt: skip
def test_names_in_few_words(gone, kept, words):
    assert globs(gone, kept) == words


@given(names, st.data())
def test_globs_mean_what_is_left_out_and_nothing_else(all_names, data):
    from fnmatch import fnmatchcase

    gone = [name for name in all_names if data.draw(st.booleans())]
    kept = [name for name in all_names if name not in gone]
    found = globs(gone, kept)
    assert {name for name in all_names if any(fnmatchcase(name, glob) for glob in found)} == set(gone)

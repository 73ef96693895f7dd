"""What is changed in the tree: names, versions, entries; and what is refused."""

import re

import pytest

from gpudoctor.checkpoint import Unreadable
from gpudoctor.checkpoint.pickle.torch_tensors import Rebuilder
from gpudoctor.checkpoint.repair.edit import Changes, Dropped, mend, state_dicts
from gpudoctor.checkpoint.repair.rename import Rename
from gpudoctor.checkpoint.tree import Call, Checkpoint, Global, Tensor


def tensor(size=1):
    return Tensor(dtype="float32", shape=(size,))


def state_dict(*names, versions=None):
    call = Call(Global("collections", "OrderedDict"), ())
    call.pairs = {name: tensor() for name in names}
    if versions is not None:
        held = Call(Global("collections", "OrderedDict"), ())
        held.pairs = {name: {"version": number} for name, number in versions.items()}
        call.state = {"_metadata": held}
    return call


def whole(root):
    return Checkpoint(path="a.pt", kind="torch zip", root=root)


def versions(node):
    return {name: value["version"] for name, value in node.state["_metadata"].pairs.items()}


def changed(root, **changes):
    checkpoint = whole(root)
    return (checkpoint, *mend(checkpoint, Changes(**changes)))


WRAPPED = ("module.0.weight", "module.0.bias", "module.2.weight")
WRAPPED_VERSIONS = {"": 9, "module": 1, "module.0": 2, "module.1": 3, "module.2": 4}


def test_a_prefix_is_taken_away_from_names_and_versions_in_their_order():
    root = state_dict(*WRAPPED, versions=WRAPPED_VERSIONS)
    values = list(root.pairs.values())
    _, renamed, _ = changed(root, strip=("module.",))
    assert list(root.pairs) == ["0.weight", "0.bias", "2.weight"]
    assert all(a is b for a, b in zip(root.pairs.values(), values, strict=True))
    assert list(versions(root).items()) == [("", 1), ("0", 2), ("1", 3), ("2", 4)]
    assert next((r.entry, r.old, r.new) for r in renamed) == ("", "module.0.weight", "0.weight")


def test_a_prefix_is_added_and_taken_away_again():
    root = state_dict("0.weight", "2.weight", versions={"": 1, "0": 2, "1": 3, "2": 4})
    changed(root, add=("module.",))
    assert list(root.pairs) == ["module.0.weight", "module.2.weight"]
    assert versions(root) == {"": 1, "module": 1, "module.0": 2, "module.1": 3, "module.2": 4}
    changed(root, strip=("module.",))
    assert list(versions(root).items()) == [("", 1), ("0", 2), ("1", 3), ("2", 4)]


def test_names_that_do_not_bear_the_prefix_stay():
    root = state_dict("module.a", "b")
    changed(root, strip=("module.",))
    assert list(root.pairs) == ["a", "b"]


def test_every_state_dict_is_renamed_and_an_optimizer_is_not():
    step = {"module.step": tensor()}
    root = {
        "model": {"module.a": tensor()},
        "ema": {"inner": state_dict("module.b")},
        "list": [{"module.c": tensor()}],
        "optimizer": {"state": {0: step, "module.x": dict(step)}, "param_groups": [{"params": [0]}]},
        "epoch": 3,
    }
    _, renamed, _ = changed(root, strip=("module.",))
    assert [(r.entry, r.new) for r in renamed] == [("model", "a"), ("ema.inner", "b"), ("list.0", "c")]
    assert list(step) == ["module.step"]


@pytest.mark.parametrize(
    "old, new, name, result",
    [
        ("backbone.*", "encoder.*", "backbone.a.weight", "encoder.a.weight"),
        ("*.gamma", "*.weight", "a.b.gamma", "a.b.weight"),
        ("a.*.b.*", "c.*.d.*", "a.1.b.2", "c.1.d.2"),
        ("layer?.w", "x.w", "layer7.w", "x.w"),
        ("layer[12].*", "x.*", "layer2.w", "x.w"),
        ("fc.weight", "head.weight", "fc.weight", "head.weight"),
        (r"^layer(\d+)\.", r"blocks.\1.", "layer12.w", "blocks.12.w"),
        (r"(?<![^.])_orig_mod\.", "", "a._orig_mod.b._orig_mod.c", "a.b.c"),
        (r"\.old$", ".new", "a.old.old", "a.old.new"),
        ("^", "module.", "a", "module.a"),
    ],
)
def test_globs_and_expressions(old, new, name, result):
    root = {name: tensor(), "other": tensor()}
    if old == "^":
        del root["other"]
    changed(root, renames=(Rename(old, new),))
    assert next(iter(root)) == result


def test_a_module_s_version_goes_where_its_parameters_go():
    root = state_dict("fc.weight", "fc.bias", "bn.weight", versions={"": 1, "fc": 2, "bn": 3, "bn.none": 4})
    changed(root, renames=(Rename("fc.*", "head.fc.*"), Rename("bn.*", "norm.*")))
    assert versions(root) == {"": 1, "head.fc": 2, "norm": 3, "norm.none": 4}
    changed(root, renames=(Rename("norm.weight", "norm.gamma"),))
    assert versions(root) == {"": 1, "head.fc": 2, "norm": 3, "norm.none": 4}


def test_a_glob_drops_all_that_it_means():
    root = {"model": state_dict("neck.a", "neck.b.c", "head"), "neck": 1, "x*": 2, "other": {"neck.a": 3}}
    checkpoint, _, dropped = changed(root, drop=("model.neck.*",))
    assert list(root["model"].pairs) == ["head"]
    assert dropped == [Dropped("model.neck.a", 1, 0), Dropped("model.neck.b.c", 1, 0)]
    changed(root, drop=("x*",))  # an entry of that very name
    assert list(checkpoint.root) == ["model", "neck", "other"]
    changed(root, drop=("*neck*",))
    assert root["other"] == {}
    root["me"] = root
    with pytest.raises(Unreadable, match="no entry is meant by --drop q"):
        changed(root, drop=("q*",))


def test_entries_are_dropped_and_selected():
    shared = tensor(4)
    root = {
        "model": {"a.b": shared, "c": tensor(2)},
        "ema": {"a.b": shared, "d": tensor(3)},
        "epoch": 3,
        7: {"x": 1},
    }
    _, _, dropped = changed(root, drop=("ema", "model.c", "7.x"))
    assert dropped == [Dropped("ema", 1, 0), Dropped("model.c", 1, 0), Dropped("7.x", 0, 0)]
    assert root == {"model": {"a.b": shared}, "epoch": 3, 7: {}}
    checkpoint, _, dropped = changed(root, select="model")
    assert checkpoint.root is root["model"]
    assert [d.entry for d in dropped] == ["epoch", "7"]
    checkpoint, _, _ = changed(root, select="model.a.b")
    assert checkpoint.root is shared


def test_an_ordered_dict_of_python_2_is_renamed_too():
    call = Rebuilder().make(Call(Global("collections", "OrderedDict"), ([["module.a", tensor()]],)))
    changed({"model": call}, strip=("module.",))
    assert list(call.pairs) == ["a"]
    assert call.arguments == ()


@pytest.mark.parametrize(
    "root, changes, message",
    [
        ({"a": tensor()}, {"strip": ("module.",)}, "no key begins with module.: the keys are a"),
        ({"module.a": tensor()}, {"strip": ("module.", "module.")}, "no key begins with module."),
        (
            {"module.a": tensor(), "a": tensor()},
            {"strip": ("module.",)},
            "module.a and a would both be called a",
        ),
        (
            {"m": {"x.a": tensor(), "a": tensor()}},
            {"strip": ("x.",)},
            "x.a and a in m would both be called a",
        ),
        ({"module.a": tensor()}, {"strip": ("module",)}, "ends before its dot: write module."),
        ({"a.": tensor()}, {"strip": ("a.",)}, "the key a. would have no name"),
        ({"a": 1}, {"strip": ("module.",)}, "no state dict in it"),
        ({"a": 1}, {"add": ("module.",)}, "no state dict in it"),
        ({"a": 1, "b": 2}, {"drop": ("c",)}, "no entry c: it has a, b"),
        ([1], {"select": "c"}, "no entry c: it is no dict"),
        ({"a": tensor()}, {"renames": (Rename("b*", "c*"),)}, "--rename b*=c* changes no key"),
        ({"a": tensor()}, {"renames": (Rename("b", "c*"),)}, "more * on the right than on the left"),
        ({"a": tensor()}, {"renames": (Rename("(", "c"),)}, "unterminated subpattern"),
        ({"a": tensor()}, {"renames": (Rename("^", r"\2"),)}, "invalid group reference"),
    ],
)
def test_what_would_be_for_nothing_or_lose_something_is_refused(root, changes, message):
    with pytest.raises(Unreadable, match=re.escape(message)) as caught:
        changed(root, **changes)
    assert "\n" not in str(caught.value)


def test_a_dict_that_contains_itself_ends():
    root = {"model": {"module.a": tensor()}}
    root["self"] = root
    assert [path for path, _, _ in state_dicts(root)] == ["model"]

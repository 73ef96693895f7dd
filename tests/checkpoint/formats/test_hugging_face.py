"""Sharded sets: real shards of both kinds, and indexes that lie."""

import contextlib
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.checkpoint import Unreadable, read
from gpudoctor.checkpoint.formats.hugging_face import read_index
from tests.late_import import late_import

torch = late_import("torch")
own = late_import("safetensors.torch")


def tensors():
    return {f"layers.{n}.weight": torch.full((2, 3 + n), n, dtype=torch.float32) for n in range(4)}


def index(folder, weight_map, name="model.safetensors.index.json", **metadata):
    (folder / name).write_text(json.dumps({"metadata": metadata, "weight_map": weight_map}))
    return folder / name


@pytest.fixture
def shards(tmp_path):
    """Two shards of two tensors each, and the weight map."""
    weight_map = {}
    for shard, keys in (("model-1-of-2.safetensors", range(2)), ("model-2-of-2.safetensors", range(2, 4))):
        part = {f"layers.{n}.weight": tensors()[f"layers.{n}.weight"] for n in keys}
        own.save_file(part, tmp_path / shard, {"format": "pt"})
        weight_map |= dict.fromkeys(part, shard)
    return tmp_path, weight_map


def test_shards_of_safetensors_are_one_dict(shards):
    folder, weight_map = shards
    path = index(folder, weight_map, total_size=sum(t.nbytes for t in tensors().values()))
    checkpoint = read(path)
    assert (checkpoint.kind, checkpoint.trouble, checkpoint.notes) == ("sharded", [], [])
    assert {k: (t.shape, t.dtype) for k, t in checkpoint.root.items()} == {
        k: (tuple(t.shape), "float32") for k, t in tensors().items()
    }
    assert list(checkpoint.root) == list(weight_map)
    assert checkpoint.size == sum(os.path.getsize(folder / name) for name in os.listdir(folder))
    assert checkpoint.root["layers.3.weight"].storage.key == "model-2-of-2.safetensors/layers.3.weight"
    assert read(folder).root == checkpoint.root


def test_shards_of_torch_save_keep_their_storages_apart(tmp_path):
    weight = torch.zeros(4, 5)
    torch.save({"a": weight, "tied": weight}, tmp_path / "pytorch_model-1.bin")
    torch.save({"b": torch.zeros(7)}, tmp_path / "pytorch_model-2.bin", _use_new_zipfile_serialization=False)
    path = index(
        tmp_path,
        {"a": "pytorch_model-1.bin", "b": "pytorch_model-2.bin", "tied": "pytorch_model-1.bin"},
        "pytorch_model.bin.index.json",
        total_size=4 * 20 + 4 * 7,
    )
    checkpoint = read(path)
    assert checkpoint.trouble == []
    keys = {name: tensor.storage.key for name, tensor in checkpoint.root.items()}
    assert keys["a"] == keys["tied"] != keys["b"]
    assert keys["a"].startswith("pytorch_model-1.bin/")


@pytest.mark.parametrize("total", [188, 108, 108.0])
def test_a_tied_tensor_counts_once_or_each_time(tmp_path, total):
    weight = torch.zeros(4, 5)
    torch.save({"a": weight, "tied": weight, "b": torch.zeros(7)}, tmp_path / "x.bin")
    weight_map = dict.fromkeys(("a", "tied", "b"), "x.bin")
    assert read(index(tmp_path, weight_map, total_size=total)).trouble == []


def test_a_total_that_disagrees(shards):
    folder, weight_map = shards
    (line,) = read(index(folder, weight_map, total_size=1000)).trouble
    assert line == "the index says that the tensors have 1000 bytes in total, and they have 144"


@pytest.mark.parametrize(
    "metadata", [{}, {"total_size": "144"}, {"total_size": True}, {"total_parameters": 1}]
)
def test_an_index_without_a_total_is_none_that_lies(shards, metadata):
    folder, weight_map = shards
    assert read(index(folder, weight_map, **metadata)).trouble == []


def test_a_shard_that_is_missing_cut_or_foreign_costs_only_its_own_keys(shards):
    folder, weight_map = shards
    (folder / "text").write_text("not a shard")
    (folder / "empty").write_bytes(b"")
    weight_map |= {"x": "none", "y": "text", "z": "empty", "self": "model.safetensors.index.json"}
    path = folder / "model-2-of-2.safetensors"
    path.write_bytes(path.read_bytes()[:-4])
    checkpoint = read(index(folder, weight_map, total_size=1))
    assert checkpoint.trouble == [
        "shard model-2-of-2.safetensors: the file is cut off: 4 bytes are missing, which 1 tensor would need",
        "shard none: missing (1 key: x)",
        "shard text: neither safetensors nor what torch.save writes (1 key: y)",
        "shard empty: empty (1 key: z)",
        "shard model.safetensors.index.json: neither safetensors nor what torch.save writes (1 key: self)",
    ]
    assert checkpoint.root.keys() == tensors().keys()


def test_keys_that_a_shard_does_not_have_and_keys_beyond_the_index(shards):
    folder, weight_map = shards
    del weight_map["layers.0.weight"]
    weight_map |= {f"gone.{n}": "model-1-of-2.safetensors" for n in range(5)}
    checkpoint = read(index(folder, weight_map))
    assert checkpoint.trouble == [
        "shard model-1-of-2.safetensors does not have 5 keys of the index: gone.0, gone.1, gone.2 and 2 more"
    ]
    assert checkpoint.notes == ["shard model-1-of-2.safetensors has 1 key beyond the index: layers.0.weight"]
    assert len(checkpoint.root) == 3


@pytest.mark.parametrize("name", ["../secret", "a/../../secret", "/etc/passwd", "", "..", "a\0b"])
def test_a_shard_outside_of_the_folder_is_not_opened(tmp_path, name):
    (tmp_path / "in").mkdir()
    own.save_file({"w": torch.zeros(2)}, tmp_path / "secret")
    checkpoint = read(index(tmp_path / "in", {"w": name}))
    assert checkpoint.root == {}
    (line,) = checkpoint.trouble
    assert "leads out of the folder, and it is not opened" in line
    assert line.isprintable()


def test_a_pipe_or_a_folder_is_no_shard(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    checkpoint = read(index(tmp_path, {"a": "pipe", "b": "folder", "c": "x" * 5000, "d": "/dev/zero"}))
    assert [line.split(": ")[1].split(" (")[0] for line in checkpoint.trouble] == [
        "not a file",
        "not a file",
        "File name too long",
        "its name leads out of the folder, and it is not opened",
    ]


def test_the_links_of_the_hugging_face_cache_are_followed(shards, tmp_path):
    folder, weight_map = shards
    (folder / "snapshots").mkdir()
    for name in set(weight_map.values()):
        (folder / "snapshots" / name).symlink_to(f"../{name}")
    assert read(index(folder / "snapshots", weight_map)).trouble == []


def test_what_a_shard_would_run_is_told(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.system, ("touch " + str(tmp_path / "ran"),)

    torch.save({"a": torch.zeros(2), "b": Evil()}, tmp_path / "x.bin")
    checkpoint = read(index(tmp_path, {"a": "x.bin"}))
    assert [(s.name, s.entry) for s in checkpoint.suspects if "system" in s.name] == [
        ("posix.system", "x.bin/x/data.pkl")
    ]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"metadata": {}}', '{"weight_map": []}', '{"weight_map": {"a": 1}}',
        '{"weight_map": {"a": null}}',
        '{"weight_map":' * 100_000, "\ud800".encode("utf-8", "surrogatepass"), '{"weight_map": {}, "metadata": 3}',
        '{"weight_map": {}, "metadata": ' + '{"a":' * 100_000 + "1" + "}" * 100_001,
    ],
)  # fmt: skip
def test_what_is_no_index_is_one_line(tmp_path, text):
    path = tmp_path / "a.index.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(Unreadable) as caught:
        read(path)
    assert "\n" not in str(caught.value)


def test_an_index_cut_at_every_byte(shards):
    folder, weight_map = shards
    path = index(folder, weight_map)
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(Unreadable):
            read(path)


names = st.sampled_from(["x.safetensors", "../x", "/x", "none", "", "."]) | st.text(max_size=6)


@given(
    weight_map=st.dictionaries(st.sampled_from(["a", "b"]) | st.text(max_size=4), names, max_size=5),
    metadata=st.none() | st.dictionaries(st.just("total_size"), st.integers() | st.floats() | st.text()),
)
def test_no_index_crashes_it(tmp_path_factory, weight_map, metadata):
    folder = tmp_path_factory.getbasetemp() / "indexes"
    folder.mkdir(exist_ok=True)
    own.save_file({"a": torch.zeros(2)}, folder / "x.safetensors")
    path = folder / "x.index.json"
    path.write_text(json.dumps({"weight_map": weight_map, "metadata": metadata}))
    checkpoint = None
    with contextlib.suppress(Unreadable):  # JSON's NaN is none
        checkpoint = read_index(str(path))
    if checkpoint is None:
        return
    good = {key for key, name in weight_map.items() if key == "a" and name == "x.safetensors"}
    assert checkpoint.root.keys() == good
    assert bool(checkpoint.trouble) or len(good) == len(weight_map)
    assert all("\n" not in line for line in checkpoint.trouble + checkpoint.notes)


def test_a_shard_with_many_spellings_is_read_once(shards):
    folder, weight_map = shards
    spelled = {
        key: "./" * n + "/".join(["."] * n + [name]) for n, (key, name) in enumerate(weight_map.items())
    }
    checkpoint = read(index(folder, spelled))
    assert (checkpoint.trouble, checkpoint.root.keys()) == ([], weight_map.keys())
    assert checkpoint.notes == []
    assert checkpoint.size == sum(os.path.getsize(folder / name) for name in os.listdir(folder))

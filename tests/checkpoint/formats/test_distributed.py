"""Folders of torch.distributed.checkpoint: real ones of one and two processes, and ones that lie."""

import contextlib
import os
import pickle
import shutil
import socket
import subprocess
import warnings
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.checkpoint import Unreadable, read
from gpudoctor.checkpoint.formats.distributed_metadata import parse
from tests.late_import import late_import
from tests.processor_time import within
from tests.warm_python import warm_python

torch = late_import("torch")
dcp = late_import("torch.distributed.checkpoint")

DATA = "__0_0.distcp"


def save(state, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without a process group it saves from this one process
        dcp.save(state, checkpoint_id=str(folder), no_dist=True)
    return folder


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A model, its optimizer, numbers, and what torch itself says is in the metadata."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(2, 3)).sum().backward()
    optimizer.step()
    state = {
        "model": model.state_dict(),
        "optim": optimizer.state_dict(),
        "epoch": 3,
        "half": torch.zeros(3, dtype=torch.float8_e4m3fn),
        "args": {"lr": 0.1, "names": ["a", "b"]},
    }
    return save(state, tmp_path_factory.mktemp("dcp") / "small")


@pytest.fixture
def copy(small, tmp_path):
    return shutil.copytree(small, tmp_path / "copy")


def changed(folder, change):
    """Let torch's own objects lie: load the metadata, change it, and write it again."""
    with open(folder / ".metadata", "rb") as file:
        metadata = pickle.load(file)
    change(metadata)
    (folder / ".metadata").write_bytes(pickle.dumps(metadata))
    return read(folder)


def test_keys_and_values_are_what_torch_saved(small):
    checkpoint = read(small)
    with open(small / ".metadata", "rb") as file:
        said = pickle.load(file).state_dict_metadata
    assert (checkpoint.kind, checkpoint.version) == ("distributed", "1.0.0")
    assert (checkpoint.trouble, checkpoint.suspects, checkpoint.notes) == ([], [], [])
    assert checkpoint.size == sum(os.path.getsize(small / name) for name in (DATA, ".metadata"))
    assert list(checkpoint.root) == list(said)
    for key, entry in said.items():
        if hasattr(entry, "size"):
            tensor = checkpoint.root[key]
            assert (tensor.shape, f"torch.{tensor.dtype}") == (tuple(entry.size), str(entry.properties.dtype))
            assert tensor.stride == entry.properties.strides
            assert (tensor.storage.key, tensor.device) == (key, "cpu")
    assert checkpoint.root["epoch"] == 3
    assert checkpoint.root["optim.param_groups.0.betas"] == (0.9, 0.999)
    assert [path for path, _ in checkpoint.tensors()] == [(k,) for k, e in said.items() if hasattr(e, "size")]


RANK = """
import os, sys, torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh
rank, port, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
mesh = init_device_mesh("cpu", (2,))
state = {"sharded": distribute_tensor(torch.arange(30.).reshape(5, 6), mesh, [Shard(0)]), "whole": torch.ones(4)}
dcp.save(state, checkpoint_id=folder)
dist.destroy_process_group()
os._exit(0)  # torch 2.15's gloo may abort while the interpreter ends
"""


@pytest.fixture(scope="module")
def sharded(tmp_path_factory):
    """A tensor of 5 rows that two processes wrote, three and two."""
    folder = tmp_path_factory.mktemp("dcp") / "sharded"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [warm_python(), "-W", "ignore", "-c", RANK]
    ranks = [subprocess.Popen([*command, str(rank), str(port), str(folder)]) for rank in range(2)]
    try:
        assert [rank.wait(timeout=120) for rank in ranks] == [0, 0]
    finally:
        for rank in ranks:
            rank.kill()
    return folder


def test_a_tensor_in_chunks_is_one_tensor(sharded, tmp_path):
    checkpoint = read(sharded)
    assert {key: tensor.shape for key, tensor in checkpoint.root.items()} == {
        "sharded": (5, 6),
        "whole": (4,),
    }
    assert checkpoint.trouble == []
    folder = shutil.copytree(sharded, tmp_path / "copy")
    (folder / "__1_0.distcp").unlink()
    (line,) = read(folder).trouble
    assert line.startswith("__1_0.distcp: missing (")
    assert "sharded" in line


def test_an_extensions_bytes_are_not_looked_into_and_that_is_said(copy):
    def compress(metadata):
        for index, info in metadata.storage_data.items():
            if index.fqn in ("epoch", "half"):
                info.transform_descriptors = ("zstd",)

    checkpoint = changed(copy, compress)
    assert checkpoint.trouble == []
    assert checkpoint.notes == ["1 value compressed or encrypted by an extension, and not looked into: epoch"]
    assert checkpoint.root["epoch"] is None


# What opening it would run


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def test_code_in_the_metadata_is_named_and_not_run(copy, tmp_path):
    def plant(metadata):
        metadata.planner_data = Evil(tmp_path / "ran")

    checkpoint = changed(copy, plant)
    assert [(s.name, s.entry) for s in checkpoint.suspects] == [("posix.system", ".metadata")]
    assert "epoch" in checkpoint.root
    assert not (tmp_path / "ran").exists()


def test_code_in_a_value_is_named_and_not_run(tmp_path):
    folder = save({"w": torch.ones(2), "loader": Evil(tmp_path / "ran")}, tmp_path / "evil")
    checkpoint = read(folder)
    (suspect,) = checkpoint.suspects
    assert suspect.name == "posix.system"
    assert suspect.entry.startswith(f"{DATA}/loader/")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "module, name",
    [
        ("torch.distributed.checkpoint.format_utils", "dcp_to_torch_save"),
        ("torch.distributed.checkpoint.filesystem", "os.system"),
        ("torch.distributed.checkpoint.metadata", "os.system"),
        ("pathlib", "Path.unlink"),
        ("builtins", "getattr"),
    ],
)
def test_only_the_dataclasses_themselves_are_expected(module, name):
    text = f"\x8c{chr(len(module))}{module}\x8c{chr(len(name))}{name}\x93".encode("latin1")
    planted = b"(" + text + b")R1"
    whole = pickle.dumps(dcp.Metadata({}), protocol=4)
    assert whole[2:3] == b"\x95"
    found = parse(b"\x80\x04" + planted + whole[11:]).suspects
    assert [s.name for s in found] == [f"{module}.{name}"]


class Member:
    """Pickles as a member of an enum did under Python 3.11.0 to 3.11.3."""

    def __init__(self, owner, name):
        self.owner, self.name = owner, name

    def __reduce__(self):
        return getattr, (self.owner, self.name)


def test_an_enum_of_python_3_11_2_is_no_suspect():
    encoding = type(dcp.metadata.TensorProperties().__getstate__()[3])
    state = dcp.Metadata({}, planner_data=Member(encoding, "TORCH_CHANNELS_LAST"))
    assert parse(pickle.dumps(state)).suspects == []
    state = dcp.Metadata({}, planner_data=[Member(encoding, "TORCH_CHANNELS_LAST"), Member(encoding, "mro")])
    assert {s.name for s in parse(pickle.dumps(state)).suspects} == {"builtins.getattr"}


# Folders that are not whole, and metadata that lies


def test_a_file_cut_at_many_places(copy):
    content = (copy / DATA).read_bytes()
    with open(copy / ".metadata", "rb") as file:
        places = pickle.load(file).storage_data.values()
    for length in [*range(0, len(content), 997), len(content) - 1]:
        (copy / DATA).write_bytes(content[:length])
        lines = read(copy).trouble
        cut = sum(place.offset + place.length > length for place in places)
        assert f"{DATA} has {length} bytes, and .metadata says at least {len(content)}" in lines[0]
        assert f"({cut} part" in lines[0]


def test_a_missing_file_and_one_too_many(copy):
    (copy / DATA).rename(copy / "__7_0.distcp")
    checkpoint = read(copy)
    (line,) = checkpoint.trouble
    assert line.startswith(f"{DATA}: missing (")
    assert checkpoint.notes == ["1 file that .metadata does not name: __7_0.distcp"]
    assert checkpoint.root["model.0.weight"].shape == (4, 3)
    assert checkpoint.root["epoch"] is None


def test_metadata_cut_at_every_byte(copy):
    content = (copy / ".metadata").read_bytes()
    for length in range(0, len(content), 7 if len(content) > 3000 else 1):
        (copy / ".metadata").write_bytes(content[:length])
        with pytest.raises(Unreadable) as caught:
            read(copy)
        assert "\n" not in str(caught.value)


def first(metadata, key="model.0.weight"):
    index = next(index for index in metadata.storage_data if index.fqn == key)
    return metadata.storage_data[index], metadata.state_dict_metadata[key]


@pytest.mark.parametrize(
    "field, value, words",
    [
        ("relative_path", "../__0_0.distcp", "../__0_0.distcp: its name leads out of the folder"),
        ("relative_path", "/dev/zero", "/dev/zero: its name leads out of the folder"),
        ("relative_path", ".", ".: not a file"),
        ("length", 3, "a chunk of model.0.weight has 3 bytes in __0_0.distcp: too few"),
        ("length", 2**62, "(1 part cut off: model.0.weight)"),
        ("offset", 2**62, "(1 part cut off: model.0.weight)"),
        ("offset", 0, "lies over another one"),
        ("relative_path", "./__0_0.distcp", ""),
    ],
)
def test_places_that_lie(copy, field, value, words):
    checkpoint = changed(copy, lambda m: setattr(first(m)[0], field, value))
    assert any(words in line for line in checkpoint.trouble) or not words, checkpoint.trouble
    assert bool(checkpoint.trouble) == bool(words)
    assert checkpoint.root["model.0.weight"].shape == (4, 3)


@pytest.mark.parametrize(
    "change, words",
    [
        (
            lambda m: setattr(first(m)[1], "size", torch.Size([9, 9])),
            "has 81 elements, and its chunks have 12",
        ),
        (lambda m: setattr(first(m)[1], "chunks", []), "has 12 elements, and its chunks have 0"),
        (
            lambda m: setattr(first(m)[1].chunks[0], "offsets", torch.Size([1, 0])),
            "lies outside of the tensor",
        ),
        (lambda m: setattr(first(m)[1].chunks[0], "offsets", torch.Size([0])), "lies outside of the tensor"),
        (lambda m: m.storage_data.clear(), "names no file for 35 parts: model.0.weight"),
        (lambda m: setattr(m, "storage_data", None), "names no file for 35 parts"),
    ],
)
def test_chunks_that_lie(copy, change, words):
    checkpoint = changed(copy, change)
    assert any(words in line for line in checkpoint.trouble), checkpoint.trouble


@pytest.mark.parametrize(
    "change",
    [
        lambda m: setattr(first(m)[0], "offset", -1),
        lambda m: setattr(first(m)[0], "length", 2**63),
        lambda m: setattr(first(m)[0], "length", "9"),
        lambda m: setattr(first(m)[0], "relative_path", None),
        lambda m: setattr(first(m)[1], "size", (2**62,) * 64),
        lambda m: setattr(first(m)[1], "size", (-1, 2)),
        lambda m: setattr(first(m)[1], "size", (1,) * 65),
        lambda m: setattr(first(m)[1], "size", None),
        lambda m: setattr(first(m)[1], "properties", None),
        lambda m: setattr(first(m)[1], "properties", "float32"),
        lambda m: setattr(first(m)[1], "chunks", [3]),
        lambda m: setattr(first(m)[1], "chunks", None),
        lambda m: setattr(m, "state_dict_metadata", None),
        lambda m: setattr(m, "state_dict_metadata", {3: None}),
        lambda m: setattr(m, "storage_data", [1]),
        lambda m: setattr(m, "storage_data", {"a": PurePosixPath("b")}),
    ],
)
def test_metadata_that_no_torch_writes_is_one_line(copy, change):
    with pytest.raises(Unreadable, match=r"\.metadata|a shape that no tensor can have") as caught:
        changed(copy, change)
    assert "\n" not in str(caught.value)


def test_a_pickle_of_something_else(tmp_path):
    (tmp_path / ".metadata").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(Unreadable, match="a dict where a Metadata should be"):
        read(tmp_path)


@given(st.data())
def test_no_changed_byte_crashes_it(small, data):
    content = bytearray((small / ".metadata").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(Unreadable):
        assert isinstance(parse(bytes(content)).keys, dict)


def test_thousands_of_values_are_read_in_seconds(tmp_path):
    folder = save({f"group.{n}": n for n in range(2000)}, tmp_path / "many")
    with within(4):
        checkpoint = read(folder)
    assert checkpoint.root == {f"group.{n}": n for n in range(2000)}

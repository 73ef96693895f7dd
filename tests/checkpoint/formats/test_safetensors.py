"""The header of a safetensors file, held against the format's own reader and against files that lie."""

import contextlib
import io
import json
import math
import os
import struct

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpudoctor.checkpoint import Unreadable, read
from gpudoctor.checkpoint.formats.safetensors import DTYPES, is_safetensors, read_header, read_safetensors
from gpudoctor.checkpoint.tree import WIDTHS
from tests.processor_time import within

ENTRY = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}


def packed(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def opened(content, name="x.safetensors"):
    return read_safetensors(io.BytesIO(content), name, len(content))


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def own(torch):
    """The format's own package for torch."""
    return pytest.importorskip("safetensors.torch")


def test_every_type_reads_as_torch_reads_it(torch, own, tmp_path):
    tensors = {"scalar": torch.tensor(3.5), "empty": torch.zeros(0, 4), "deep": torch.zeros(1, 2, 1, 3, 2)}
    for dtype in own._SIZE:
        tensors[f"layer.{dtype}"] = torch.zeros(3, 4 * dtype.itemsize, dtype=torch.uint8).view(dtype)
    own.save_file(tensors, tmp_path / "all.safetensors")
    loaded = own.load_file(tmp_path / "all.safetensors")
    checkpoint = read(tmp_path / "all.safetensors")
    assert (checkpoint.kind, checkpoint.trouble, checkpoint.suspects) == ("safetensors", [], [])
    assert checkpoint.size == os.path.getsize(tmp_path / "all.safetensors")
    assert checkpoint.root.keys() == loaded.keys()
    for name, tensor in loaded.items():
        mine = checkpoint.root[name]
        assert (f"torch.{mine.dtype}", mine.shape, mine.stride) == (
            str(tensor.dtype),
            tuple(tensor.shape),
            tensor.stride(),
        )
        assert (mine.size, mine.device, mine.storage.key) == (tensor.nbytes, "cpu", name)
    assert len({tensor.storage.key for tensor in checkpoint.root.values()}) == len(loaded)


def test_every_type_of_the_format_is_known(own):
    with pytest.raises(Exception, match="unknown variant") as caught:
        own.load(packed({"a": {**ENTRY, "dtype": "NONE"}}, b"\0" * 24))
    names = {word for word in str(caught.value).split("`") if word.isupper() and word != "NONE"}
    assert names == DTYPES.keys()
    assert {torch_name for torch_name, _ in DTYPES.values()} - WIDTHS.keys() == {
        "float6_e2m3fn",
        "float6_e3m2fn",
    }


@given(
    shapes=st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=6),
    names=st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12),
        min_size=6,
        max_size=6,
        unique=True,
    ),
    metadata=st.none() | st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
    which=st.lists(st.integers(0, 14), min_size=6, max_size=6),
)
def test_what_its_own_writer_writes_is_read(torch, own, shapes, names, metadata, which):
    dtypes = [dtype for dtype in own._SIZE if "float4" not in str(dtype)]
    tensors = {
        name: torch.zeros(math.prod(shape) * dtypes[kind].itemsize, dtype=torch.uint8)
        .view(dtypes[kind])
        .view(shape)
        for name, shape, kind in zip(names, shapes, which, strict=False)
        if name != "__metadata__"
    }
    assume(tensors or metadata is None)  # its writer breaks its own header there (0.8.0)
    content = own.save(tensors, metadata)
    checkpoint = opened(content)
    assert is_safetensors(content[:512], len(content))
    assert {name: (f"torch.{t.dtype}", t.shape) for name, t in checkpoint.root.items()} == {
        name: (str(t.dtype), tuple(t.shape)) for name, t in tensors.items()
    }
    assert checkpoint.trouble == []
    assert len(checkpoint.notes) == len(metadata or {})


def test_the_places_of_the_bytes_are_those_of_the_values(torch, own):
    content = own.save({"a": torch.arange(5), "b": torch.arange(3, dtype=torch.uint8)}, {"format": "pt"})
    header = read_header(io.BytesIO(content), len(content))
    assert header.metadata == {"format": "pt"}
    begin, end = header.tensors["a"].data_offsets
    assert struct.unpack("<5q", content[header.start + begin : header.start + end]) == (0, 1, 2, 3, 4)


def test_a_type_that_torch_does_not_have_is_noted():
    checkpoint = opened(packed({"a": {"dtype": "F6_E2M3", "shape": [4], "data_offsets": [0, 3]}}, bytes(3)))
    assert checkpoint.trouble == []
    assert checkpoint.notes == ["torch has no type for F6_E2M3, and does not load tensor a"]


# Files that are not whole, and files that lie


def test_cut_at_every_byte(tmp_path):
    content = packed({"a": ENTRY, "b": {**ENTRY, "data_offsets": [24, 48]}}, bytes(48))
    path = tmp_path / "cut.safetensors"
    for length in range(len(content) - 48):
        path.write_bytes(content[:length])
        with pytest.raises(Unreadable) as caught:
            read(path)
        assert "\n" not in str(caught.value)
    for length in range(len(content) - 48, len(content)):
        path.write_bytes(content[:length])
        missing = len(content) - length
        number = "1 byte" if missing == 1 else f"{missing} bytes"
        tensors = "1 tensor" if missing <= 24 else "2 tensors"
        assert read(path).trouble == [
            f"the file is cut off: {number} are missing, which {tensors} would need"
        ]


@pytest.mark.parametrize(
    "header, data, words",
    [
        ({"a": {**ENTRY, "shape": [2, 4]}}, 24, "tensor a has 24 bytes, and F32 of shape [2, 4] needs 32"),
        ({"a": {**ENTRY, "shape": [2**62, 2]}}, 24, "needs 36893488147419103232"),
        ({"a": {**ENTRY, "shape": [0, 2**62]}}, 24, "needs 0"),
        ({"a": {**ENTRY, "dtype": "F99"}}, 24, "tensor a has an unknown type F99"),
        ({"a": {**ENTRY, "data_offsets": [24, 0]}}, 24, "tensor a ends before it begins"),
        ({"a": {**ENTRY, "data_offsets": [8, 32]}}, 32, "begins at byte 8, and 8 bytes before it belong to none"),
        ({"a": ENTRY, "b": {**ENTRY, "data_offsets": [16, 40]}}, 40, "tensor b begins at byte 16, inside of another"),
        ({"a": ENTRY, "b": ENTRY}, 24, "tensor b begins at byte 0, inside of another"),
        ({"a": ENTRY}, 25, "1 byte at the end of the file belong to no tensor"),
        ({"a": {**ENTRY, "data_offsets": [0, 2**63 - 1]}}, 24, "bytes are missing, which 1 tensor would need"),
        ({"a": {"dtype": "F4", "shape": [2, 3], "data_offsets": [0, 3]}}, 3, "odd number of 4-bit elements"),
        ({"a\nb": {**ENTRY, "dtype": "\x1b[31m"}}, 24, r"tensor 'a\nb' has an unknown type '\x1b[31m'"),
    ],
)  # fmt: skip
def test_what_lies_is_told_and_the_rest_is_shown(header, data, words):
    checkpoint = opened(packed(header, bytes(data)))
    assert any(words in line for line in checkpoint.trouble), checkpoint.trouble
    assert all(line.isprintable() for line in checkpoint.trouble)
    assert checkpoint.root.keys() == header.keys()


@pytest.mark.parametrize(
    "header, words",
    [
        (b"{", "a damaged safetensors header"),
        (b"[]", "a damaged safetensors header"),
        (b"{\xff:1}", "a damaged safetensors header"),
        (b'{"a":' * 100_000, "safetensors header"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "safetensors header"),
        ({"a": 1}, "tensor a: Expected `object`, got `int`"),
        ({"a": {}}, "missing required field"),
        ({"a": {**ENTRY, "shape": ["2"]}}, "Expected `int`, got `str`"),
        ({"a": {**ENTRY, "shape": [2.5]}}, "Expected `int`, got `float`"),
        ({"a": {**ENTRY, "shape": [-1]}}, "Expected `int` >= 0"),
        ({"a": {**ENTRY, "shape": [2**63]}}, "Expected `int` <= 9223372036854775807"),
        ({"a": {**ENTRY, "shape": [2**64]}}, "tensor a"),
        ({"a": {**ENTRY, "shape": [1] * 65}}, "length <= 64"),
        ({"a": {**ENTRY, "shape": [1] * 5000}}, "too much about tensor a"),
        ({"a": {**ENTRY, "shape": [2**62] * 64}}, "a shape that no tensor can have: a"),
        ({"a": {**ENTRY, "data_offsets": [0, 2**63]}}, "Expected `int` <= 9223372036854775807"),
        ({"a": {**ENTRY, "data_offsets": [-1, 23]}}, "Expected `int` >= 0"),
        ({"a": {**ENTRY, "data_offsets": [0]}}, "length 2"),
        ({"__metadata__": {"a": 1}}, "Expected `str`, got `int`"),
    ],
)  # fmt: skip
def test_a_header_that_is_none_is_one_clear_line(header, words):
    with pytest.raises(Unreadable) as caught:
        opened(packed(header, bytes(24)))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("length", [100_000_001, 2**31, 2**63 - 1, 2**63, 2**64 - 1])
def test_a_header_that_claims_too_much_is_not_read(length, tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", length) + b'{"a":1}')
    with pytest.raises(Unreadable, match=f"claims {length} bytes"):
        read(path)


def test_a_cut_header_says_so(tmp_path):
    (tmp_path / "x").write_bytes(struct.pack("<Q", 5000) + b'{"a":')
    with pytest.raises(Unreadable, match="4995 bytes of its header are missing"):
        read(tmp_path / "x")


def test_many_lies_are_counted():
    header = {f"t{n}": {"dtype": "F32", "shape": [n + 1], "data_offsets": [0, 0]} for n in range(500)}
    checkpoint = opened(packed(header))
    assert len(checkpoint.trouble) == 21
    assert checkpoint.trouble[-1] == "480 more of this kind"


offsets = st.integers(0, 9)
entries = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["U8", "I16", "F4", "F6_E2M3", "BOOL", "F64", "nope"]),
        "shape": st.lists(st.integers(0, 4), max_size=3),
        "data_offsets": st.lists(offsets, min_size=2, max_size=2),
    }
)


@given(header=st.dictionaries(st.sampled_from("abcd"), entries, max_size=3), data=st.integers(0, 20))
def test_what_it_finds_whole_the_formats_own_reader_takes_and_nothing_else(own, header, data):
    from safetensors import SafetensorError, deserialize

    content = packed(header, bytes(data))
    try:
        deserialize(content)
        whole = True
    except SafetensorError:
        whole = False
    trouble = [line for line in opened(content).trouble if "odd number" not in line]
    assert (trouble == []) == whole


@given(sizes=st.lists(st.integers(0, 4), max_size=3), tight=st.permutations(["U8", "F4", "F64", "BF16"]))
def test_what_is_packed_tightly_is_whole(own, sizes, tight):
    from safetensors import deserialize

    header, at = {}, 0
    for size, dtype in zip(sizes, tight, strict=False):
        end = at + 2 * size * DTYPES[dtype][1] // 8
        header[dtype] = {"dtype": dtype, "shape": [size, 2], "data_offsets": [at, end]}
        at = end
    content = packed(header, bytes(at))
    assert len(deserialize(content)) == len(header)
    assert opened(content).trouble == []


@given(st.binary(max_size=200), st.integers(0, 300))
def test_no_bytes_crash_it(data, length):
    for content in (data, struct.pack("<Q", length) + b"{" + data, packed(b'{"a":' + data + b"}")):
        with contextlib.suppress(Unreadable):
            assert opened(content).kind == "safetensors"


def test_a_hundred_thousand_keys_take_less_than_two_seconds():
    header = {
        f"model.layers.{n}.mlp.down_proj.weight": {"dtype": "U8", "shape": [1, 1], "data_offsets": [n, n + 1]}
        for n in range(100_000)
    }
    content = packed(header, bytes(100_000))
    with within(2):
        checkpoint = opened(content)
    assert (len(checkpoint.root), checkpoint.trouble) == (100_000, [])

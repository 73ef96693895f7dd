"""What the numbers of real files are like, and whether their bytes are those that were written."""

import json
import math
import struct
import subprocess
import zipfile

import pytest

from gpudoctor.checkpoint import describe, read
from gpudoctor.checkpoint.formats.checksums import wrong_records
from gpudoctor.checkpoint.formats.values import look_at_values, nonfinite
from tests.warm_python import warm_python

WRITE = """
import torch
x = torch.randn(1000)
torch.save({
    "fine": x, "again": x.clone(), "zero": torch.zeros(300), "nan": torch.tensor([1.0, float("nan"), float("inf")]),
    "half": torch.tensor([float("inf"), 1.0], dtype=torch.float16),
    "brain": torch.tensor([float("-inf"), 65504.0, 0.0], dtype=torch.bfloat16),
    "double": torch.tensor([1e308, float("nan")], dtype=torch.float64),
    "eight": torch.tensor([448.0, float("nan")]).to(torch.float8_e4m3fn),
    "complex": torch.tensor([complex(1, float("inf"))]), "number": torch.tensor([2**31 - 1, -1]),
    "rows": torch.randn(20, 5)[:, :2], "part": x[10:20], "empty": torch.zeros(0), "largest": torch.tensor([3.4028e38]),
    "sparse": torch.eye(3).to_sparse(),
}, "values.pt")
torch.save(torch.load("values.pt"), "values-legacy.pt", _use_new_zipfile_serialization=False)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, torch_folder):
    folder = tmp_path_factory.mktemp("values")
    command = [warm_python(), "-W", "ignore", "-c", WRITE]
    subprocess.run(command, cwd=folder, check=True, timeout=300)
    return folder


@pytest.mark.parametrize("name", ["values.pt", "values-legacy.pt"])
def test_what_the_numbers_are_like(folder, name):
    values = look_at_values(read(folder / name))
    expected = {"nan": 2, "half": 1, "brain": 1, "double": 1, "eight": 1, "complex": 1}
    assert dict(values.nonfinite) == expected
    assert values.zero == ("zero",)
    assert values.same == (("fine", "again"),)
    assert dict(values.skipped) == {"views with gaps": 1, "sparse_coo tensors": 1}


def safetensors(path, tensors):
    """Write a file by hand: names, with the format's type, a shape and bytes."""
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def test_the_numbers_of_safetensors_and_of_a_sharded_set(tmp_path):
    nan, one = struct.pack("<f", math.nan), struct.pack("<f", 1.0)
    safetensors(
        tmp_path / "a.safetensors", {"a": ("F32", [3], one + nan + one), "zero": ("F16", [2], bytes(4))}
    )
    safetensors(tmp_path / "b.safetensors", {"b": ("BF16", [2], b"\x80\x3f\x80\x7f"), "c": ("F32", [1], one)})
    values = look_at_values(read(tmp_path / "a.safetensors"))
    assert (values.nonfinite, values.zero, values.skipped) == ((("a", 1),), ("zero",), ())
    places = {"a": "a.safetensors", "zero": "a.safetensors", "b": "b.safetensors", "c": "b.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    for path in (tmp_path, tmp_path / "model.safetensors.index.json"):
        values = look_at_values(read(path))
        assert (values.nonfinite, values.zero) == ((("a", 1), ("b", 1)), ("zero",))
        assert values.read == 12 + 4 + 4 + 4


def test_blocks_of_every_type_are_judged_as_torch_does(folder):
    script = """
import torch
for name in "float16 bfloat16 float32 float64 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz".split():
    dtype = getattr(torch, name)
    torch.manual_seed(0)
    data = torch.randint(0, 256, (80000,), dtype=torch.uint8)
    count = int((~torch.isfinite(data.view(dtype).double())).sum())
    print(name, count, bytes(data.tolist()).hex())
"""
    done = subprocess.run(
        [warm_python(), "-c", script], capture_output=True, text=True, timeout=300, check=True
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    assert len(rows) == 8
    for name, count, data in rows:
        assert int(count) > 0
        assert nonfinite(bytes.fromhex(data), name) == int(count), name
    assert nonfinite(b"\xff" * 64, "int32") == 0


def test_a_bit_that_flipped_shows_in_the_checksum_alone(folder, tmp_path):
    data = bytearray((folder / "values.pt").read_bytes())
    good, bad = tmp_path / "good.pt", tmp_path / "bad.pt"
    good.write_bytes(data)
    assert list(wrong_records(str(good), len(data))) == []
    with zipfile.ZipFile(good) as archive:
        record = archive.getinfo("values/data/0")
        start = data.index(archive.read(record)[:32])
    data[start + 100] ^= 1
    bad.write_bytes(data)
    assert describe(read(bad)).trouble == ()
    (line,) = wrong_records(str(bad), len(data))
    assert "values/data/0 is damaged" in line
    assert describe(read(bad), verify=True).trouble == (line,)
    assert describe(read(good), verify=True).trouble == ()

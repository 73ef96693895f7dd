"""`gpudoctor checkpoint fix`: what torch saved, mended, and loaded by torch again."""

import collections
import contextlib
import json
import os
import pickle
import random
import re
import resource
import signal
import subprocess
import sys
import time
import warnings
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudoctor.checkpoint import Unreadable, read
from gpudoctor.checkpoint.formats.checksums import wrong_records
from gpudoctor.checkpoint.formats.values import look_at_values
from gpudoctor.checkpoint.formats.zip_reader import Record, records
from gpudoctor.checkpoint.repair import whole_file as blocks
from gpudoctor.checkpoint.repair.copy import fix
from gpudoctor.checkpoint.repair.edit import Changes
from gpudoctor.checkpoint.repair.whole_file import Target, whole
from gpudoctor.checkpoint.repair.zip_writer import Archive
from tests.warm_python import warm_gpudoctor

STRIP = Changes(strip=("module.",))
DTYPES = [
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32",
    "uint64", "bool", "complex32", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu",
]  # fmt: skip


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def safetensors(torch):
    return pytest.importorskip("safetensors.torch")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fix_command(*arguments, code=0, **more):
    command = [sys.executable, "-m", "gpudoctor"] if "preexec_fn" in more else warm_gpudoctor()
    done = subprocess.run(
        [*command, "checkpoint", "fix", *map(str, arguments)],
        capture_output=True, text=True, timeout=120, **more,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def refused(source, target, changes=STRIP, **options):
    """Return the one line with which a copy is refused, and see that nothing is left of it."""
    before = sorted(os.listdir())
    with pytest.raises(Unreadable) as caught:
        fix(str(source), str(target), changes, **options)
    assert sorted(os.listdir()) == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


def save(torch, value, path, legacy=False):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.save(value, path, _use_new_zipfile_serialization=not legacy)


def load(torch, path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.load(path, weights_only=True, **options)


def same(torch, one, two):
    """Return whether two tensors are equal bit for bit, in shape, place in their storage, kind and gradient too."""
    described = [
        (type(t), t.dtype, t.shape, t.stride(), t.storage_offset(), t.requires_grad, t.device, t.is_conj())
        for t in (one, two)
    ]
    bits = [bytes(t.untyped_storage().tolist()) for t in (one.detach(), two.detach())]
    return described[0] == described[1] and bits[0] == bits[1]


def wrapped(torch, **more):
    """A checkpoint as a training with DataParallel saves it."""
    torch.manual_seed(1)
    inner = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.BatchNorm1d(4))
    model = torch.nn.DataParallel(inner)
    optimizer = torch.optim.Adam(model.parameters())
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, **more}


@pytest.mark.parametrize("legacy", [False, True])
def test_the_wrapped_model_s_file_loads_into_the_bare_model(torch, legacy):
    whole_ = wrapped(torch)
    save(torch, whole_["model"], "a.pt", legacy)
    bare = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.BatchNorm1d(4))
    with pytest.raises(RuntimeError, match=r"Missing key\(s\)"):
        bare.load_state_dict(load(torch, "a.pt"))
    assert "module.0.weight -> 0.weight" in fix_command("a.pt", "-o", "b.pt", "--strip-prefix", "module.")
    mended = load(torch, "b.pt")
    bare.load_state_dict(mended)
    expected = load(torch, "a.pt")
    torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(expected, "module.")
    assert list(mended) == list(expected)
    assert dict(mended._metadata) == dict(expected._metadata)
    assert next(iter(mended._metadata)) == ""
    fix_command("b.pt", "-o", "c.pt", "--add-prefix", "module.")
    again, first = load(torch, "c.pt"), load(torch, "a.pt")
    assert list(again) == list(first)
    assert list(again._metadata.items()) == list(first._metadata.items())
    assert all(same(torch, again[name], first[name]) for name in first)


@pytest.mark.parametrize("legacy", [False, True])
def test_what_was_not_asked_to_change_stays(torch, legacy):
    base = torch.arange(20, dtype=torch.float32)
    tied = torch.nn.Parameter(torch.randn(3, 4))
    own = {
        "module.tied": tied, "module.again": tied, "module.view": base[2:8], "module.step": base[::3],
        "module.turned": torch.randn(3, 5).t(), "module.none": torch.empty(0, 3), "module.one": torch.tensor(2.0),
        "module.frozen": torch.nn.Parameter(torch.ones(2), requires_grad=False),
        "module.conj": torch.randn(3, dtype=torch.complex64).conj(),
    }  # fmt: skip
    save(torch, {"model": own, "base": base, "lr": [0.1, {"a": (1, None)}]}, "a.pt", legacy)
    fix("a.pt", "b.pt", STRIP)
    for options in ({}, {"mmap": True}) if not legacy else ({},):
        old, new = load(torch, "a.pt", **options), load(torch, "b.pt", **options)
        assert new["lr"] == [0.1, {"a": (1, None)}]
        assert list(new) == list(old)
        assert [f"module.{name}" for name in new["model"]] == list(old["model"])
        for name, value in new["model"].items():
            assert same(torch, value, old["model"][f"module.{name}"]), name
        assert new["model"]["tied"] is new["model"]["again"]
        new["base"][2] = 77
        assert new["model"]["view"][0] == 77


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), legacy=st.booleans())
def test_random_state_dicts_stay_equal_bit_for_bit(torch, data, legacy):
    names = data.draw(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=6, unique=True))
    seed = random.Random(data.draw(st.integers(0, 1000)))
    held = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # complex32 is experimental
        torch.empty(0, dtype=torch.complex32)
    for name in names:
        dtype = getattr(torch, data.draw(st.sampled_from(DTYPES)))
        shape = data.draw(st.lists(st.integers(0, 4), max_size=3))
        count = torch.empty(shape, dtype=dtype).nbytes
        value = torch.frombuffer(bytearray(seed.randbytes(count)), dtype=torch.uint8) if count else None
        if dtype is torch.bool and count:
            value = value & 1
        held[f"module.{name}"] = (
            torch.empty(shape, dtype=dtype) if value is None else value.view(dtype).view(shape)
        )
    nested = {"deep": [{"model": held}], "epoch": 3}
    save(torch, nested, "a.pt", legacy)
    forms = [None, "torch zip"] if legacy else [None]
    with contextlib.suppress(
        AttributeError
    ):  # what is newer than the old format torch writes in it and cannot read
        load(torch, "a.pt")
        forms.append(None)
    for to in forms[1:] if legacy else forms:
        fix("a.pt", "b.pt", STRIP, form=to, force=True)
        new = load(torch, "b.pt", mmap=to is not None or not legacy)["deep"][0]["model"]
        assert list(new) == names
        for name in names:
            old, value = held[f"module.{name}"], new[name]
            assert (value.dtype, value.shape, value.stride()) == (old.dtype, old.shape, old.stride())
            assert bytes(value.untyped_storage().tolist()) == bytes(old.untyped_storage().tolist())


def test_the_layout_is_torch_s_own_byte_for_byte(torch):
    save(torch, wrapped(torch, big=torch.randn(30_000), none=torch.empty(0)), "a.pt")
    with open("a.pt", "rb") as file, whole("b.pt", 0) as target:
        archive = Archive(target)
        for record, at in records(file, os.path.getsize("a.pt")).values():
            archive.copy(record, file.fileno(), at)
        archive.close()
    with open("a.pt", "rb") as one, open("b.pt", "rb") as two:
        assert one.read() == two.read()


class Nowhere:
    """Takes the place of a file of 9 GB: keeps the small parts with their places."""

    def __init__(self):
        self.position, self.parts = 0, []

    def write(self, data):
        self.parts.append((self.position, bytes(data)))
        self.position += len(data)

    def copy(self, source, at, size):
        self.position += size


def test_sizes_beyond_32_bits_are_written_as_torch_writes_them():
    """The bytes are those of a file of two storages, of 4.4 GB and 7 bytes, that torch 2.15 wrote."""

    target = Nowhere()
    archive = Archive(target)
    target.position = 662
    archive.copy(Record("big/data/0", 0, 0, 0xB1B605BF, 4_400_000_000, 4_400_000_000, 0), -1, 0)
    second = target.position
    archive.copy(Record("big/data/1", 0, 0, 0x1A45225A, 7, 7, 0), -1, 0)
    archive.close()
    begin, behind, local = (part for _, part in target.parts[:3])
    assert begin[:30] == b"PK\x03\x04\x00\x00\x08\x08" + bytes(18) + b"\x0a\x00B\x00"
    assert begin[40:60] == b"\x01\x00\x10\x00\x00\xacB\x06\x01\x00\x00\x00" + bytes(8)
    assert begin[60:64] == b"FB*\x00"
    assert (662 + len(begin)) % 64 == 0
    size = b"\x00\xacB\x06\x01\x00\x00\x00"
    assert behind == b"PK\x07\x08\xbf\x05\xb6\xb1" + size + size
    assert local[40:52] == b"\x01\x00\x08\x00\x18\xafB\x06\x01\x00\x00\x00"
    assert second == 0x10642AF18
    assert local[52:56] == b"FB0\x00"
    central = target.parts[4][1]
    assert (
        central[16:46]
        == b"\xbf\x05\xb6\xb1" + b"\xff" * 8 + b"\x0a\x00\x14\x00" + bytes(10) + b"\x96\x02\x00\x00"
    )


def test_dropped_and_selected_entries_take_their_storages_with_them(torch, monkeypatch):
    big = torch.randn(50_000)
    save(torch, {"optimizer": {"state": big, "of": big[:3]}, **wrapped(torch, keep=big[7:9])}, "a.pt")
    fix_command("a.pt", "-o", "b.pt", "--select", "model", "--strip-prefix", "module.", "-q")
    assert os.path.getsize("b.pt") < 8000
    fix_command("a.pt", "-o", "c.pt", "--drop", "keep", "--drop", "optimizer")
    old, kept = load(torch, "a.pt"), load(torch, "c.pt")
    assert list(kept) == ["model", "epoch"]
    for options in ({}, {"mmap": True}):
        mended = load(torch, "b.pt", **options)
        assert all(same(torch, mended[n.removeprefix("module.")], v) for n, v in old["model"].items())
        assert mended._metadata["2"] == {"version": 2}
    # torch takes the places of storages from their order alone: from the map to meta, and where it is asked to.
    assert load(torch, "b.pt", map_location="meta")["0.weight"].shape == (4, 3)
    monkeypatch.setenv("TORCH_SERIALIZATION_DEBUG", "1")
    assert same(torch, load(torch, "b.pt")["2.weight"], old["model"]["module.2.weight"])
    fix_command("a.pt", "-o", "d.pt", "--drop", "optimizer")
    assert load(torch, "d.pt")["keep"].untyped_storage().nbytes() == 200_000


def test_an_old_file_becomes_a_zip_file(torch):
    save(torch, wrapped(torch, tied=torch.ones(3).expand(2, 3)), "a.pt", legacy=True)
    fix_command("a.pt", "-o", "b.pt", "--to-zip")
    assert zipfile.ZipFile("b.pt").testzip() is None
    old, new = load(torch, "a.pt"), load(torch, "b.pt", mmap=True)
    assert all(same(torch, new["model"][name], value) for name, value in old["model"].items())
    assert same(torch, new["tied"], old["tied"])
    assert load(torch, "b.pt", map_location="meta")["tied"].shape == (2, 3)
    fix_command("a.pt", "-o", "c.pt", "--drop", "optimizer", "--drop", "epoch")
    assert list(load(torch, "c.pt")) == ["model", "tied"]
    assert "it has that format already" in refused("b.pt", "x.pt", Changes(), form="torch zip")


def test_locations_become_cpu(torch):
    save(torch, wrapped(torch), "a.pt")
    fix_command("a.pt", "-o", "gpu.pt", "--device", "cuda:7")
    with pytest.raises(RuntimeError, match="CUDA"):
        load(torch, "gpu.pt")
    told = fix_command("gpu.pt", "-o", "b.pt", "--device", "cpu")
    assert "19 storages on another device" in told
    old, new = load(torch, "a.pt"), load(torch, "b.pt")
    assert all(same(torch, new["model"][name], value) for name, value in old["model"].items())
    assert "everything was saved from cpu" in refused("b.pt", "x.pt", Changes(device="cpu"))


@pytest.mark.filterwarnings("ignore:ComplexHalf")  # of torch, once in a process
def test_safetensors_are_what_their_own_writer_writes(torch, safetensors):
    held = {f"module.{name}": torch.arange(6).view(2, 3).to(getattr(torch, name)) for name in DTYPES}
    held = {
        name: value for name, value in held.items() if "complex32" not in name and "complex128" not in name
    }
    base = torch.arange(20.0)
    held |= {"module.first": base[:4], "module.rest": base[8:20].view(3, 4), "module.none": torch.empty(0, 2)}
    for legacy in (False, True):
        save(torch, {"state": held}, "a.pt", legacy)
        fix_command("a.pt", "-o", "b.safetensors", "--select", "state", "--to-safetensors", "--force")
        safetensors.save_file(
            {n: v.clone() for n, v in held.items()}, "c.safetensors", metadata={"format": "pt"}
        )
        with open("b.safetensors", "rb") as one, open("c.safetensors", "rb") as two:
            assert one.read() == two.read()
    fix_command("b.safetensors", "-o", "d.safetensors", "--strip-prefix", "module.", "--drop", "module.int64")
    new = safetensors.load_file("d.safetensors")
    assert {f"module.{name}" for name in new} == set(held) - {"module.int64"}
    assert all(same(torch, value.clone(), held[f"module.{name}"].clone()) for name, value in new.items())
    with safetensors.safe_open("d.safetensors", "pt") as file:
        assert file.metadata() == {"format": "pt"}


def test_what_safetensors_cannot_hold_is_refused(torch):
    base = torch.arange(20.0)
    for value, message in (
        ({"a": base, "b": base}, "a and b share their bytes"),
        ({"a": base[:5], "b": base[4:]}, "a and b share their bytes"),
        ({"a": torch.ones(3, 4).t()}, "a is not contiguous"),
        ({"a": base[::2]}, "a is not contiguous"),
        ({"a": torch.ones(3).expand(4, 3)}, "a is not contiguous"),
        ({"a": torch.eye(3).to_sparse()}, "a is sparse_coo, which safetensors does not hold"),
        ({"a": torch.ones(3, dtype=torch.complex128)}, "a is of type complex128"),
        ({"a": torch.ones(3, dtype=torch.complex64).conj()}, "its bytes are not its values"),
        ({"a": base, "epoch": 3}, "holds tensors alone: --drop epoch"),
        ({"model": {"a": base}, "epoch": 3}, "take one out of the whole with --select model"),
        ([base], "this is no state dict"),
    ):
        save(torch, value, "a.pt")
        assert message in refused("a.pt", "b.safetensors", Changes(), form="safetensors")


def test_a_planted_pickle_is_carried_over_and_never_run(torch, place):
    class Planted:
        def __reduce__(self):
            return os.system, (f"touch {place}/ran",)

    save(torch, {**wrapped(torch), "planted": Planted()}, "a.pt")
    error = subprocess.run(
        [sys.executable, "-m", "gpudoctor", "checkpoint", "fix", "a.pt", "-o", "b.pt", "--strip-prefix", "module."],
        capture_output=True, text=True, check=True,
    ).stderr  # fmt: skip
    assert (
        error
        == f"gpudoctor: opening the copy runs code, as opening the original does: {os.system.__module__}.system\n"
    )
    assert not os.path.exists("ran")
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL posix\.system"):
        load(torch, "b.pt")
    fix_command("a.pt", "-o", "c.pt", "--drop", "planted")
    assert "0.weight" in str(list(load(torch, "c.pt")["model"]))
    torch.load("b.pt", weights_only=False)
    assert os.path.exists("ran")


def test_torch_is_not_imported(torch):
    save(torch, wrapped(torch), "a.pt")
    code = (
        "import sys\nfrom gpudoctor.cli import main\n"
        "try:\n main(['checkpoint', 'fix', 'a.pt', '-o', 'b.pt', '--strip-prefix', 'module.'])\n"
        "except SystemExit: pass\nprint({'torch', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("renamed\nset()\n")


def test_a_dry_run_says_it_all_and_writes_nothing(torch):
    save(torch, {f"module.{n}": torch.ones(1) for n in range(30)}, "a.pt")
    told = fix_command("a.pt", "--dry-run", "--strip-prefix", "module.")
    assert told.count(" -> ") == 10
    assert "... and 20 more; -v lists all" in told
    assert "nothing was written" in told
    assert fix_command("a.pt", "--dry-run", "--strip-prefix", "module.", "-v").count(" -> ") == 30
    assert fix_command("a.pt", "--dry-run", "--strip-prefix", "module.", "-q").count("\n") == 1
    data = json.loads(fix_command("a.pt", "--dry-run", "--strip-prefix", "module.", "--json"))
    assert data["renamed"][2] == {"entry": "", "old": "module.2", "new": "2"}
    assert data["target"] is None
    assert os.listdir() == ["a.pt"]


def test_what_is_piped_shows_no_private_path(torch, place, tmp_path):
    save(torch, {"module.w": torch.ones(1)}, "a.pt")
    for extra in ([], ["--json"], ["--dry-run"], ["--dry-run", "--json"]):
        told = fix_command(
            tmp_path / "a.pt", "-o", tmp_path / "b.pt", "--force", "--strip-prefix", "module.", *extra
        )
        assert str(tmp_path) not in told
        assert "path-1/b.pt" in told or "--dry-run" in extra
        assert "module.w" in told
    open_told = fix_command(tmp_path / "a.pt", "--dry-run", "--strip-prefix", "module.", "--no-redact")
    assert str(tmp_path / "a.pt") in open_told


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["a.pt", "-o", "b.pt"], "say what to change"),
        (["a.pt", "--strip-prefix", "module."], "name the copy with -o"),
        (["a.pt", "-o", "a.pt", "--strip-prefix", "module."], "that is the file itself"),
        (["a.pt", "-o", "link.pt", "--strip-prefix", "module.", "--force"], "that is the file itself"),
        (["a.pt", "-o", "there.pt", "--strip-prefix", "module."], "it is there already; --force replaces it"),
        (["a.pt", "-o", ".", "--strip-prefix", "module.", "--force"], "it is no file"),
        (["a.pt", "-o", "none/b.pt", "--strip-prefix", "module."], "no folder none"),
        (["a.pt", "-o", "b.pt", "--strip-prefix", "x."], "a.pt: no key begins with x."),
        (["a.pt", "-o", "b.pt", "--strip-prefix", ""], "an empty prefix"),
        (["a.pt", "-o", "b.pt", "--rename", "*=x"], "would both be called x"),
        (["a.pt", "-o", "b.pt", "--rename", "x"], "--rename takes OLD=NEW"),
        (["a.pt", "-o", "b.pt", "--device", "my gpu"], "no device"),
        (["none.pt", "-o", "b.pt", "--strip-prefix", "x."], "none.pt: No such file"),
        ([".", "-o", "b.pt", "--strip-prefix", "x."], "a folder without .metadata"),
        (["/dev/zero", "-o", "b.pt", "--strip-prefix", "x."], "neither a file nor a folder"),
        (["there.pt", "-o", "b.pt", "--strip-prefix", "x."], "there.pt: "),
        (["script.pt", "-o", "b.pt", "--strip-prefix", "x."], "script.pt: a TorchScript archive"),
        (["plain.pkl", "-o", "b.pt", "--drop", "a"], "plain.pkl: a plain pickle"),
    ],
)
def test_errors_of_use_are_one_line(torch, arguments, message):
    save(torch, wrapped(torch), "a.pt")
    os.symlink("a.pt", "link.pt")
    with open("there.pt", "w") as file:
        file.write("mine")
    with open("plain.pkl", "wb") as file:
        pickle.dump({"a": 1}, file)
    if "script.pt" in arguments:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), "script.pt")
    before = sorted(os.listdir())
    error = fix_command(*arguments, code=2)
    assert error.startswith("gpudoctor: ")
    assert error.count("\n") == 1
    assert message in error
    assert sorted(os.listdir()) == before
    with open("there.pt") as file:
        assert file.read() == "mine"


def test_force_replaces_and_a_new_file_has_the_user_s_rights(torch):
    save(torch, wrapped(torch), "a.pt")
    with open("b.pt", "w") as file:
        file.write("old")
    os.chmod("b.pt", 0o600)
    before = os.umask(0o027)
    try:
        fix("a.pt", "b.pt", STRIP, force=True)
    finally:
        os.umask(before)
    assert "0.weight" in load(torch, "b.pt")["model"]
    assert os.stat("b.pt").st_mode & 0o777 == 0o640


@pytest.mark.parametrize("cut", [1, 100, 3000])
def test_a_damaged_file_is_not_copied(torch, cut):
    for legacy in (False, True):
        save(torch, wrapped(torch), "a.pt", legacy)
        os.truncate("a.pt", os.path.getsize("a.pt") - cut)
        assert refused("a.pt", "b.pt").startswith("a.pt: ")


def test_a_full_disk_leaves_nothing(torch):
    save(torch, {"module.a": torch.ones(500_000), "module.b": torch.ones(10)}, "a.pt")
    for options in ([], ["--to-safetensors"]):
        error = fix_command(
            "a.pt", "-o", "b.pt", "--strip-prefix", "module.", *options, code=2,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000)),
        )  # fmt: skip
        assert error == "gpudoctor: b.pt: File too large: nothing was written\n"
        assert os.listdir() == ["a.pt"]


def test_a_write_that_fails_while_more_is_copied_is_told(monkeypatch):
    def fail(descriptor):
        raise OSError(5, "Input/output error")

    with open("a", "wb") as file:
        file.write(bytes(200_000))
    monkeypatch.setattr(blocks, "EACH", 1)
    monkeypatch.setattr(os, "fdatasync", fail)
    source = os.open("a", os.O_RDONLY)
    with pytest.raises(OSError, match="Input/output error"), whole("b", 200_000) as target:
        target.copy(source, 0, 200_000)
    os.close(source)
    assert os.listdir() == ["a"]


def test_no_room_is_told_before_anything_is_written():
    with (
        pytest.raises(Unreadable, match="no room: it needs 1,152,921,504,606,846,976 bytes"),
        whole("b.pt", 1 << 60),
    ):
        pass
    assert os.listdir() == []


def test_a_file_that_changes_while_it_is_copied_is_refused(torch, monkeypatch):
    save(torch, {"module.a": torch.ones(100_000), "module.b": torch.ones(100_000)}, "a.pt")
    original = Target.copy

    def changing(self, source, at, size):
        original(self, source, at, size)
        os.utime("a.pt")

    monkeypatch.setattr(Target, "copy", changing)
    assert "a.pt: it changed while it was copied" in refused("a.pt", "b.pt")

    def shortening(self, source, at, size):
        os.truncate("a.pt", 4096)
        original(self, source, at, size)

    monkeypatch.setattr(Target, "copy", shortening)
    assert "became shorter while it was copied" in refused("a.pt", "c.pt")


def test_an_interruption_leaves_nothing(torch):
    save(torch, {"module.a": torch.zeros(100_000_000)}, "a.pt")
    command = [
        sys.executable,
        "-m",
        "gpudoctor",
        "checkpoint",
        "fix",
        "a.pt",
        "-o",
        "b.pt",
        "--strip-prefix",
        "module.",
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not any(name.startswith(".gpudoctor-") for name in os.listdir()) and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.001)
    process.send_signal(signal.SIGTERM)
    error = process.communicate(timeout=60)[1]
    if process.returncode == 0:
        pytest.skip("it was faster than the signal")
    assert process.returncode == 128 + signal.SIGTERM
    assert "interrupted" in error
    assert os.listdir() == ["a.pt"]


@pytest.mark.parametrize(
    "ways", [["_by_range"], ["_by_sendfile"], [], ["refuse", "_by_sendfile"], ["nothing"]]
)
def test_blocks_are_copied_with_whatever_the_kernel_has(monkeypatch, ways):
    def refuse(*arguments):
        raise OSError(18, "Invalid cross-device link")

    here = {
        "_by_range": blocks._by_range,
        "_by_sendfile": blocks._by_sendfile,
        "refuse": refuse,
        "nothing": lambda *a: 0,
    }
    data = random.Random(1).randbytes(3_000_001)
    with open("a", "wb") as file:
        file.write(data)
    source = os.open("a", os.O_RDONLY)
    monkeypatch.setattr(blocks, "KERNEL_BLOCK", 1_000_000)
    monkeypatch.setattr(blocks, "EACH", 1_000_000)
    with whole("b", len(data)) as target:
        target._ways = [here[way] for way in ways]
        target.write(b"begin")
        target.copy(source, 1, 2_900_000)
        target.copy(source, 5, 10)
        target.write(b"end")
        assert target.position == 5 + 2_900_000 + 10 + 3
    os.close(source)
    with open("b", "rb") as file:
        assert file.read() == b"begin" + data[1:2_900_001] + data[5:15] + b"end"


@pytest.mark.parametrize("legacy", [False, True])
def test_counters_and_default_dicts_keep_what_they_hold(torch, legacy):
    counts = collections.Counter({30: 1, 60: 2, "module.x": 3})
    lists = collections.defaultdict(list, {"a": [1]})
    held = {"model": wrapped(torch), "counts": counts, "none": collections.Counter(), "lists": lists}
    held["factory"] = collections.defaultdict(list)
    save(torch, held, "a.pt", legacy)
    fix("a.pt", "b.pt", STRIP)
    fix("b.pt", "c.pt", Changes(drop=("counts.60", "lists.a")))
    new = torch.load("b.pt", weights_only=False)
    assert (new["counts"], new["none"], new["lists"]) == (counts, collections.Counter(), lists)
    assert new["factory"].default_factory is new["lists"].default_factory is list
    fewer = torch.load("c.pt", weights_only=False)
    assert fewer["counts"] == collections.Counter({30: 1, "module.x": 3})
    assert (fewer["lists"], fewer["lists"].default_factory) == ({}, list)


def test_a_file_without_checksums_is_whole(torch):
    torch.serialization.set_crc32_options(False)
    try:
        save(torch, {"module.a": torch.rand(5000)}, "a.pt")
    finally:
        torch.serialization.set_crc32_options(True)
    told = read("a.pt")
    assert told.trouble == list(wrong_records("a.pt", told.size)) == []
    assert "saved without checksums" in told.notes[0]
    fix("a.pt", "b.pt", STRIP)
    assert torch.load("b.pt")["a"].equal(torch.load("a.pt")["module.a"])


@pytest.mark.parametrize("alignment", [64, 4096, 1 << 15, 1 << 16])
def test_storages_stay_where_torch_computes_that_they_are(torch, alignment):
    config = pytest.importorskip("torch.utils.serialization.config")
    with config.patch({"save.storage_alignment": alignment}):
        save(torch, {"module.a": torch.rand(300), "module.b": torch.rand(3000)}, "a.pt")
    if alignment == 1 << 16:  # more than the padding's length can say
        assert "aligned to 65536 bytes" in refused("a.pt", "b.pt")
        return
    fix("a.pt", "b.pt", STRIP)
    with config.patch({"load.calculate_storage_offsets": True}):
        new = torch.load("b.pt", mmap=True)
    assert new["b"].equal(torch.load("a.pt")["module.b"])


def test_the_attributes_of_a_pickled_module_are_no_keys(torch):
    whole = torch.nn.DataParallel(torch.nn.Sequential(torch.nn.Linear(2, 3)))
    save(torch, whole, "a.pt")
    for changes, form in ((STRIP, None), (Changes(add=("x.",)), None), (Changes(), "safetensors")):
        with pytest.raises(Unreadable, match="a whole pickled module, which has no keys"):
            fix("a.pt", "b.pt", changes, form=form)
    save(torch, {"net": whole, "model": whole.state_dict()}, "a.pt")
    fix("a.pt", "b.pt", STRIP)
    new = torch.load("b.pt", weights_only=False)
    assert list(new["model"]) == ["0.weight", "0.bias"]
    assert list(new["net"].state_dict()) == ["module.0.weight", "module.0.bias"]


def test_how_much_is_done_is_told(torch):
    save(torch, {"module.a": torch.rand(300_000), "module.b": torch.rand(300_000)}, "a.pt")
    told = []
    done = fix("a.pt", "b.pt", STRIP, heard=lambda *both: told.append(both))
    assert [size for _, size in told] == [told[0][1]] * 2
    assert 1_200_000 < told[0][0] < 2_400_000 < told[1][0] < done.size < told[0][1] < 2_420_000
    told.clear()
    assert not list(wrong_records("b.pt", done.size, lambda *both: told.append(both)))
    assert told == sorted(told)
    assert 2_390_000 < told[-1][0] <= done.size == told[-1][1]
    told.clear()
    look_at_values(read("b.pt"), lambda *both: told.append(both))
    assert told == [(1_200_000, done.size), (2_400_000, done.size)]


def test_help_shows_lines_that_can_be_run():
    text = subprocess.run(
        [sys.executable, "-m", "gpudoctor", "checkpoint", "fix", "--help"], capture_output=True, text=True, check=True,
        env={**os.environ, "COLUMNS": "120"},
    ).stdout  # fmt: skip
    options = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", text))
    assert {
        "--strip-prefix",
        "--add-prefix",
        "--rename",
        "--select",
        "--drop",
        "--to-safetensors",
        "--to-zip",
    } <= options
    assert text.count("gpudoctor checkpoint fix") >= 7
    assert r"'^layer(\d+)\.=blocks.\1.'" in text


@pytest.mark.usefixtures("torch")
def test_what_is_left_out_of_the_copy_is_not_warned_of(tmp_path):
    program = (
        "import argparse, sys, torch\n"
        "torch.save({'model': {'w': torch.zeros(2)}, 'args': argparse.Namespace(lr=1)}, sys.argv[1])\n"
    )
    whole, model = tmp_path / "whole.pt", tmp_path / "model.pt"
    subprocess.run([sys.executable, "-c", program, str(whole)], check=True, timeout=120)
    command = [
        sys.executable,
        "-m",
        "gpudoctor",
        "checkpoint",
        "fix",
        str(whole),
        "-o",
        str(model),
        "--select",
        "model",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")

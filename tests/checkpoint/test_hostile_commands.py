"""Malicious files given to the commands: one line or a report, nothing that a terminal obeys, and never for ever."""

import io
import itertools
import json
import os
import struct
import subprocess
import zipfile
import zlib

import pytest

from gpudoctor.checkpoint import Unreadable, read
from gpudoctor.checkpoint.description.survey import describe
from gpudoctor.checkpoint.formats.checksums import wrong_records
from gpudoctor.checkpoint.formats.values import look_at_values
from gpudoctor.checkpoint.repair.copy import fix
from gpudoctor.checkpoint.repair.edit import Changes
from gpudoctor.checkpoint.repair.rename import Rename
from tests.processor_time import within
from tests.warm_python import warm_gpudoctor

SECONDS = 60.0
"""Deadline of one command, on a busy machine."""
STRIP = Changes(strip=("module.",))
RED = "\x1b[31mRED\x9b0m"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def checkpoint(*arguments, code=0, **more):
    """Run a command; see that it ends as it should, and return what it printed."""
    done = subprocess.run(
        [*warm_gpudoctor(), "checkpoint", *arguments], capture_output=True, timeout=SECONDS, **more
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert not {"\x1b", "\x9b", "\x07"} & set(done.stdout.decode() + done.stderr.decode())
    assert b"Traceback" not in done.stderr
    return (done.stdout if code < 2 else done.stderr).decode()


def text(value):
    data = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(data)) + data


def tensor(shape=(4,), stride=(1,), offset=0, *, key="0", device="cpu", count=4):
    numbers = [b"(" + b"".join(integer(n) for n in each) + b"t" for each in (shape, stride)]
    asked = (
        b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text(key) + text(device) + integer(count) + b"tQ"
    )
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n(" + asked + integer(offset) + numbers[0] + numbers[1]
        + b"\x89ccollections\nOrderedDict\n)RtR"
    )  # fmt: skip


def integer(number):
    return b"\x8a\x09" + number.to_bytes(9, "little", signed=True)


def pickled(items):
    """The opcodes of a dict."""
    return b"\x80\x02}(" + b"".join(key + value for key, value in items) + b"u."


def archive(data, storage=bytes(16), name="x/data/0", flags=0, offset=None):
    """A zip file as torch writes it; `name` may be bytes, and `offset` is a lie about where the last record begins."""
    records = [
        (b"x/data.pkl", data),
        (b"x/version", b"3\n"),
        (name if isinstance(name, bytes) else name.encode(), storage),
    ]
    body = directory = b""
    for number, (called, held) in enumerate(records):
        begin, crc, size = len(body), zlib.crc32(held), len(held)
        lying = offset is not None and number == len(records) - 1
        extra = struct.pack("<HHQ", 1, 8, offset) if lying else b""
        body += (
            struct.pack("<4s5H3L2H", b"PK\3\4", 20, flags, 0, 0, 0, crc, size, size, len(called), 0)
            + called
            + held
        )
        directory += struct.pack(
            "<4s6H3L5H2L", b"PK\1\2", 45, 45, flags, 0, 0, 0, crc, size, size, len(called), len(extra), 0, 0, 0, 0,
            0xFFFFFFFF if lying else begin,
        ) + called + extra  # fmt: skip
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 3, 3, len(directory), len(body), 0)
    return body + directory + end


def write(data, name="a.pt"):
    with open(name, "wb") as file:
        file.write(data)
    return name


def refused(what):
    with pytest.raises(Unreadable) as caught:
        what()
    assert str(caught.value).isprintable()
    return str(caught.value)


# Names and words from the file


def test_nothing_from_a_file_is_obeyed_by_a_terminal():
    header = json.dumps({"a": {"dtype": RED, "shape": [1], "data_offsets": [0, 4]}}).encode()
    write(len(header).to_bytes(8, "little") + header + bytes(4), "a.safetensors")
    assert "unknown type" in checkpoint("inspect", "a.safetensors", code=1)
    write(archive(pickled([(text("a"), tensor(device=RED))])))
    assert "a device that there is not" in checkpoint("inspect", "a.pt", code=1)
    write(
        archive(
            pickled(
                [(text(f"module.{RED}\n"), tensor()), (text("module._extra_state"), b"cos\n\xc2\x9b\n)R")]
            )
        )
    )
    checkpoint("inspect", "a.pt", "-v", code=1)
    checkpoint("fix", "a.pt", "-o", "b.pt", "--strip-prefix", "module.")
    assert "no such" in checkpoint("fix", f"{RED}.pt", "-o", "c.pt", "--add-prefix", "a.", code=2).lower()
    write(archive(pickled([(text("module.a"), tensor())]), name=f"x/{RED}", flags=1))
    checkpoint("inspect", "a.pt", "--verify", code=1)
    checkpoint("fix", "a.pt", "-o", "d.pt", "--strip-prefix", "module.", code=2)


def test_half_of_a_surrogate_pair_in_a_name():
    name = "module.\ud800é"
    write(archive(pickled([(text(name), tensor())])))
    said = json.loads(checkpoint("inspect", "a.pt", "--values", "--json"))
    assert said["facts"]["checkpoint"]["state_dicts"][0]["keys"][0]["name"] == "module.\\ud800é"
    checkpoint("inspect", "a.pt", "--against", "a.pt", "--json")
    json.loads(checkpoint("fix", "a.pt", "-o", "b.pt", "--strip-prefix", "module.", "--json"))
    assert list(read("b.pt").root) == ["\ud800é"]
    assert "no Unicode text" in checkpoint("fix", "a.pt", "-o", "c.safetensors", "--to-safetensors", code=2)
    strange = os.fsdecode(b"\xff\xfe.pt")
    os.rename("a.pt", strange)
    json.loads(checkpoint("inspect", strange, "--json"))
    json.loads(
        checkpoint("fix", strange, "-o", os.fsdecode(b"\xfd.pt"), "--strip-prefix", "module.", "--json")
    )


def test_a_global_with_half_a_surrogate_pair_is_copied():
    held = b"X\5\0\0\0torch" + text("f\ud800") + b"\x93"
    write(archive(pickled([(text("module.a"), tensor()), (text("g"), held)])))
    fix("a.pt", "b.pt", Changes(drop=("g",)))
    write(
        archive(
            b"\x80\x04}(" + text("m") + b"}" + text("module.a") + tensor() + b"s" + text("g") + held + b"u."
        )
    )
    fix("a.pt", "c.pt", STRIP)
    assert read("c.pt").root["g"].name == "f\ud800"


def test_numbers_in_names_that_python_does_not_read():
    digits = ["1" * 5000, "2" * 5000]
    write(archive(pickled([(text(f"a.{number}.weight"), tensor()) for number in digits])))
    checkpoint("inspect", "a.pt")


@pytest.mark.parametrize("key", [b"K\1\x85", b"\x88", b"N", b"K\7"], ids=["tuple", "bool", "none", "integer"])
def test_a_module_s_dict_with_keys_that_are_no_text(key):
    made = b"ccollections\nOrderedDict\n)R"
    items = b"(" + text("module.a") + tensor() + key + tensor() + b"u"
    write(archive(b"\x80\x02" + made + items + b"}" + text("_metadata") + made + b"sb."))
    for changes in (STRIP, Changes(add=("x.",)), Changes(renames=(Rename("module.*", "*"),))):
        assert "no state dict" in refused(lambda changes=changes: fix("a.pt", "b.pt", changes))


# Sizes


def test_more_elements_than_there_can_be():
    write(archive(pickled([(text("a"), tensor((1 << 62,) * 30, (0,) * 30))])))
    assert "arguments that torch does not write" in refused(lambda: read("a.pt"))


@pytest.mark.parametrize("offset", [1 << 62, 1 << 63, (1 << 64) - 1])
def test_a_record_beyond_all_files(offset):
    write(archive(pickled([(text("module.a"), tensor())]), offset=offset))
    told = read("a.pt")
    assert told.trouble
    assert dict(look_at_values(told).skipped) == {"not found in the file": 1}
    assert list(wrong_records("a.pt", told.size))
    refused(lambda: fix("a.pt", "b.pt", STRIP))


# Time and memory


def test_tuples_of_one_hash_as_keys():
    """-1 and -2 have one hash, and so have all tuples of them: a dict takes the square of their number."""
    keys = b"".join(
        b"(" + b"".join(b"h\0" if one else b"h\1" for one in each) + b"tN"
        for each in itertools.product((0, 1), repeat=13)
    )
    write(archive(b"\x80\x02J\xff\xff\xff\xffq\x000J\xfe\xff\xff\xffq\x010}(" + keys + b"u."))
    assert "hashes are all one" in refused(lambda: read("a.pt"))


def test_a_tensor_that_is_named_a_million_times():
    ten = b"](" + b"h\1" * 2230 + b"eq\2"
    write(archive(b"\x80\x02" + tensor() + b"q\x010" + ten + b"0](" + b"h\2" * 2235 + b"e."))
    assert "named more than" in refused(lambda: read("a.pt"))


def test_a_long_name_that_tensors_share():
    items = b"h\1" * 20_000
    write(archive(b"\x80\x02" + tensor() + b"q\x010}" + text("k" * 300_000) + b"](" + items + b"es."))
    with within(10):
        described = describe(read("a.pt"))
        assert sum(map(len, described.shared[0])) < 1 << 29


@pytest.mark.parametrize("body", [b"N\x94" * 5_000_000, b"K\1" * 8_000_000 + b"\x85"], ids=["memo", "stack"])
def test_more_is_piled_up_than_a_checkpoint_of_that_size_has(body):
    write(archive(b"\x80\x04" + body + b"."))
    assert "more objects than a checkpoint of its size has" in refused(lambda: read("a.pt"))


def test_a_packed_pickle_may_not_grow_without_bounds():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("x/data.pkl", b"\x80\x02" + b"N0" * 10_000_000 + b"N.")
    write(file.getvalue())
    assert "claims to grow" in refused(lambda: read("a.pt"))


def test_records_that_lie_over_each_other_are_not_read_again_and_again():
    held = zlib.compressobj(9, 8, -15)
    packed = held.compress(bytes(3_000_000)) + held.flush()
    begin = archive(pickled([(text("a"), tensor())]))
    body, directory = begin[: begin.index(b"PK\1\2")], begin[begin.index(b"PK\1\2") : begin.index(b"PK\5\6")]
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, 1, len(packed), 3_000_000, 4, 0) + b"x/zz"
    entry = struct.pack(
        "<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 0, 1, len(packed), 3_000_000, 4, 0, 0, 0, 0, 0, len(body)
    ) + b"x/zz"  # fmt: skip
    directory += entry * 5000
    body += local + packed
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 5003, 5003, len(directory), len(body), 0)
    write(body + directory + end)
    with within(5):
        lines = list(wrong_records("a.pt", os.path.getsize("a.pt")))
        assert "far more than the file has" in lines[-1]


def test_views_that_lie_over_each_other_are_not_read_again_and_again():
    items = [(text(f"k{n}"), tensor((95_000 - n,), (1,), n, count=100_000)) for n in range(1000)]
    write(archive(pickled(items), os.urandom(400_000)))
    told = look_at_values(read("a.pt"))
    assert told.read < 6 * os.path.getsize("a.pt")
    assert dict(told.skipped)["views of bytes that others were read from"] > 900


def test_a_key_too_long_for_a_pattern():
    write(archive(pickled([(text("." * 200_000), tensor())])))
    changes = Changes(renames=(Rename("*.*.weight", "*.*.w"),))
    assert "too long for --rename" in refused(lambda: fix("a.pt", "b.pt", changes))


# Pipes, closed ends, folders


def test_a_pipe_in_the_place_of_an_index(tmp_path):
    os.mkdir("set")
    os.mkfifo("set/model.safetensors.index.json")
    write(archive(pickled([(text("a"), tensor())])))
    assert "is not a file" in checkpoint("inspect", "set", code=2)
    assert "is not a file" in checkpoint("inspect", "a.pt", "--against", "set", code=2)
    assert "is not a file" in checkpoint("fix", "set", "-o", "b.pt", "--strip-prefix", "a", code=2)


def test_a_folder_that_is_not_there_is_no_name_of_a_file():
    write(archive(pickled([(text("module.a"), tensor())])))
    assert "no folder" in refused(lambda: fix("a.pt", "sub/", STRIP))
    assert not os.path.exists("sub")


# Records under names that only torch reads


@pytest.mark.parametrize("key", ["é", "0\0z"])
def test_names_of_records_are_read_as_torch_reads_them(key):
    held = pickled([(text("module.a"), tensor(key=key)), (text("o"), b"K\1")])
    write(archive(held, struct.pack("<4f", 1, 2, 3, float("nan")), name=f"x/data/{key}"))
    assert look_at_values(read("a.pt")).nonfinite == (("module.a", 1),)
    fix("a.pt", "b.pt", Changes(drop=("o",), strip=("module.",)))
    fix("b.pt", "c.safetensors", Changes(), form="safetensors")
    assert (
        look_at_values(read("b.pt")).nonfinite
        == look_at_values(read("c.safetensors")).nonfinite
        == (("a", 1),)
    )


def test_a_record_without_a_name():
    write(archive(pickled([(text("module.a"), tensor())]), name=b""))
    told = read("a.pt")
    assert list(wrong_records("a.pt", told.size)) == []
    assert any("missing" in line for line in told.trouble)


def test_a_record_outside_of_the_folder_is_not_copied():
    """torch takes the first record's folder for the archive's, and a copy may have another first."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as mixed:
        for name, held in (
            ("y/version", b"3\n"), ("x/data.pkl", pickled([(text("module.a"), tensor())])), ("x/data/0", bytes(16)),
            ("y/data.pkl", b"\x80\x02cposix\nsystem\nN\x85R."),
        ):  # fmt: skip
            mixed.writestr(name, held)
        mixed.filelist.sort(key=lambda info: info.filename)
    write(file.getvalue())
    assert "outside of the folder" in refused(lambda: fix("a.pt", "b.pt", STRIP))


# Sharded sets


def shard(name, value):
    header = json.dumps({name: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return len(header).to_bytes(8, "little") + header + struct.pack("<f", value)


def test_every_shard_is_looked_at_or_told_as_not():
    os.makedirs("set/sub")
    write(shard("a", float("nan")), "set/sub/one.safetensors")
    write(shard("b", 0.0), "set/two.safetensors")
    names = {"a": "sub/one.safetensors", "b": "./two.safetensors", "c": "three.safetensors", "d": "../a.pt"}
    with open("set/model.safetensors.index.json", "w") as file:
        json.dump({"weight_map": names}, file)
    told = look_at_values(read("set"))
    assert (told.nonfinite, told.zero, told.read) == ((("a", 1),), ("b",), 8)
    assert [reason.split(":")[0] for reason, _ in told.skipped] == [
        "shard three.safetensors",
        "shard ../a.pt",
    ]
    report = json.loads(checkpoint("inspect", "set", "--values", "--json", code=1))
    assert report["verdict"]["primary"] == "checkpoint-corrupt"

"""Files that are cut, lying, bottomless or malicious: one clear line or a report, soon, and nothing in them is run."""

import io
import os
import pickle
import random
import struct
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest

from gpudoctor.checkpoint import Checkpoint, Unreadable, read
from gpudoctor.checkpoint.formats.torch_legacy import MAGIC
from tests.processor_time import within

FIXTURES = Path(__file__).parent.parent / "fixtures"
ZIP = FIXTURES / "torch-1.6.0.zip.pt"
LEGACY = FIXTURES / "torch-1.0.0.pt"
SECONDS = 5.0
"""Any one file; a machine that is busy with other things takes a while."""


def looked(path):
    """Read a file as a command would; return the checkpoint, or the one line that says why not."""
    with within(SECONDS):
        try:
            checkpoint = read(path)
            count = sum(1 for _ in checkpoint.tensors())
            assert count <= 1_000_000
            lines = [*checkpoint.trouble, *checkpoint.notes, checkpoint.version or ""]
            result = checkpoint
        except Unreadable as error:
            result = str(error)
            lines = [result]
            assert result.startswith(os.fspath(path).split("\0")[0])
    for line in lines:
        assert line.isprintable(), line
        assert len(line) < 1000
    return result


@pytest.fixture
def look(tmp_path):
    def write_and_look(data, name="x.pt"):
        (tmp_path / name).write_bytes(data)
        return looked(tmp_path / name)

    return write_and_look


def zipped(data, others=(), method=zipfile.ZIP_STORED):
    """An archive as torch writes it, around a pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("x/data.pkl", data)
        archive.writestr("x/version", "3\n")
        for name, held in others:
            archive.writestr(name, held)
    return file.getvalue()


def legacy(data):
    """A file of the older format around a pickle."""
    parts = [MAGIC, 1001, {"little_endian": True}]
    return b"".join(pickle.dumps(part, 2) for part in parts) + data + pickle.dumps([], 2)


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def reference(key="0", count=4, kind="FloatStorage", device="cpu"):
    """The opcodes that ask for a storage."""
    number = b"\x8a\x09" + count.to_bytes(9, "little", signed=True)
    return b"(" + text("storage") + f"ctorch\n{kind}\n".encode() + text(key) + text(device) + number + b"tQ"


def tensor(shape=b"K\x04\x85", stride=b"K\x01\x85", offset=b"K\x00", **storage):
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n(" + reference(**storage) + offset + shape + stride
        + b"\x89ccollections\nOrderedDict\n)RtR"
    )  # fmt: skip


WRAPPERS = {"plain": lambda data: data, "zip": zipped, "legacy": legacy}


# Cut off


@pytest.mark.parametrize(
    "source", [ZIP, LEGACY, FIXTURES / "torch-1.6.0.legacy.pt"], ids=lambda path: path.name
)
def test_cut_at_every_byte(tmp_path, source):
    data = source.read_bytes()
    path = tmp_path / "x.pt"
    assert looked(source).trouble == []
    for length in range(len(data)):
        path.write_bytes(data[:length])
        result = looked(path)
        assert isinstance(result, str) or result.trouble, length
    path.write_bytes(data)
    assert looked(path).trouble == []


@pytest.mark.parametrize("protocol", range(6))
def test_a_plain_pickle_cut_at_every_byte(look, protocol):
    data = pickle.dumps({"a": [1, 2.5, "text", b"bytes", (None, True)], 3: {4}, "n": 2**70}, protocol)
    whole = look(data)
    assert whole.kind == "pickle"
    assert whole.root["a"][:3] == [1, 2.5, "text"]
    assert whole.root["n"] == 2**70
    for length in range(len(data)):
        assert isinstance(look(data[:length]), str), length


def test_a_zip_without_its_end_says_so(look):
    assert "cut off" in look(ZIP.read_bytes()[:-30])


# Zip files that lie


def test_a_bomb_of_a_pickle(look):
    started = time.monotonic()
    assert "claims to grow" in look(zipped(b"\x80\x02" + b"]" * 300_000_000, method=zipfile.ZIP_DEFLATED))
    assert time.monotonic() - started < 60


def test_records_over_each_other(look):
    data = bytearray(
        zipped(b"\x80\x02" + tensor() + b".", [("x/data/0", b"\0" * 16), ("x/data/1", b"\0" * 16)])
    )
    at = data.rfind(b"PK\1\2")  # the last record's entry: let it begin where the one before does
    before = data.rfind(b"PK\1\2", 0, at)
    data[at + 42 : at + 46] = data[before + 42 : before + 46]
    assert any("lies over" in line for line in look(bytes(data)).trouble)


@pytest.mark.parametrize("name", ["../../evil", "/etc/passwd", "x/../../evil", "x\\..\\evil"])
def test_names_that_lead_out_of_the_archive(look, name):
    result = look(zipped(pickle.dumps({"a": 1}, 2), [(name, b"evil")]))
    assert any("leads out of the archive" in line for line in result.trouble)


@pytest.mark.parametrize("place", range(0, 22, 2))
def test_an_end_of_the_directory_that_lies(look, place):
    data = bytearray(zipped(pickle.dumps({"a": 1}, 2)))
    at = data.rfind(b"PK\5\6") + place
    data[at : at + 2] = b"\xfe\x7f"
    look(bytes(data))


@pytest.mark.parametrize("place", range(0, 46, 2))
def test_an_entry_that_lies(look, place):
    whole = zipped(b"\x80\x02" + tensor() + b".", [("x/data/0", b"\0" * 16)])
    for value in (b"\xff\xff", b"\x00\x00", b"\x01\x00"):
        data = bytearray(whole)
        at = data.find(b"PK\1\2") + place
        data[at : at + 2] = value
        look(bytes(data))


def test_two_billion_records_are_claimed(look):
    data = bytearray(zipped(pickle.dumps({"a": 1}, 2)))
    end = data.rfind(b"PK\5\6")
    wide = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 2**31, 2**31, 200, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    assert "claims 2147483648 records" in look(bytes(data[:end] + wide + locator + data[end:]))


def test_two_pickles_of_one_name(look):
    with pytest.warns(UserWarning, match="Duplicate"):
        data = zipped(pickle.dumps({"a": 1}, 2), [("x/data.pkl", b"cos\nsystem\n.")])
    assert "two records are named" in look(data)
    assert "two records are named" in look(
        zipped(pickle.dumps({"a": 1}, 2), [("X/DATA.PKL", b"cos\nsystem\n.")])
    )


def test_the_pickle_that_torch_would_read_is_the_one_that_is_read(look):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("evil/data.pkl", b"cos\nsystem\n" + text("true") + b"\x85R.")
        archive.writestr("data.pkl", pickle.dumps({}, 2))
    assert [suspect.name for suspect in look(file.getvalue()).suspects] == ["os.system"]


def test_a_wrong_checksum_hides_nothing(look):
    """torch does not look at checksums: what a scanner refuses to read would be run."""
    data = bytearray(zipped(b"cos\nsystem\n" + text("true") + b"\x85R."))
    for signature, place in ((b"PK\3\4", 14), (b"PK\1\2", 16)):
        at = data.find(signature) + place
        data[at : at + 4] = b"\1\2\3\4"
    result = look(bytes(data))
    assert [suspect.name for suspect in result.suspects] == ["os.system"]
    assert any("checksum" in line for line in result.trouble)


@pytest.mark.parametrize("changed", ["name", "flag"])
def test_a_record_that_a_scanner_would_refuse_is_read(look, changed):
    data = bytearray(zipped(b"cos\nsystem\n" + text("true") + b"\x85R."))
    if changed == "name":
        data[30:31] = b"y"
    else:
        data[data.find(b"PK\1\2") + 8] |= 1
    result = look(bytes(data))
    assert [suspect.name for suspect in result.suspects] == ["os.system"]
    assert result.trouble


def test_sizes_that_lie(look):
    short = look(zipped(b"\x80\x02" + tensor() + b".", [("x/data/0", b"\0" * 12)]))
    assert short.trouble == ["storage 0 has 12 bytes, and its tensors need 16"]
    missing = look(zipped(b"\x80\x02" + tensor() + b"."))
    assert missing.trouble == ["storage 0 (16 bytes) is missing: no record x/data/0"]
    beyond = look(zipped(b"\x80\x02" + tensor(shape=b"K\x05\x85") + b".", [("x/data/0", b"\0" * 16)]))
    assert beyond.trouble == ["a tensor of shape [5] goes beyond its storage 0"]


# Pickles that lie


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
@pytest.mark.parametrize(
    "data, said",
    [
        (b"\x80\x02h\x07.", "a reference to memo 7, which is nothing"),
        (b"\x80\x02j\xff\xff\xff\x7f.", "a reference to memo 2147483647, which is nothing"),
        (b"\x80\x02\xff.", "unknown opcode 0xff"),
        (b"\x80\x09N.", "pickle protocol 9"),
        (b"\x80\x02" + text("another") + b"\x85Q.", "an unknown persistent id: another"),
        (b"\x80\x02K\x01Q.", "an unknown persistent id"),
        (b"\x80\x02P0\n.", "an unknown persistent id"),
        (b"\x80\x02" + reference(kind="Size") + b".", "an unknown kind of storage"),
        (b"\x80\x02" + reference(count=-1) + b".", "an unknown kind of storage"),
        (b"\x80\x02" + reference(count=2**64) + b".", "an unknown kind of storage"),
        (b"\x80\x02\x8b\xff\xff\xff\x7f.", "it ends too soon"),
        (b"\x80\x02\x8b\xff\xff\xff\xff.", "it ends too soon"),
        (b"\x80\x02\x8b\x00\x10\x00\x00" + b"\x01" * 4096 + b".", "an integer of 4096 bytes"),
        (b"\x80\x02X\xff\xff\xff\xff.", "it ends too soon"),
        (b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", "it ends too soon"),
        (b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.", "it ends too soon"),
        (b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7f.", "it ends too soon"),
        (b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xffN.", "it ends too soon"),
        (b"\x80\x05\x97.", "a buffer outside of the pickle"),
        (b"\x80\x02t.", "no mark"),
        (b"\x80\x020.", "it takes from an empty stack"),
        (b"\x80\x02(0e.", "it takes from an empty stack|no mark"),
        (b"\x80\x02}]Ns.", "no checkpoint|damaged pickle"),
        (b"\x80\x02}(K\x01u.", "a key without a value"),
        (b"\x80\x02NK\x01a.", "appended to what is no list"),
        (b"\x80\x02]K\x01K\x02s.", "set in what is no dict"),
        (b"\x80\x02X\x02\0\0\0\xff\xff.", "a text that is no UTF-8"),
        (b"\x80\x02" + b"I" + b"9" * 3000 + b"\n.", "an integer of 3000 digits"),
        (b"\x80\x02" + tensor(shape=b"J\xff\xff\xff\xff\x85") + b".", "arguments that torch does not write"),
        (b"\x80\x02" + tensor(shape=b"(" + b"K\x01" * 70 + b"t") + b".", "arguments that torch does not write"),
        (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.", "arguments that torch does not write"),
        (b"\x80\x02.", "ends with an empty stack"),
    ],
)  # fmt: skip
def test_a_pickle_that_breaks_the_rules(look, wrap, data, said):
    result = look(wrap(data))
    assert isinstance(result, str)
    assert any(part in result for part in said.split("|")), result


NEST = 100_000


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02" + b"]" * NEST + b"a" * (NEST - 1) + b".",
        b"\x80\x02N" + b"\x85" * NEST + b".",
        b"\x80\x02N" + b"}" + b"K\x01}" * NEST + b"s" * NEST + b".",
        b"\x80\x02" + b"ccollections\nCounter\nq\x00" + b"0" + b"(" * NEST + b"l" * NEST + b".",
        b"\x80\x02ccollections\nCounter\nq\x000)" + b"q\x010h\x00h\x01R\x85" * NEST + b".",
    ],
    ids=["lists", "tuples", "dicts", "marks", "calls"],
)
def test_a_hundred_thousand_levels(look, wrap, data):
    assert "nested deeper than" in str(look(wrap(data))) or "damaged pickle" in str(look(wrap(data)))


def test_a_key_of_tuples_within_tuples(look):
    """Python hashes these level by level on its own stack, and dies of it; or it takes for ever."""
    deep = b"N" + b"\x85" * NEST
    laughs = b"N\x85q\x00" + b"0h\x00h\x00\x86q\x00" * 64
    for key in (deep, laughs):
        for held in (b"}" + key + b"Ns", b"(" + key + b"\x91", b"\x8f(" + key + b"\x90", b"(" + key + b"Nd"):
            assert "a key that no checkpoint has" in look(b"\x80\x04" + held + b".")


def test_keys_that_all_have_one_hash(look):
    """A dict of them takes the square of their number."""
    prime = (1 << 61) - 1
    keys = b"".join(b"\x8a\x0b" + (i * prime).to_bytes(11, "little") + b"N" for i in range(1, 60_000))
    assert isinstance(look(b"\x80\x02}(" + keys + b"u."), str)


@pytest.mark.parametrize("leaf", [b"N", tensor()], ids=["nothing", "tensor"])
def test_a_billion_laughs(look, leaf):
    data = b"\x80\x02" + leaf + b"q\x00" + b"0(" + b"h\x00" * 10 + b"tq\x00" * 1
    data += b"0(" + b"h\x00" * 10 + b"tq\x00"
    for _ in range(60):
        data += b"0(" + b"h\x00" * 10 + b"tq\x00"
    result = look(data + b".")
    assert isinstance(result, Checkpoint) or "named more than" in result


def test_what_contains_itself(look):
    result = look(b"\x80\x02]q\x00(h\x00h\x00" + tensor() + b"}q\x01" + text("me") + b"h\x01s" + b"e.")
    assert [path for path, _ in result.tensors()] == [(2,)]


def test_everything_contains_everything(look):
    count = 60
    data = b"\x80\x02" + b"".join(b"]q" + bytes([i]) + b"0" for i in range(count))
    for i in range(count):
        data += (
            b"h" + bytes([i]) + b"(" + b"".join(b"h" + bytes([j]) for j in range(count)) + tensor() + b"e0"
        )
    look(data + b"h\x00.")


@pytest.mark.parametrize("flood", [b"]", b"\x8f", b"}", b"(", b"N\x94", b")\x85"], ids=repr)
def test_floods_of_objects(tmp_path, flood):
    """A file of 10 megabytes takes no gigabyte."""
    path = tmp_path / "x.pt"
    path.write_bytes(b"\x80\x04" + flood * (10_000_000 // len(flood)) + b".")
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "from gpudoctor.checkpoint import read, Unreadable\n"
        "try: read(sys.argv[1])\n"
        "except Unreadable as error: print(error)\n"
        "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])"  # ru_maxrss is also the parent's
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) < 850_000  # kilobytes


def test_a_claimed_length_takes_no_memory(look):
    for head in (b"\x8e", b"\x8d", b"\x96"):
        assert "ends too soon" in look(b"\x80\x05" + head + struct.pack("<Q", 1 << 40) + b"abc")


def test_two_billion_keys_are_claimed(look):
    storages = b"".join(b"\x8a\x05" + (2**31).to_bytes(5, "little") for _ in range(3))
    parts = [MAGIC, 1001, {"little_endian": True}, {}]
    result = look(b"".join(pickle.dumps(part, 2) for part in parts) + b"\x80\x02](" + storages + b"e.")
    assert any("no tensor asks for it" in line for line in result.trouble)


# Code


class Payload:
    """What a stranger plants: it would create a file."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return (os.system, (f"touch {self.target}",))


def payloads(target):
    line = f"open({str(target)!r}, 'w')"
    command = f"touch {target}"
    got = b"cbuiltins\ngetattr\n"
    return {
        "reduce": (pickle.dumps({"a": Payload(target)}, 2), "posix.system", "REDUCE"),
        "stack": (pickle.dumps({"a": Payload(target)}, 4), "posix.system", "REDUCE"),
        "exec": (b"\x80\x02cbuiltins\nexec\n" + text(line) + b"\x85R.", "builtins.exec", "REDUCE"),
        "eval": (b"\x80\x02c__builtin__\neval\n" + text(line) + b"\x85R.", "__builtin__.eval", "REDUCE"),
        "inst": (f"(S{command!r}\nios\nsystem\n.".encode(), "os.system", "INST"),
        "obj": (b"\x80\x02(cos\nsystem\n" + text(command) + b"o.", "os.system", "OBJ"),
        "newobj": (b"\x80\x02csubprocess\nPopen\n" + text(command) + b"\x85\x81.", "subprocess.Popen", "NEWOBJ"),
        "newobj_ex": (b"\x80\x04csubprocess\nPopen\n)}\x92.", "subprocess.Popen", "NEWOBJ_EX"),
        "build": (b"\x80\x02ctorch\nTensor\nN}" + text("x") + text("y") + b"s\x86b.", "torch.Tensor", "BUILD"),
        "chain": (
            b"\x80\x02" + got + got + b"cos\npath\n" + text("os") + b"\x86R" + text("system") + b"\x86R"
            + text(command) + b"\x85R.", "what builtins.getattr returns", "REDUCE",
        ),
        "escaped": (b"\x80\x04S'o\\x73'\nS'sys\\x74em'\n\x93" + text(command) + b"\x85R.", "os.system", "REDUCE"),
        "extension": (b"\x80\x02\x82\x07)R.", "copyreg._extension_registry.7", "REDUCE"),
        "memo": (b"\x80\x02cos\nsystem\nq\x000" + text(command) + b"\x85q\x010h\x00h\x01R.", "os.system", "REDUCE"),
        "subclass": (
            b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(cos\nsystem\nctorch\nTensor\n" + text(command)
            + b"\x85NtR.", "os.system", "GLOBAL",
        ),
        "cut": (b"\x80\x02cos\nsystem\n" + text(command) + b"\x85R\xff", "os.system", "REDUCE"),
        "ended": (b"\x80\x02cos\nsystem\n" + text(command) + b"\x85R(", "os.system", "REDUCE"),
    }  # fmt: skip


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
@pytest.mark.parametrize("kind", payloads("x"))
def test_a_payload_is_named_and_never_run(tmp_path, look, wrap, kind):
    target = tmp_path / "planted"
    data, name, opcode = payloads(target)[kind]
    result = look(wrap(data))
    assert not target.exists()
    assert isinstance(result, Checkpoint), result
    found = {suspect.name: suspect for suspect in result.suspects}
    assert found[name].opcode == opcode
    assert 0 <= found[name].place < len(wrap(data))
    assert bool(result.trouble) >= (kind in ("cut", "ended"))


def test_the_payloads_would_run(tmp_path):
    """The same bytes in the hands of pickle, or the tests above would prove nothing."""
    for kind in ("reduce", "stack", "exec", "eval", "inst", "obj", "escaped", "memo", "cut", "ended"):
        target = tmp_path / kind
        program = "import pickle, sys; pickle.loads(bytes.fromhex(sys.argv[1]))"
        subprocess.run(
            [sys.executable, "-c", program, payloads(target)[kind][0].hex()], capture_output=True, timeout=60
        )
        assert target.exists(), kind


def test_a_payload_behind_a_harmless_beginning(tmp_path, look):
    """The magic number further behind than it usually stands, and the payload in the second pickle."""
    target = tmp_path / "planted"
    late = b"\x80\x02" + b"N0" * 100 + pickle.dumps(MAGIC, 2)[2:]
    result = look(late + payloads(target)["reduce"][0] + pickle.dumps({}, 2) * 2 + pickle.dumps([], 2))
    assert [suspect.name for suspect in result.suspects] == ["posix.system"]
    assert not target.exists()


def test_a_payload_that_calls_itself_torchscript(tmp_path, look):
    data = payloads(tmp_path / "planted")["reduce"][0]
    for others in ([("x/code/a.py", b"")], [("x/constants.pkl", b"")]):
        assert [suspect.name for suspect in look(zipped(data, others)).suspects] == ["posix.system"]
    script = b"\x80\x02c__torch__\nNet\n)\x81."
    assert look(zipped(script, [("x/constants.pkl", b"")])).suspects == []
    assert look(zipped(script, [("x/code/a.py", b"")])).suspects != []


# What is no file


def test_what_is_no_file(tmp_path):
    assert "a folder without" in looked(tmp_path)
    assert "neither a file nor a folder" in looked("/dev/zero")
    assert "No such file" in looked(tmp_path / "missing.pt")
    assert "no file can have" in looked(f"{tmp_path}/a\0b")
    os.mkfifo(tmp_path / "pipe")
    assert "neither a file nor a folder" in looked(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    assert isinstance(looked(tmp_path / "circle"), str)
    (tmp_path / "empty.pt").touch()
    assert "an empty file" in looked(tmp_path / "empty.pt")


def test_no_permission(tmp_path):
    path = tmp_path / "x.pt"
    path.write_bytes(ZIP.read_bytes())
    path.chmod(0)
    program = (
        "import os, sys; from gpudoctor.checkpoint import read, Unreadable\n"
        "if not os.geteuid(): os.seteuid(65534)\n"
        "try: read(sys.argv[1])\n"
        "except Unreadable as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == (f"{path}: Permission denied\n", "")


@pytest.mark.parametrize(
    "data", [b"hello", b"\n" * 2000, b"{}", b"\x89PNG\r\n", b"#!/bin/sh\n", b"N", b"\0" * 5000]
)
def test_what_is_no_checkpoint(look, data):
    assert isinstance(look(data), str)


@pytest.mark.parametrize("source", [ZIP, LEGACY], ids=lambda path: path.name)
def test_a_file_that_changes_while_it_is_read(tmp_path, source):
    """Another thread cuts it and writes it again, all the time."""
    data = source.read_bytes()
    path = tmp_path / "x.pt"
    path.write_bytes(data)
    ended = threading.Event()

    def change():
        chance = random.Random(3)
        while not ended.is_set():
            os.truncate(path, chance.randrange(len(data)))
            with open(path, "r+b") as file:
                file.write(data)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        until = time.monotonic() + 1
        while time.monotonic() < until:
            looked(path)
    finally:
        ended.set()
        thread.join()
    path.write_bytes(data)
    assert looked(path).trouble == []


def test_a_name_is_shown_on_one_line(tmp_path):
    path = tmp_path / "a\nb\x1b[31m.pt"
    path.write_bytes(b"nothing")
    with pytest.raises(Unreadable) as error:
        read(path)
    assert str(error.value).isprintable()


# Chance


def test_mutations(tmp_path):
    """Files of the corpus with bytes changed, moved and taken away, for two seconds."""
    chance = random.Random(15)
    corpus = [path.read_bytes() for path in sorted(FIXTURES.glob("*.pt"))]
    path = tmp_path / "x.pt"
    until = time.monotonic() + 2
    outcomes = set()
    while time.monotonic() < until:
        data = mutated(bytearray(chance.choice(corpus)), chance)
        path.write_bytes(data)
        outcomes.add(type(looked(path)))
    assert outcomes == {str, Checkpoint}


def mutated(data, chance):
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(data))
        kind = chance.randrange(5)
        if kind == 0:
            data[at] = chance.randrange(256)
        elif kind == 1:
            data[at : at + chance.randint(1, 40)] = b""
        elif kind == 2:
            data[at:at] = bytes(
                chance.choice(b"(.0RQb]}tu\x85\x86\x93\x94hqKX\xff") for _ in range(chance.randint(1, 8))
            )
        elif kind == 3:
            other = chance.randrange(len(data))
            data[at:at] = data[other : other + chance.randint(1, 60)]
        else:
            data[at : at + 4] = chance.choice([b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f"])
        if not data:
            return b"\0"
    return bytes(data)


def test_mutated_pickles(look):
    """The same within a zip file whose directory stays whole."""
    with zipfile.ZipFile(ZIP) as archive:
        name = next(name for name in archive.namelist() if name.endswith("data.pkl"))
        data = archive.read(name)
    chance = random.Random(16)
    until = time.monotonic() + 2
    while time.monotonic() < until:
        changed = mutated(bytearray(data), chance)
        look(zipped(changed))

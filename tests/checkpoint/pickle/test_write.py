"""The tree written as a pickle again, held against CPython's own pickler and against torch."""

import io
import pickle
import pickletools
import warnings
import zipfile
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.checkpoint import Unreadable, read
from gpudoctor.checkpoint.pickle.load import run
from gpudoctor.checkpoint.pickle.machine import Machine
from gpudoctor.checkpoint.pickle.write import Emitter, emit
from gpudoctor.checkpoint.tree import Tensor

KEYS = st.text() | st.integers(-(1 << 63), (1 << 63) - 1)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(KEYS, inner)
        | st.lists(inner).map(tuple)
        | st.sets(KEYS)
        | st.frozensets(KEYS)
    ),
    max_leaves=30,
)


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def again(data):
    machine = Machine(data)
    return emit(run(machine), machine.protocol)


@given(PLAIN, st.sampled_from([2, 3, 4, 5]))
def test_plain_data_comes_back_from_pickle_as_it_went_in(value, protocol):
    data = again(pickle.dumps(value, protocol))
    pickletools.dis(data, io.StringIO())
    back = pickle.loads(data)
    assert back == value
    assert repr(type(back)) == repr(type(value))
    assert data[1] == protocol


@given(st.integers())
def test_an_integer_takes_the_bytes_that_pickle_gives_it(value):
    for number in (value, value << 40, -(1 << 31), (1 << 31) - 1, 1 << 31, -(1 << 63), 1 << 2100):
        assert again(pickle.dumps(number, 2)) == pickle.dumps(number, 2)


@pytest.mark.parametrize("size", [0, 1, 2, 999, 1001, 2001])
@pytest.mark.parametrize("kind", [list, dict.fromkeys, OrderedDict.fromkeys, tuple])
def test_batches_end_where_pickle_ends_them(size, kind):
    data = pickle.dumps(kind(range(size)), 2)
    assert again(data) == data


def circles():
    held = []
    pair, long, call = (held, 1), (held, 1, 2, 3, 4), OrderedDict(a=held)
    held += [pair, long, call, held]
    call.me = call
    return [held, pair, long, call]


@pytest.mark.parametrize("number", range(4))
def test_what_contains_itself_ends(number):
    data = again(pickle.dumps(circles()[number], 2))
    back = pickle.loads(data)
    held = back if number == 0 else back["a"] if number == 3 else back[0]
    assert held[0][0] is held
    assert held[1][0] is held
    assert held[2]["a"] is held
    assert held[2].me is held[2]
    assert held[3] is held


def test_every_way_to_make_an_object_is_kept():
    data = (
        b"\x80\x02]q\x00("
        b"(K\x01icollections\nOrderedDict\n"
        b"(ccollections\nOrderedDict\n]o"
        b"cbuiltins\nset\n)\x81"
        b"cbuiltins\nset\n)}\x92"
        b"ccollections\nOrderedDict\n)RK\x01K\x02s}X\x01\x00\x00\x00aK\x03sb"
        b"\x8c\x0bcollections\x8c\x07Counter\x93"
        b"e."
    )
    tree = run(Machine(data))
    assert [getattr(item, "kind", None) for item in tree] == [
        "INST",
        "OBJ",
        "NEWOBJ",
        "NEWOBJ_EX",
        "REDUCE",
        None,
    ]
    ops = [op.name for op, _, _ in pickletools.genops(emit(tree))]
    for name in ("INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "REDUCE", "SETITEM", "BUILD"):
        assert name in ops
    without_inst = data.replace(b"(K\x01icollections\nOrderedDict\n", b"")
    one, two = (pickle.loads(text) for text in (without_inst, emit(run(Machine(without_inst)))))
    assert one == two
    assert two[-2].a == 3


def test_names_that_no_line_can_hold_are_kept():
    data = b"\x80\x04\x8c\x03a\nb\x8c\x01c\x93."
    name = run(Machine(again(data)))
    assert (name.module, name.name) == ("a\nb", "c")


def test_a_tensor_without_pickle_is_refused():
    with pytest.raises(Unreadable, match="without pickle"):
        emit({"a": Tensor(dtype="float32", shape=(1,))})


def objects(torch):
    parameter = torch.nn.Parameter(torch.randn(3))
    row = torch.arange(10.0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(model.parameters())
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    optimizer.step()
    yield "state dict", model.state_dict()
    yield "optimizer", {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    yield "shared", {"a": parameter, "b": parameter, "c": row[2:4], "d": row[::2], "e": row}
    yield (
        "types",
        {str(d): torch.zeros(2, 3).to(d) for d in (torch.bfloat16, torch.complex64, torch.float8_e4m3fn)},
    )
    yield "others", [torch.float16, torch.Size([1, 2]), torch.device("cpu"), {1}, 1j, b"ab", "é\ud800", None]
    with warnings.catch_warnings():  # beta, deprecated
        warnings.simplefilter("ignore")
        sparse = {"a": torch.eye(3).to_sparse(), "b": torch.eye(3).to_sparse_csr()}
        quantized = torch.quantize_per_tensor(row, 0.1, 0, torch.qint8)
    yield "sparse", sparse
    yield "quantized", quantized


def test_torch_s_own_pickles_come_back_byte_for_byte(torch, tmp_path):
    for name, value in objects(torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.save(value, tmp_path / "a.pt")
        data = zipfile.ZipFile(tmp_path / "a.pt").read("a/data.pkl")
        ours = emit(read(tmp_path / "a.pt").root)
        # One character is one object in Python, so that a name of one may be a reference here and not there.
        same = name in ("optimizer", "state dict") or ours == data
        assert same, name
        names = [[op.name for op, _, _ in pickletools.genops(text)] for text in (data, ours)]
        assert names[0].count("BINPERSID") == names[1].count("BINPERSID"), name


def test_only_what_was_asked_for_is_changed_in_ids(torch, tmp_path):
    a, b = torch.ones(2), torch.ones(3)
    torch.save({"b": b, "a": a, "again": b}, tmp_path / "a.pt")
    root = read(tmp_path / "a.pt").root
    del root["b"]
    emitter = Emitter(device="cuda:1", renumber=True)
    data = emitter.pickle(root)
    assert emitter.storages == {"1": "0", "0": "1"}
    assert emitter.moved == {"0", "1"}
    ids = []
    run(Machine(data, persistent=lambda asked: ids.append(asked) or asked))
    assert [(id[2], id[3], id[4]) for id in ids] == [("0", "cuda:1", 2), ("1", "cuda:1", 3)]

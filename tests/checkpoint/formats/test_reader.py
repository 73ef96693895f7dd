"""What the reader says of what a real torch saved, held against what torch.load gives."""

import collections
import functools
import gc
import random
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.checkpoint import Call, Global, Tensor, Unreadable, read
from gpudoctor.checkpoint.formats.zip_reader import directory
from gpudoctor.checkpoint.pickle.weights_only import ALLOWED, DISTRIBUTED
from gpudoctor.checkpoint.tree import WIDTHS, Checkpoint
from tests.late_import import late_import
from tests.processor_time import within

torch = late_import("torch")
numpy = late_import("numpy")

pytestmark = pytest.mark.filterwarnings("ignore")
"""torch warns of prototypes and of its own storages."""

PLAIN = [
    name
    for name in WIDTHS
    if not name.startswith(("q", "bits", "bcomplex"))
    and not (name.lstrip("u").startswith("int") and int(name.lstrip("u")[3:]) < 8)
]
"""Types of which torch makes tensors; the quantised ones have their own maker."""


@functools.cache
def plain():
    """Return the types of PLAIN that this torch has."""
    return [getattr(torch, name) for name in PLAIN if hasattr(torch, name)]


@functools.cache
def subclass():
    """Return a subclass of tensors with an attribute, which torch.save keeps; it is found by its name here."""
    made = type("Named", (torch.Tensor,), {"__module__": __name__})
    globals()["Named"] = made
    return made


Pair = collections.namedtuple("Pair", "hidden cell")


def strided(draw, dtype):
    count = draw(st.integers(0, 24))
    base = torch.zeros(count * dtype.itemsize, dtype=torch.uint8).view(dtype)
    kind = draw(st.sampled_from(["whole", "view", "step", "column", "transposed", "expanded", "scalar"]))
    if kind == "view":
        return base[count // 3 : count // 2]
    if kind == "step":
        return base[:: draw(st.integers(1, 3))]
    if kind == "column" and count >= 2:
        return base[: count // 2 * 2].view(-1, 2)[:, 1]
    if kind == "transposed":
        return base[: count // 2 * 2].view(-1, 2).t()
    if kind == "expanded" and count:
        return base[:1].expand(3, 1)
    if kind == "scalar" and count:
        return base[count - 1]
    return base


def sparse(draw):
    dense = torch.tensor([[0.0, 1, 0, 0], [2, 0, 0, 3]])
    kind = draw(st.sampled_from(["coo", "coalesced", "csr", "csc", "bsr", "bsc"]))
    if kind == "coo":
        return torch.sparse_coo_tensor(
            torch.tensor([[0, 0], [1, 1]]), torch.ones(2, dtype=torch.int32), (2, 3)
        )
    if kind == "coalesced":
        return dense.to_sparse()
    if kind in ("bsr", "bsc"):
        return getattr(dense, f"to_sparse_{kind}")((1, 2))
    return getattr(dense, f"to_sparse_{kind}")()


def quantised(draw):
    values = torch.arange(6.0).reshape(2, 3)
    dtype = draw(st.sampled_from([torch.qint8, torch.quint8, torch.qint32]))
    if draw(st.booleans()):
        return torch.quantize_per_tensor(values, 0.5, 0, dtype)
    return torch.quantize_per_channel(values, torch.tensor([0.5, 1.0]), torch.tensor([0, 0]), 0, dtype)


@st.composite
def tensors(draw):
    kind = draw(
        st.sampled_from(["strided"] * 6 + ["sparse", "quantised", "parameter", "grad", "subclass", "meta"])
    )
    if kind == "sparse":
        return sparse(draw)
    if kind == "quantised":
        return quantised(draw)
    if kind == "parameter":
        made = torch.nn.Parameter(torch.zeros(draw(st.integers(0, 3)), 2), requires_grad=draw(st.booleans()))
        if draw(st.booleans()):
            made.tied = True
        return made
    if kind == "grad":
        return torch.zeros(2, requires_grad=True)
    if kind == "subclass":
        made = torch.zeros(2, 3).as_subclass(subclass())
        made.colour = "red"
        return made
    if kind == "meta":
        return torch.empty_strided((2, 3), (1, 4), dtype=draw(st.sampled_from(plain())), device="meta")
    return strided(draw, draw(st.sampled_from(plain())))


@st.composite
def states(draw):
    """A nested thing as people save, in which tensors and views of them come up again."""
    pool = draw(st.lists(tensors(), min_size=1, max_size=5))
    again = st.sampled_from(range(len(pool))).map(
        lambda number: pool[number]
    )  # torch cannot print tensors of every type
    views = again.filter(
        lambda t: t.layout == torch.strided and not t.is_quantized and not t.is_meta and t.dim() == 1
    )
    leaves = st.one_of(
        again,
        again,
        views.map(lambda t: t.detach()[1:]) if any(_flat(t) for t in pool) else again,
        st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.text(max_size=5),
        st.binary(max_size=5), st.complex_numbers(allow_nan=False), st.just(torch.Size([2, 3])),
        st.just(torch.device("cuda", 1)), st.sampled_from(plain()), st.just(numpy.float64(0.5)),
        st.just(numpy.arange(3)), st.just({1, 2}), st.just(frozenset("a")), st.just(bytearray(b"xy")),
        st.just(slice(1, 2)), st.builds(Pair, again, again),
    )  # fmt: skip
    names = st.text("ab.01é", min_size=1, max_size=6)
    nested = st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(st.one_of(names, st.integers(-3, 2**40)), inner, max_size=4),
            st.dictionaries(names, inner, max_size=4).map(collections.OrderedDict),
            st.tuples(inner, inner),
        ),
        max_leaves=12,
    )
    state = collections.OrderedDict(
        draw(st.dictionaries(names, st.one_of(again, nested), min_size=1, max_size=6))
    )
    if draw(st.booleans()):
        state._metadata = collections.OrderedDict([("", {"version": 1})])
    return state


def _flat(t):
    return t.layout == torch.strided and not t.is_quantized and not t.is_meta and t.dim() == 1


class Comparison:
    """Holds a tree that was read against what torch.load gave."""

    def __init__(self):
        self.keys = {}  # of storages, by the place in memory that torch gave them

    def same(self, real, mine):
        if isinstance(real, torch.Tensor):
            self.same_tensor(real, mine)
        elif isinstance(real, dict):
            pairs = mine.pairs if isinstance(mine, Call) else mine
            assert isinstance(mine, Call) == isinstance(real, collections.OrderedDict)
            assert list(pairs) == list(real)
            for key in real:
                self.same(real[key], pairs[key])
        elif isinstance(real, (torch.Size, Pair)):
            assert isinstance(mine, Call)
            fields = mine.arguments if isinstance(real, Pair) else mine.arguments[0]
            self.same(tuple(real), fields)
        elif isinstance(real, (list, tuple)):
            assert type(real) is type(mine)
            assert len(real) == len(mine)
            for one, other in zip(real, mine, strict=True):
                self.same(one, other)
        elif isinstance(real, torch.dtype):
            assert isinstance(mine, Global)
            assert mine.full == str(real)
        elif isinstance(mine, (Call, Global)):  # numpy, sets, bytes and complex numbers of old protocols
            assert type(real).__module__ in ("numpy", "builtins", "torch")
            assert type(real) not in (str, int, float, bool, type(None))
        else:
            assert type(real) is type(mine)
            assert real == mine

    def same_tensor(self, real, mine):
        assert isinstance(mine, Tensor)
        assert f"torch.{mine.dtype}" == str(real.dtype)
        assert mine.shape == tuple(real.shape)
        assert mine.requires_grad == real.requires_grad
        assert mine.parameter == isinstance(real, torch.nn.Parameter)
        assert mine.device == str(real.device)
        if real.layout != torch.strided:
            assert f"torch.{mine.layout}" == str(real.layout)
            assert len(mine.parts) == (2 if real.layout == torch.sparse_coo else 3)
            return
        assert mine.layout == ("quantized" if real.is_quantized else "strided")
        assert (mine.stride, mine.offset) == (real.stride(), real.storage_offset())
        if real.is_quantized and real.qscheme() == torch.per_channel_affine:
            assert [part.shape for part in mine.parts] == [(2,), (2,)]
        if real.is_meta:
            return
        assert mine.size == real.nelement() * real.element_size() + sum(part.size for part in mine.parts)
        storage = real.untyped_storage()
        assert mine.storage.size == storage.nbytes()
        if storage.nbytes():
            assert self.keys.setdefault(storage.data_ptr(), mine.storage.key) == mine.storage.key


@given(states(), st.integers(2, 5), st.booleans())
@settings(max_examples=150)
def test_what_torch_saves_is_read_as_torch_loads_it(tmp_path_factory, state, protocol, new):
    path = tmp_path_factory.mktemp("state") / "x.pt"
    try:
        torch.save(state, path, pickle_protocol=protocol, _use_new_zipfile_serialization=new)
        loaded = torch.load(path, weights_only=False)
    except (RuntimeError, AttributeError, TypeError, NotImplementedError):
        return  # what torch itself cannot save or load
    checkpoint = read(path)
    assert checkpoint.kind == ("torch zip" if new else "torch legacy")
    assert checkpoint.trouble == []
    comparison = Comparison()
    comparison.same(loaded, checkpoint.root)
    assert len(set(comparison.keys.values())) == len(comparison.keys)


@given(states())
@settings(max_examples=75)
def test_suspects_are_what_weights_only_refuses(tmp_path_factory, state):
    path = tmp_path_factory.mktemp("state") / "x.pt"
    try:
        torch.save(state, path)
    except (RuntimeError, AttributeError, TypeError, NotImplementedError):
        return  # what torch itself cannot save
    named = {suspect.name.replace("__builtin__", "builtins") for suspect in read(path).suspects}
    refused = set(torch.serialization.get_unsafe_globals_in_checkpoint(path))
    assert named == refused - DISTRIBUTED


def test_the_list_of_what_is_allowed_is_that_of_torch():
    from torch import _weights_only_unpickler

    own = set(_weights_only_unpickler._get_allowed_globals())
    assert own <= ALLOWED
    rest = {name for name in ALLOWED - own - DISTRIBUTED if not name.startswith("__builtin__.")}
    assert rest == {
        "torch.distributed._mesh_layout._FlatLayout",
        "torch.distributed._mesh_layout._MeshLayout",
    }


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("new", [True, False])
def test_every_type(tmp_path, name, new):
    dtype = getattr(torch, name, None)
    if dtype is None:
        pytest.skip(f"this torch has no {name}")
    state = {"t": torch.zeros(6 * dtype.itemsize, dtype=torch.uint8).view(dtype)}
    torch.save(state, tmp_path / "x.pt", _use_new_zipfile_serialization=new)
    if (
        new or dtype not in torch.storage._new_dtypes()
    ):  # which torch saves in the older format and cannot load
        state = torch.load(tmp_path / "x.pt")
    checkpoint = read(tmp_path / "x.pt")
    assert checkpoint.trouble == []
    Comparison().same(state, checkpoint.root)


def test_every_width_is_that_of_torch():
    for name, width in WIDTHS.items():
        if hasattr(torch, name) and not name.startswith(("quint4", "quint2")):
            assert getattr(torch, name).itemsize == width, name


def test_small_quantised_types_share_bytes(tmp_path):
    values = torch.quantize_per_channel(torch.ones(2, 3), torch.ones(2), torch.zeros(2), 0, torch.quint4x2)
    torch.save({"t": values}, tmp_path / "x.pt")
    checkpoint = read(tmp_path / "x.pt")
    assert (checkpoint.root["t"].dtype, checkpoint.root["t"].shape) == ("quint4x2", (2, 3))
    assert checkpoint.trouble == []


def test_nested_tensors(tmp_path):
    pieces = [torch.ones(2, 3), torch.ones(4, 3)]
    torch.save(
        {
            "old": torch.nested.nested_tensor(pieces),
            "new": torch.nested.nested_tensor(pieces, layout=torch.jagged),
        },
        tmp_path / "x.pt",
    )
    root = read(tmp_path / "x.pt").root
    assert [(t.layout, t.shape, t.dtype) for t in root.values()] == [
        ("nested", (2,), "float32"),
        ("jagged", (2,), "float32"),
    ]


def test_training_state(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    rng = {"cpu": torch.get_rng_state(), "python": random.getstate(), "numpy": numpy.random.get_state()}
    torch.save({"model": model.state_dict(), "optim": optimizer.state_dict(), "rng": rng}, tmp_path / "x.pt")
    checkpoint = read(tmp_path / "x.pt")
    Comparison().same(torch.load(tmp_path / "x.pt", weights_only=False), checkpoint.root)
    assert checkpoint.root["model"].state["_metadata"].pairs["1"] == {"version": 2}
    assert ("optim", "state", 0, "exp_avg") in dict(checkpoint.tensors())
    assert {suspect.name.split(".")[0] for suspect in checkpoint.suspects} == {"numpy"}


def test_a_whole_model(tmp_path):
    torch.save(torch.nn.Linear(2, 3), tmp_path / "x.pt")
    checkpoint = read(tmp_path / "x.pt")
    assert [(path[-1], t.shape) for path, t in checkpoint.tensors()] == [("weight", (3, 2)), ("bias", (3,))]
    assert [(s.name, s.opcode) for s in checkpoint.suspects] == [("torch.nn.modules.linear.Linear", "NEWOBJ")]


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("new", [True, False])
def test_a_protocol_that_weights_only_does_not_read_is_noted(tmp_path, protocol, new):
    torch.save(
        {"t": torch.ones(2)}, tmp_path / "x.pt", pickle_protocol=protocol, _use_new_zipfile_serialization=new
    )
    try:
        torch.load(tmp_path / "x.pt", weights_only=True)
        refused = False
    except Exception:
        refused = True
    notes = read(tmp_path / "x.pt").notes
    assert refused == any("weights_only" in note for note in notes)


def test_a_big_endian_file_is_noted(tmp_path):
    torch.save({"t": torch.ones(2)}, tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as old, zipfile.ZipFile(tmp_path / "big.pt", "w") as new:
        for info in old.infolist():
            new.writestr(info.filename, b"big" if info.filename.endswith("byteorder") else old.read(info))
    checkpoint = read(tmp_path / "big.pt")
    assert (checkpoint.notes, checkpoint.trouble) == (["written on a big-endian machine"], [])


def test_what_is_shared_is_yielded_at_each_place():
    tensor = Tensor(dtype="int8", shape=(1,))
    held = {"t": tensor}
    circle = [tensor]
    circle.append(circle)
    checkpoint = Checkpoint(path="", kind="", root={"a": held, "b": held, "c": circle})
    assert [path for path, _ in checkpoint.tensors()] == [("a", "t"), ("b", "t"), ("c", 0)]


def test_the_directory_is_read_as_zipfile_reads_it(tmp_path):
    torch.save({str(i): torch.ones(i) for i in range(50)}, tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as archive, open(tmp_path / "x.pt", "rb") as file:
        own = directory(file, (tmp_path / "x.pt").stat().st_size)
        assert [(e.name, e.size, e.packed, e.header, e.crc, e.method) for e in own] == [
            (i.filename, i.file_size, i.compress_size, i.header_offset, i.CRC, i.compress_type)
            for i in archive.infolist()
        ]


def test_a_packed_archive_is_read(tmp_path):
    torch.save({"t": torch.ones(2)}, tmp_path / "x.pt")
    packed = zipfile.ZipFile(tmp_path / "packed.pt", "w", zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(tmp_path / "x.pt") as old, packed:
        for info in old.infolist():
            packed.writestr(info.filename, old.read(info))
    assert read(tmp_path / "packed.pt").root["t"].shape == (2,)


def test_a_file_of_more_than_four_gigabytes(tmp_path):
    """The numbers that do not fit into 32 bits stand elsewhere; the file is sparse, and takes no room."""
    path = tmp_path / "x.pt"
    torch.save({"a": torch.ones(2), "b": torch.ones(3)}, path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "far.pt", "w") as new:
        for info in old.infolist():
            if info.filename.endswith("data/1"):
                new.fp.seek(5 << 30)
                new.start_dir = 5 << 30
            new.writestr(info.filename, old.read(info))
    checkpoint = read(tmp_path / "far.pt")
    assert (checkpoint.root["b"].shape, checkpoint.trouble) == ((3,), [])


def test_one_storage_asked_for_in_two_sizes(tmp_path):
    torch.save({"a": torch.ones(4), "b": torch.ones(4)}, tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as old, zipfile.ZipFile(tmp_path / "y.pt", "w") as new:
        for info in old.infolist():
            data = old.read(info)
            if info.filename.endswith("data.pkl"):
                data = data.replace(b"X\x01\x00\x00\x001", b"X\x01\x00\x00\x000").replace(
                    b"K\x04tq", b"K\x05tq", 1
                )
            new.writestr(info.filename, data)
    lines = read(tmp_path / "y.pt").trouble
    assert any("is asked for with" in line for line in lines), lines


def test_a_hundred_thousand_keys_are_read_in_a_moment(tmp_path):
    state = {f"layers.{i // 10}.block{i % 10}.weight": torch.zeros(2, 3) for i in range(20_000)}
    for new in (True, False):
        torch.save(state, tmp_path / "x.pt", _use_new_zipfile_serialization=new)
        with within(0.6):  # a fifth of the keys, and twice what it takes
            assert sum(1 for _ in read(tmp_path / "x.pt").tensors()) == len(state)


def test_the_collector_is_as_it_was(tmp_path):
    with pytest.raises(Unreadable):
        read(tmp_path / "missing.pt")
    assert gc.isenabled()


def test_a_buffer_that_grows_is_read_to_its_end(tmp_path):
    """A legacy file whose pickle is longer than the first look."""
    state = {f"{i:0200}": torch.zeros(1) for i in range(8000)}
    torch.save(state, tmp_path / "x.pt", _use_new_zipfile_serialization=False)
    assert len(list(read(tmp_path / "x.pt").tensors())) == 8000

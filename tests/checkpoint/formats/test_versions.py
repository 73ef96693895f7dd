"""Files that old and new versions of torch wrote: fixtures/README.md says how."""

from pathlib import Path

import pytest

from gpudoctor.checkpoint import Call, Tensor, Unreadable, read

FIXTURES = Path(__file__).parent.parent / "fixtures"
SAVED = sorted(path.name for path in FIXTURES.glob("*.pt") if ".script." not in path.name)
SCRIPTS = sorted(path.name for path in FIXTURES.glob("*.script.pt"))


def test_there_are_files_of_every_age():
    assert {"torch-1.0.0.pt", "torch-1.5.1.zip.pt", "torch-2.15.0.legacy.pt"} <= set(SAVED)
    assert sum(path.stat().st_size for path in FIXTURES.iterdir() if path.is_file()) < 200_000


@pytest.mark.parametrize("name", SAVED)
def test_what_each_version_wrote(name):
    checkpoint = read(FIXTURES / name)
    assert (checkpoint.trouble, checkpoint.suspects, checkpoint.notes) == ([], [], [])
    assert checkpoint.kind == ("torch zip" if ".zip." in name else "torch legacy")
    assert checkpoint.version in ("1001", "1", "2", "3")
    held = checkpoint.root.pairs
    model = held["model"].pairs
    shapes = {key: (tensor.dtype, tensor.shape) for key, tensor in model.items()}
    assert shapes == {
        "conv1.weight": ("float32", (2, 1, 3, 3)), "conv1.bias": ("float32", (2,)), "fc.weight": ("float32", (3, 2)),
        "fc.bias": ("float32", (3,)),
    }  # fmt: skip
    assert all(tensor.device == "cpu" and tensor.layout == "strided" for tensor in model.values())
    assert (held["epoch"], held["best"], held["name"], held["flags"]) == (
        3,
        0.25,
        "run",
        (True, None, [1, 2]),
    )
    groups = held["optimizer"]["param_groups"]
    assert (groups[0]["lr"], len(groups[0]["params"]), len(held["optimizer"]["state"])) == (0.5, 4, 4)
    parameter = held["parameter"]
    assert (parameter.dtype, parameter.parameter, parameter.requires_grad) == ("float16", True, True)
    view, base = held["view"], held["base"]
    assert (view.shape, view.stride, view.offset, view.storage.key) == ((3, 2), (1, 3), 2, base.storage.key)
    assert (base.storage.elements, base.storage.size) == (12, 96)


@pytest.mark.parametrize("name", [name for name in SAVED if not name.startswith(("torch-1.0", "torch-1.4"))])
def test_sparse_tensors(name):
    sparse = read(FIXTURES / name).root.pairs["sparse"]
    assert (sparse.layout, sparse.dtype, sparse.shape) == ("sparse_coo", "float32", (4,))
    assert [part.shape for part in sparse.parts] == [(1, 2), (2,)]
    assert sparse.size == 2 * 8 + 2 * 4


@pytest.mark.filterwarnings("ignore")  # torch validates sparse tensors, and says so
@pytest.mark.parametrize("name", SAVED)
def test_todays_torch_finds_the_same(name):
    torch = pytest.importorskip("torch")
    loaded = torch.load(FIXTURES / name, weights_only="python2" not in name)  # which writes True in words
    root = read(FIXTURES / name).root
    for key, tensor in loaded["model"].items():
        mine = root.pairs["model"].pairs[key]
        assert isinstance(mine, Tensor)
        assert (mine.shape, mine.stride) == (tuple(tensor.shape), tensor.stride())
    assert list(loaded) == list(root.pairs)


@pytest.mark.parametrize("name", [name for name in SCRIPTS if not name.startswith("torch-1.0")])
def test_torchscript_is_recognised(name):
    checkpoint = read(FIXTURES / name)
    assert (checkpoint.kind, checkpoint.trouble, checkpoint.suspects) == ("torchscript", [], [])
    assert isinstance(checkpoint.root, Call)
    names = {".".join(path) for path, _ in checkpoint.tensors()}
    assert names == {"conv1.weight", "conv1.bias", "fc.weight", "fc.bias"}


def test_the_oldest_torchscript_is_told():
    with pytest.raises(Unreadable, match=r"TorchScript archive of torch 1\.0 to 1\.3"):
        read(FIXTURES / "torch-1.0.0.script.pt")

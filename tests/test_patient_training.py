"""The training scripts, run as a user's Python would run them."""

import gzip
import json
import os
import runpy
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.training_script import PATIENT, training_script
from tests.warm_python import warm_python

torch = pytest.importorskip("torch", reason="the training scripts need torch")
gpus = torch.cuda.device_count()


@dataclass
class Run:
    code: int
    events: list[dict[str, Any]]
    errors: str

    def one(self, event: str) -> dict[str, Any]:
        found = [fields for fields in self.events if fields["event"] == event]
        assert len(found) == 1, (event, self.events, self.errors)
        return found[0]


def run(
    text: str,
    folder: Path,
    *options: str,
    ranks: int = 0,
    path: Path | None = None,
    python: str | None = None,
) -> Run:
    """Run a script in `folder`, whose subfolder `tmp` is where temporary files go."""
    script, temporary = folder / "train.py", folder / "tmp"
    script.write_text(text)
    temporary.mkdir(exist_ok=True)
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"] if ranks else []
    environment = {
        **os.environ,
        "TMPDIR": str(temporary),
        "OMP_NUM_THREADS": "1",
        "PYTHON_EXEC": warm_python(),
    }
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [python or warm_python(), *launcher, str(script), *options],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert not list(temporary.glob("digits-*"))
    return Run(done.returncode, events, done.stderr)


def replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


@pytest.fixture(scope="session")
def shared() -> dict[str, Any]:
    return runpy.run_path(str(PATIENT / "digits_training.py"))


@pytest.fixture(scope="session")
def digits(shared: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in MNIST's layout."""
    kept = tmp_path_factory.mktemp("digits")
    with shared["digits_folder"](None) as folder:
        shutil.copytree(folder, kept, dirs_exist_ok=True)
    return kept


@pytest.fixture
def no_torchvision(tmp_path: Path) -> Path:
    """An import path on which torchvision is broken in the way that an unmatching version is."""
    package = tmp_path / "path" / "torchvision"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')\n")
    return package.parent


def test_single_passes(tmp_path: Path) -> None:
    pytest.importorskip("torchvision")
    done = run(training_script("single"), tmp_path)
    assert done.code == 0, done.errors
    assert done.events[0] == {
        "event": "start",
        "mode": "single",
        "backend": None,
        "devices": ["cuda:0" if gpus else "cpu"],
        "world_size": 1,
        "torch": torch.__version__,
    }
    assert done.one("data") == {
        "event": "data",
        "source": "torchvision.datasets.MNIST",
        "train": 6000,
        "test": 1000,
    }
    result = done.events[-1]
    assert result == done.one("result")
    assert (result["mode"], result["passed"], result["failures"]) == ("single", True, [])
    assert result["accuracy"] > 0.95
    assert result["last_loss"] < result["first_loss"] / 2
    assert result["train_seconds"] > 0
    assert result["images_per_second"] == pytest.approx(5 * 6000 / result["train_seconds"])
    assert result["largest_relative_difference"] is result["parameters_equal"] is None
    steps = [event for event in done.events if event["event"] == "step"]
    assert steps[0]["epoch"] == steps[0]["step"] == 1
    assert steps[0]["steps"] == 94
    assert len(steps) <= result["train_seconds"] / 0.2 + 1
    assert len([event for event in done.events if event["event"] == "epoch"]) == 5


def test_dp_passes(tmp_path: Path, no_torchvision: Path) -> None:
    done = run(training_script("dp"), tmp_path, "--epochs", "3", path=no_torchvision)
    assert done.code == 0, done.errors
    source = "read directly: RuntimeError: operator torchvision::nms does not exist"
    assert done.one("data")["source"] == source
    assert 0 < done.one("gradients")["largest_relative_difference"] < 1e-4
    assert done.one("gradients")["parameter"] in {"conv1.weight", "conv2.weight", "fc1.weight"} or gpus
    result = done.one("result")
    assert result["largest_relative_difference"] == done.one("gradients")["largest_relative_difference"]
    if not gpus:
        assert "silently" in done.one("note")["text"]
        assert result["label"] == "DataParallel's algorithm on 2 CPU replicas"


def test_ddp_passes(tmp_path: Path) -> None:
    done = run(training_script("ddp"), tmp_path, "--epochs", "3", ranks=gpus or 2)
    assert done.code == 0, done.errors
    result = done.one("result")  # one: only the first rank speaks
    assert result["passed"]
    assert result["parameters_equal"] is True
    assert result["largest_relative_difference"] < 1e-4
    assert done.one("start")["backend"] == ("nccl" if gpus else "gloo")
    assert done.one("start")["world_size"] == (gpus or 2)


@pytest.mark.skipif(gpus > 0, reason="counts on CPU ranks: NCCL takes only one rank for each GPU")
def test_ddp_with_unequal_shares_and_without_averaging(tmp_path: Path, no_torchvision: Path) -> None:
    """Three ranks, each of which trains alone."""
    wrap = "parallel = DistributedDataParallel(model, device_ids=[LOCAL_RANK] if ON_GPU else None)"
    text = replaced(training_script("ddp"), wrap, "parallel = model")
    options = ("--epochs", "1", "--limit", "600")
    done = run(text, tmp_path, *options, ranks=3, path=no_torchvision)
    assert done.code == 1
    result = done.one("result")
    assert not result["passed"]
    assert result["parameters_equal"] is False
    assert result["largest_relative_difference"] > 0.1
    assert "63 instead of 64" in done.one("note")["text"]
    assert [
        start for start in ("The gradients", "After training") if start in " ".join(result["failures"])
    ] == [
        "The gradients",
        "After training",
    ]


@pytest.mark.skipif(gpus > 0, reason="changes the CPU replicas")
def test_dp_notices_gradients_that_are_not_summed(tmp_path: Path, no_torchvision: Path) -> None:
    text = replaced(training_script("dp"), "{name: p.clone() for", "{name: p.detach().clone() for")
    text = replaced(
        text,
        "outputs = self.threads",
        "replicas[0] = dict(self.module.named_parameters())\n        outputs = self.threads",
    )
    done = run(text, tmp_path, "--epochs", "1", path=no_torchvision)
    assert done.code == 1
    assert done.one("result")["largest_relative_difference"] > 0.1
    assert done.one("result")["failures"][-1].startswith("The gradients differ from those of one device by ")


def test_untrained_network_knows_nothing_and_nan_does_not_pass(tmp_path: Path, no_torchvision: Path) -> None:
    text = replaced(training_script("single"), "lr=0.1, momentum=0.5", "lr=float('nan')")
    text = replaced(text, "torch.optim.SGD(", "torch.optim.Adagrad(").replace("lr=float('nan')", "lr=1e30")
    done = run(text, tmp_path, "--epochs", "1", "--limit", "640", path=no_torchvision)
    assert done.code == 1
    result = done.one("result")
    assert result["last_loss"] is None
    assert len(result["failures"]) == 2
    assert result["accuracy"] < 0.2


def test_digits_are_the_same_every_time_and_balanced(shared: dict[str, Any]) -> None:
    images, labels = shared["draw_digits"](1000, 0)
    again, _ = shared["draw_digits"](1000, 0)
    other, _ = shared["draw_digits"](1000, 1)
    assert torch.equal(images, again)
    assert not torch.equal(images, other)
    assert images.shape == (1000, 28, 28)
    assert images.dtype == labels.dtype == torch.uint8
    assert labels.bincount(minlength=10).min() > 70
    assert images.float().mean() < 80  # MNIST: 33


def test_torchvision_reads_what_is_written(shared: dict[str, Any], digits: Path) -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    for train, count, seed in ((True, 6000, 0), (False, 1000, 1)):
        images, labels = shared["draw_digits"](count, seed)
        read = datasets.MNIST(digits, train=train, download=False)
        assert torch.equal(read.data, images)
        assert torch.equal(read.targets, labels.long())
        image, label = read[0]
        assert image.size == (28, 28)
        assert label == labels[0]


def read(shared: dict[str, Any], folder: Path) -> str:
    said: list[dict[str, Any]] = []
    sets = shared["read_digits"](
        str(folder), 100, torch.device("cpu"), lambda _, **fields: said.append(fields)
    )
    assert [len(part) for part in sets] == [100, 1000]
    assert sets[0].tensors[0].shape == (100, 1, 28, 28)
    assert abs(float(sets[1].tensors[0].mean())) < 1
    return str(said[0]["source"])


def test_reads_other_layouts_directly_and_says_so(
    shared: dict[str, Any], digits: Path, tmp_path: Path
) -> None:
    raw, flat, packed = digits / "MNIST" / "raw", tmp_path / "flat", tmp_path / "packed"
    shutil.copytree(raw, flat)
    (packed / "MNIST" / "raw").mkdir(parents=True)
    for file in raw.iterdir():
        (packed / "MNIST" / "raw" / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), 1))
    for folder in (flat, packed):
        assert read(shared, folder).endswith("needs uncompressed files in MNIST/raw")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train-images-idx3-ubyte", None, "no train-images-idx3-ubyte"),
        ("train-images-idx3-ubyte", b"<html>404 not found</html>", "not a complete IDX file"),
        (
            "t10k-images-idx3-ubyte",
            bytes.fromhex("00000803 00000002 0000001c 0000001c") + bytes(784),
            "not a complete",
        ),
        ("t10k-labels-idx1-ubyte", b"", "not a complete IDX file"),
        (
            "t10k-labels-idx1-ubyte",
            bytes.fromhex("00000801 00000001 09"),
            "not one 28 x 28 image for each label",
        ),
        (
            "train-labels-idx1-ubyte",
            bytes.fromhex("00000801") + (6000).to_bytes(4, "big") + bytes([10]) * 6000,
            "beyond 9",
        ),
        ("t10k-labels-idx1-ubyte", bytes.fromhex("00000801 ffffffff 09"), "not a complete IDX file"),
    ],
)
def test_unusable_files(
    shared: dict[str, Any], digits: Path, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    for file in (digits / "MNIST" / "raw").iterdir():
        if file.name != name:
            shutil.copy(file, tmp_path)
        elif content is not None:
            (tmp_path / name).write_bytes(content)
    with pytest.raises(shared["DataError"], match=message) as caught:
        read(shared, tmp_path)
    assert "\n" not in str(caught.value)


def test_damaged_gz(shared: dict[str, Any], digits: Path, tmp_path: Path) -> None:
    for file in (digits / "MNIST" / "raw").iterdir():
        (tmp_path / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), 1)[:-500])
    with pytest.raises(shared["DataError"], match="cannot be read"):
        read(shared, tmp_path)


def test_wrong_data_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    done = run(training_script("single"), tmp_path, "--data", str(tmp_path / "nowhere"))
    assert done.code == 2
    assert done.errors.count("\n") == 1
    assert "no train-images-idx3-ubyte" in done.errors
    assert done.one("error")["text"] == done.errors.strip()


def test_wrong_options(tmp_path: Path) -> None:
    done = run(training_script("single"), tmp_path, "--epochs", "0")
    assert done.code == 2
    assert "must be at least 1" in done.errors


def test_ddp_without_torchrun(tmp_path: Path) -> None:
    done = run(training_script("ddp"), tmp_path, python=sys.executable)
    assert done.code == 1
    assert "start this script with torchrun" in done.errors
    assert "Traceback" not in done.errors

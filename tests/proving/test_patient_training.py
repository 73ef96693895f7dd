"""The training scripts, run as a user's Python would run them."""

import gzip
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.proving.training_script import LAUNCHED, MODES, training_script
from tests.late_import import late_import
from tests.warm_python import warm_python

torch = late_import("torch")
FEW = ("--epochs", "1", "--limit", "640", "--batch-size", "16")
on_cpu = pytest.mark.skipif("gpus() > 0", reason="counts on CPU ranks: NCCL takes only one rank for each GPU")


def gpus() -> int:
    """How many GPUs torch can use; marks ask it when a test begins."""
    return torch.cuda.device_count()


@dataclass
class Run:
    code: int
    events: list[dict[str, Any]]
    errors: str

    def all(self, event: str) -> list[dict[str, Any]]:
        return [fields for fields in self.events if fields["event"] == event]

    def one(self, event: str) -> dict[str, Any]:
        found = self.all(event)
        assert len(found) == 1, (event, self.events, self.errors)
        return found[0]


def run(
    text: str,
    folder: Path,
    *options: str,
    ranks: int = 0,
    path: Path | None = None,
    variables: dict[str, str] | None = None,
) -> Run:
    """Run a script in `folder`, whose subfolder `tmp` is where temporary files go.

    With `path`, in an interpreter of its own: what lies there is found at the import.
    """
    script, temporary = folder / "train.py", folder / "tmp"
    script.write_text(text)
    temporary.mkdir(exist_ok=True)
    python = sys.executable if path else warm_python()
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"] if ranks else []
    environment = {**os.environ, "TMPDIR": str(temporary), "OMP_NUM_THREADS": "1", "PYTHON_EXEC": python}
    environment |= variables or {}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [python, *launcher, str(script), *options],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert not list(temporary.glob("images-*"))
    assert not list(temporary.glob("checkpoint-*"))
    return Run(done.returncode, events, done.stderr)


def replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a script defines."""
    script = tmp_path_factory.mktemp("script") / "average.py"
    script.write_text(training_script("average"))
    return runpy.run_path(str(script))


@pytest.fixture(scope="session")
def digits(shared: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in MNIST's layout."""
    kept = tmp_path_factory.mktemp("digits")
    with shared["image_folder"](Namespace(data="mnist", data_dir=None)) as folder:
        shutil.copytree(folder, kept, dirs_exist_ok=True)
    return kept


@pytest.fixture
def no_torchvision(tmp_path: Path) -> Path:
    """An import path on which torchvision is broken in the way that an unmatching version is."""
    package = tmp_path / "path" / "torchvision"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')\n")
    return package.parent


@pytest.mark.parametrize("mode", MODES)
def test_the_first_steps_are_those_of_one_device(mode: str, tmp_path: Path) -> None:
    done = run(training_script(mode), tmp_path, *FEW, ranks=(gpus() or 2) if mode in LAUNCHED else 0)
    assert done.code == 0, done.errors
    start, data, result = done.events[0], done.one("data"), done.events[-1]
    assert (start["event"], start["mode"], start["torch"]) == ("start", mode, torch.__version__)
    assert data["train"], data["test"] == (640, 1000)
    assert result == done.one("result")  # one: only the first rank speaks
    assert (result["mode"], result["passed"], result["failures"]) == (mode, True, [])
    assert result["last_loss"] < result["first_loss"]
    assert result["images_per_second"] == pytest.approx(640 / result["train_seconds"], rel=0.01)
    if mode == "single":
        assert result["largest_relative_difference"] is result["parameters_equal"] is None
        assert "accuracy_on_one_device" not in result
        return
    tolerance = 1e-3 if gpus() else 1e-5
    assert 0 < result["largest_relative_difference"] < tolerance
    assert 0 < result["parameter_difference"] < tolerance
    assert 0 < result["accuracy_on_one_device"] <= 1
    assert any("after the same batches on one device; how far" in note["text"] for note in done.all("note"))
    several = mode in (*LAUNCHED, "manual")
    assert result["parameters_equal"] is (True if several else None)


def test_speaks_at_most_five_times_a_second(tmp_path: Path) -> None:
    done = run(training_script("single"), tmp_path, "--epochs", "2", "--limit", "1280")
    steps = done.all("step")
    assert (steps[0]["epoch"], steps[0]["step"], steps[0]["steps"]) == (1, 1, 20)
    assert len(steps) <= done.one("result")["train_seconds"] / 0.2 + 1
    assert len(done.all("epoch")) == 2


@pytest.mark.skipif("gpus() > 0", reason="on a GPU dp runs the wrapper itself")
def test_dp_without_a_gpu_says_what_it_runs(tmp_path: Path) -> None:
    done = run(training_script("dp"), tmp_path, *FEW, "--nproc", "3")
    assert any("silently" in note["text"] for note in done.all("note"))
    assert done.one("result")["label"] == "DataParallel's algorithm written out on 3 CPU replicas"


def test_a_broken_torchvision_is_said_and_done_without(tmp_path: Path, no_torchvision: Path) -> None:
    done = run(training_script("manual"), tmp_path, *FEW, path=no_torchvision)
    source = "read directly: RuntimeError: operator torchvision::nms does not exist"
    assert (done.code, done.one("data")["source"]) == (0, source)


@pytest.mark.parametrize(("what", "value"), [("--model", "resnet18"), ("--data", "cifar10")])
def test_what_needs_torchvision_says_so(what: str, value: str, tmp_path: Path, no_torchvision: Path) -> None:
    done = run(training_script("single"), tmp_path, what, value, path=no_torchvision)
    assert done.code == 1
    assert f"{what} {value} needs torchvision\nRuntimeError: operator torchvision::nms" in done.errors


@pytest.mark.parametrize(
    ("data", "model"), [("cifar10", "net"), ("fashion-mnist", "lenet"), ("cifar10", "resnet18")]
)
def test_other_sets_and_networks(data: str, model: str, tmp_path: Path) -> None:
    """One step on two replicas; the set is read by torchvision's own class."""
    pytest.importorskip("torchvision")
    options = ("--data", data, "--model", model, "--limit", "64", "--batch-size", "32", "--measure", "1")
    done = run(training_script("manual"), tmp_path, *options)
    assert done.code == 0, done.errors
    name = {"cifar10": "CIFAR10", "fashion-mnist": "FashionMNIST"}[data]
    assert done.one("data")["source"] == f"torchvision.datasets.{name}"
    parts = done.one("measured")["parts"]
    assert list(parts) == ["data", "forward", "backward", "communication", "update"]
    assert min(parts.values()) > 0


@on_cpu
@pytest.mark.parametrize("mode", LAUNCHED)
def test_unequal_shares_are_said(mode: str, tmp_path: Path) -> None:
    done = run(training_script(mode), tmp_path, *FEW, ranks=3)
    assert done.one("result")["passed"]
    assert any("15 instead of 16" in note["text"] for note in done.all("note"))


FLIP = """
def flipped(gradient):  # one bit of the exponent of one element, on one rank
    bits = gradient.flatten().clone().view(torch.int32)
    if int(os.environ["RANK"]) == 1:
        bits[gradient.flatten().abs().argmax()] ^= 1 << 23
    return bits.view(torch.float32).view_as(gradient)

"""
HOOK = """        super().__init__(network{parallel})
        next(network.parameters()).register_hook(flipped)
"""


@on_cpu
@pytest.mark.parametrize("mode", LAUNCHED)
def test_a_flipped_bit_in_one_ranks_gradients_is_seen(mode: str, tmp_path: Path) -> None:
    wrapped = ", DistributedDataParallel(network, device_ids=ids)" if mode == "ddp" else ""
    call = f"        super().__init__(network{wrapped})\n"
    text = replaced(training_script(mode), call, HOOK.format(parallel=wrapped))
    text = replaced(text, "\ndef main(options", FLIP + "\ndef main(options")
    done = run(text, tmp_path, *FEW, ranks=2)
    assert done.code == 1
    result = done.one("result")
    assert result["largest_relative_difference"] > 0.1
    assert result["parameters_equal"] is True  # all ranks got the same wrong sum
    assert result["failures"][0].startswith(
        "the gradients of the first 5 steps differ from those of one device by "
    )
    assert "in conv1.weight" in result["failures"][0]
    assert done.all("wrong")[0]["text"] == f"wrong result: {result['failures'][0]}"


@on_cpu
@pytest.mark.parametrize("mode", LAUNCHED)
def test_a_rank_that_goes_without_the_others_gradients_is_named(mode: str, tmp_path: Path) -> None:
    text = training_script(mode)
    if mode == "average":
        text = replaced(
            text,
            "parameter.grad = self.group.all_reduced(parameter.grad) / self.group.size",
            "mean = self.group.all_reduced(parameter.grad.clone()) / self.group.size\n"
            "            parameter.grad = mean if self.group.rank != 1 else parameter.grad",
        )
    else:
        # DistributedDataParallel averages on both, and the second rank then takes its own pass instead.
        old = "    def alone(self, images"
        new = (
            "    def forward(self, images, labels):\n"
            "        self.last = images, labels\n"
            "        return super().forward(images, labels)\n\n"
            "    def communicate(self):\n"
            "        if int(os.environ['RANK']) == 1:\n"
            "            self.alone(*self.last)\n\n"
        )
        text = replaced(text, old, new + old)
        text = replaced(
            text, "self.backward(self.forward(images, labels))", "super().forward(images, labels).backward()"
        )
    done = run(text, tmp_path, *FEW, ranks=3)
    assert done.code == 1
    result = done.one("result")
    assert result["parameters_equal"] is False
    assert any(text.startswith("after training, the parameters of rank 1 (") for text in result["failures"])
    assert any("not those of the other 2 (" in text for text in result["failures"])


@pytest.mark.skipif("gpus() > 0", reason="changes the CPU replicas")
@pytest.mark.parametrize("mode", ["dp", "functional"])
def test_gradients_that_are_not_summed_are_seen(mode: str, tmp_path: Path) -> None:
    text = replaced(training_script(mode), "{name: p.clone() for", "{name: p.detach().clone() for")
    text = replaced(
        text,
        "outputs = self.threads",
        "replicas[0] = dict(self.module.named_parameters())\n        outputs = self.threads",
    )
    done = run(text, tmp_path, *FEW)
    assert done.code == 1
    assert done.one("result")["largest_relative_difference"] > 0.1
    assert done.one("result")["failures"][0].startswith("the gradients of the first 5 steps differ")


@on_cpu
def test_a_copy_that_is_not_updated_is_named(tmp_path: Path) -> None:
    text = replaced(
        training_script("manual"),
        "zip(self.copies, self.momenta):",
        "list(zip(self.copies, self.momenta))[:1]:",
    )
    done = run(text, tmp_path, *FEW)
    assert done.code == 1
    assert any("the parameters of copy 1 (" in text for text in done.one("result")["failures"])


LOST = """            if say.__name__ != "<lambda>" and epoch == epochs[-1] and step == len(steps):
                for replica in learner.replicas():
                    for parameter in replica.parameters():
                        parameter.data.zero_()
"""


@on_cpu
@pytest.mark.parametrize(("mode", "ranks"), [("manual", 0), ("ddp", 2)])
def test_an_accuracy_that_is_not_that_of_one_device_is_wrong(mode: str, ranks: int, tmp_path: Path) -> None:
    """The first steps are right, and what the mode's own training, which tells its steps, has learnt is lost."""
    text = training_script(mode)
    for old, new in [("ENOUGH = 6000", "ENOUGH = 640"), ("DEFAULT_EPOCHS = 3", "DEFAULT_EPOCHS = 1")]:
        text = replaced(text, old, new)
    text = replaced(text, "            losses.append(loss)  #", f"{LOST}            losses.append(loss)  #")
    done = run(text, tmp_path, *FEW, "--limit", "1920", ranks=ranks)
    result = done.one("result")
    assert done.code == 1, result
    assert result["accuracy"] < 0.2 < result["accuracy_on_one_device"]
    assert result["largest_relative_difference"] < 1e-5
    wrong = [event["text"] for event in done.all("wrong")]
    assert any(
        re.fullmatch(
            r"wrong result: the accuracy is \d+\.\d%, and \d+\.\d% after the same batches on one device; other random "
            r"numbers and roundings explain up to 2%",
            text,
        )
        for text in wrong
    ), wrong


@on_cpu
def test_ddp_is_resumed_from_a_checkpoint(tmp_path: Path) -> None:
    options = ("--limit", "640", "--checkpoint", str(tmp_path / "kept.pt"))
    first = run(training_script("ddp"), tmp_path, *options, "--epochs", "2", ranks=2)
    assert any("after epoch 1 the training went on" in note["text"] for note in first.all("note"))
    kept = torch.load(tmp_path / "kept.pt")
    assert kept["epoch"] == 2
    assert not [name for name in kept["model"] if name.startswith("module.")]
    second = run(training_script("ddp"), tmp_path, *options, "--epochs", "3", ranks=2)
    assert [event["epoch"] for event in second.all("epoch")] == [3]
    assert second.all("epoch")[0]["loss"] < first.all("epoch")[0]["loss"]
    assert torch.load(tmp_path / "kept.pt")["epoch"] == 3
    # one device did not see what the checkpoint has learnt
    assert "accuracy_on_one_device" in first.one("result")
    assert "accuracy_on_one_device" not in second.one("result")


def test_untrained_network_knows_nothing_and_nan_does_not_pass(tmp_path: Path) -> None:
    text = replaced(training_script("single"), "RATE, MOMENTUM = 0.05, 0.9", "RATE, MOMENTUM = 1e30, 0.9")
    text = replaced(text, "ENOUGH = 6000", "ENOUGH = 640")
    text = replaced(text, "DEFAULT_EPOCHS = 3", "DEFAULT_EPOCHS = 1")
    done = run(text, tmp_path, *FEW)
    assert done.code == 1
    result = done.one("result")
    assert result["last_loss"] is None
    assert len(result["failures"]) == 2
    assert result["accuracy"] < 0.2


def test_digits_are_the_same_every_time_and_balanced(shared: dict[str, Any]) -> None:
    kinds = shared["DIGITS"]
    images, labels = shared["in_grey"](kinds, 1000, 0)
    again, _ = shared["in_grey"](kinds, 1000, 0)
    other, _ = shared["in_grey"](kinds, 1000, 1)
    assert torch.equal(images, again)
    assert not torch.equal(images, other)
    assert images.shape == (1000, 28, 28)
    assert images.dtype == labels.dtype == torch.uint8
    assert labels.bincount(minlength=10).min() > 70
    assert images.float().mean() < 80  # MNIST: 33


def test_torchvision_reads_what_is_written(shared: dict[str, Any], digits: Path) -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    for train, count, seed in ((True, 6000, 0), (False, 1000, 1)):
        images, labels = shared["in_grey"](shared["DIGITS"], count, seed)
        read = datasets.MNIST(digits, train=train, download=False)
        assert torch.equal(read.data, images)
        assert torch.equal(read.targets, labels.long())
        image, label = read[0]
        assert image.size == (28, 28)
        assert label == labels[0]


def read(shared: dict[str, Any], folder: Path) -> str:
    said: list[dict[str, Any]] = []
    options = Namespace(data="mnist", data_dir=str(folder), limit=100)
    sets = shared["read_images"](
        str(folder), options, torch.device("cpu"), lambda _, **fields: said.append(fields)
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
    with pytest.raises(shared["UsageError" if content is None else "Fault"], match=message) as caught:
        read(shared, tmp_path)
    assert "\n" not in str(caught.value)


def test_damaged_gz(shared: dict[str, Any], digits: Path, tmp_path: Path) -> None:
    for file in (digits / "MNIST" / "raw").iterdir():
        (tmp_path / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), 1)[:-500])
    with pytest.raises(shared["Fault"], match="cannot be read"):
        read(shared, tmp_path)


def test_wrong_data_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    done = run(training_script("single"), tmp_path, "--data-dir", str(tmp_path / "nowhere"))
    assert done.code == 2
    assert done.errors.count("\n") == 1
    assert "no train-images-idx3-ubyte" in done.errors
    assert done.one("error")["text"] == done.errors.strip()


def test_wrong_options(tmp_path: Path) -> None:
    done = run(training_script("single"), tmp_path, "--epochs", "0")
    assert done.code == 2
    assert "must be at least 1" in done.errors


def test_swapped_and_packed_files_are_told_apart(
    shared: dict[str, Any], digits: Path, tmp_path: Path
) -> None:
    names = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")
    for file in (digits / "MNIST" / "raw").iterdir():
        shutil.copy(file, tmp_path / (names[1 - names.index(file.name)] if file.name in names else file.name))
    with pytest.raises(shared["Fault"], match="images and labels are swapped"):
        read(shared, tmp_path)
    (tmp_path / names[0]).write_bytes(gzip.compress(b"1"))
    with pytest.raises(shared["Fault"], match="compressed by gzip"):
        read(shared, tmp_path)


@pytest.mark.parametrize("mode", LAUNCHED)
@pytest.mark.parametrize(
    ("variables", "code", "message"),
    [
        ({}, 2, "start this script with torchrun, as its first lines show, or with srun"),
        (
            {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"},
            2,
            "start this script with torchrun",
        ),
        (
            {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0"},
            1,
            "KeyError: 'SLURM_LOCALID': Slurm's",
        ),
    ],
)
def test_a_script_that_is_no_rank_says_how_to_start_it(
    mode: str, variables: dict[str, str], code: int, message: str, tmp_path: Path
) -> None:
    done = run(training_script(mode), tmp_path, variables=variables)
    assert done.code == code
    assert message in done.errors
    assert done.errors.count("\n") == 1


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("gpu3", "gpu3"),
        ("gpu[03-05,9],login1", "gpu03"),
        ("a1,b2", "a1"),
        ("rack[1-2]node[7,9]", "rack1node7"),
        ("n[5]-ib", "n5-ib"),
    ],
)
def test_the_first_host_of_a_list_of_slurms(shared: dict[str, Any], nodes: str, first: str) -> None:
    assert shared["first_host"](nodes) == first


@pytest.mark.parametrize("nodes", ["1", "2"])
def test_slurms_variables_make_a_rank(
    shared: dict[str, Any], nodes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = {"JOB_ID": "4711", "STEP_ID": "2", "PROCID": "3", "LOCALID": "1", "NTASKS": "4", "NNODES": nodes}
    for name, value in {**slurm, "STEP_NODELIST": "gpu[03-04]"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    shared["read_launch"]()
    master = "127.0.0.1" if nodes == "1" else "gpu03"
    assert [os.environ[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR")] == [
        "3",
        "1",
        "4",
        master,
    ]
    assert 10000 <= int(os.environ["MASTER_PORT"]) < 30000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--devices", "cpu,cuda:99"), "all on GPUs, or all on the CPU"),
        (("--devices", "99"), "so no cuda:99"),
        (("--devices", "gpu0"), "--devices gpu0: "),
    ],
)
def test_devices_that_are_not_there(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = run(training_script("manual"), tmp_path, *options)
    assert done.code == 2
    assert message in done.errors
    assert done.errors.count("\n") == 1


def test_a_batch_smaller_than_the_devices(tmp_path: Path) -> None:
    for mode in ("manual", "dp"):
        done = run(training_script(mode), tmp_path, "--batch-size", "1", "--nproc", "2")
        assert done.code == 1
        assert "a batch of 1 gives 1 of 2 devices a piece; take --batch-size 2 or more" in done.errors
    done = run(training_script("average"), tmp_path, *FEW, "--batch-size", "1", ranks=2)
    assert done.code != 0
    assert (
        "got batch_size=0: a batch of 1 for 2 ranks leaves none for each; take --batch-size 2" in done.errors
    )

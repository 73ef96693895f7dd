"""What the training modes share: digits, network, training loop, events, verdict.

`gpudoctor repro` puts it in place of a mode's `from digits_training import ...`: what runs is one file.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import gzip
import json
import math
import os
import signal
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import TensorDataset

# Two correct runs differ only in the order of float32 additions: gradients move by about 1e-6 of their size.
# A real mistake (sum instead of mean, a rank left out, stale parameters) moves them by 1/world_size or more.
GRADIENT_TOLERANCE = 1e-3
ACCURACY_NEEDED = 0.95
LOSS_WINDOW = 10  # single steps are noisy: "first" and "last" loss are means over this many
FILES = {  # by "is it for training": MNIST's own names, images then labels
    True: ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    False: ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}


def emit(event: str, **fields: Any) -> None:
    """One JSON object on one line, in one write, so that the lines of several ranks cannot mix."""
    nan = [name for name, value in fields.items() if isinstance(value, float) and not math.isfinite(value)]
    event_with_null = {"event": event, **fields, **dict.fromkeys(nan)}  # JSON has no nan
    os.write(1, (json.dumps(event_with_null) + "\n").encode())


def set_seed(seed: int) -> None:
    torch.manual_seed(seed)  # every GPU too
    # TF32 keeps 10 bits of the mantissa; its rounding would hide small differences between two gradients.
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False


class DataError(Exception):
    """The files given with --data cannot be used; the message says why in one line."""


def arc(x: float, y: float, width: float, height: float, start: int, stop: int) -> list[tuple[float, float]]:
    """Points on an ellipse around (x, y); angles in degrees, clockwise from the right."""
    angles = [math.radians(start + (stop - start) * i / 12) for i in range(13)]
    return [(x + width * math.cos(angle), y + height * math.sin(angle)) for angle in angles]


# The pen strokes of each digit, x to the right and y down, both from -1 to 1.
STROKES: list[list[list[tuple[float, float]]]] = [
    [arc(0, 0, 0.4, 0.65, 0, 360)],
    [[(-0.2, -0.45), (0.05, -0.65), (0.05, 0.65)]],
    [arc(0, -0.3, 0.38, 0.35, -170, 30) + [(-0.4, 0.65), (0.42, 0.65)]],
    [arc(0, -0.33, 0.36, 0.32, -150, 90), arc(0, 0.32, 0.4, 0.33, -90, 150)],
    [[(0.2, 0.65), (0.2, -0.65), (-0.42, 0.25), (0.45, 0.25)]],
    [[(0.38, -0.65), (-0.3, -0.65), (-0.34, -0.08)] + arc(0, 0.25, 0.4, 0.4, -130, 140)],
    [[(0.25, -0.65), (-0.2, -0.2)] + arc(0, 0.28, 0.38, 0.37, -170, 190)],
    [[(-0.4, -0.65), (0.4, -0.65), (-0.1, 0.65)]],
    [arc(0, -0.33, 0.32, 0.32, 0, 360), arc(0, 0.33, 0.38, 0.33, 0, 360)],
    [arc(0, -0.28, 0.37, 0.37, 0, 360) + [(0.25, 0.65)]],
]


def stroke_distances() -> Tensor:
    """10 x 1 x 28 x 28: how far each pixel is from the nearest stroke of each digit."""
    line = torch.linspace(-1, 1, 28)
    pixels = torch.stack([line.repeat(28), line.repeat_interleave(28)], dim=1)
    fields = []
    for strokes in STROKES:
        starts = torch.tensor([point for stroke in strokes for point in stroke[:-1]])
        ends = torch.tensor([point for stroke in strokes for point in stroke[1:]])
        along = ends - starts
        offset = pixels[:, None] - starts
        position = ((offset * along).sum(-1) / along.square().sum(-1)).clamp(0, 1)
        fields.append((offset - position[..., None] * along).norm(dim=-1).amin(dim=1))
    return torch.stack(fields).view(-1, 1, 28, 28)


def draw_digits(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Bytes N x 28 x 28 and labels; each digit is slanted, turned, bent, and has a pen width of its own."""
    generator = torch.Generator().manual_seed(seed)

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return torch.rand(count, *shape, generator=generator) * (high - low) + low

    labels = torch.randint(10, (count,), generator=generator)
    angle, slant = uniform(-0.2, 0.2), uniform(-0.3, 0.3)
    wide, tall = uniform(0.85, 1.25), uniform(0.85, 1.2)  # how much smaller than the strokes
    cosine, sine, right, below = angle.cos(), angle.sin(), uniform(-0.2, 0.2), uniform(-0.2, 0.2)
    affine = [wide * cosine, slant - wide * sine, right, tall * sine, tall * cosine, below]
    grid = F.affine_grid(torch.stack(affine, dim=1).view(-1, 2, 3), [count, 1, 28, 28], align_corners=True)
    bend = F.interpolate(uniform(-0.12, 0.12, 2, 5, 5), size=(28, 28), mode="bilinear", align_corners=True)
    grid += bend.permute(0, 2, 3, 1)
    distance = F.grid_sample(stroke_distances()[labels], grid, padding_mode="border", align_corners=True)
    # A soft edge is the blur; the pen's width is the distance at which the ink is half.
    ink = torch.sigmoid((uniform(0.06, 0.17, 1, 1, 1) - distance) * 25) * uniform(0.6, 1, 1, 1, 1)
    ink += 0.1 * torch.randn(ink.shape, generator=generator)
    return (ink.clamp(0, 1) * 255).to(torch.uint8).squeeze(1), labels.to(torch.uint8)


def write_idx(path: str, values: Tensor) -> None:
    """MNIST's file format: big-endian 0x0800 + number of dimensions, the dimensions, the bytes."""
    with open(path, "wb") as file:
        file.write(struct.pack(f">{1 + values.dim()}i", 2048 + values.dim(), *values.shape))
        file.write(bytes(values.flatten().tolist()))


def read_idx(path: str, dimensions: int) -> Tensor:
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            content = bytearray(file.read())
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    start = 4 * (1 + dimensions)
    header = struct.unpack(f">{1 + dimensions}i", content[:start]) if len(content) > start else (0,)
    if header[0] != 2048 + dimensions or min(header) < 1 or math.prod(header[1:]) != len(content) - start:
        raise DataError(f"{path}: not a complete IDX file of bytes with {dimensions} dimension(s)")
    return torch.frombuffer(content, dtype=torch.uint8, offset=start).view(header[1:])


def find_file(folder: str, name: str) -> str:
    paths = os.path.join(folder, "MNIST", "raw", name), os.path.join(folder, name)
    for candidate in (path + end for path in paths for end in ("", ".gz")):
        if os.path.isfile(candidate):
            return candidate
    raise DataError(f"{folder}: no {name}, neither there nor in MNIST/raw, nor with .gz")


def read_digits(folder: str, limit: int, device: torch.device, say: Callable) -> list[TensorDataset]:
    """Training and test digits, through the torchvision of this environment if it works."""
    # Reading the files here first finds out, in one plain sentence, what may be wrong with them.
    paths = {name: find_file(folder, name) for names in FILES.values() for name in names}
    pairs = [(read_idx(paths[images], 3), read_idx(paths[labels], 1)) for images, labels in FILES.values()]
    for images, labels in pairs:
        if images.shape != (len(labels), 28, 28) or int(labels.max()) > 9:
            raise DataError(f"{folder}: not one 28 x 28 image for each label, or labels beyond 9")
    try:
        if any(path != os.path.join(folder, "MNIST", "raw", name) for name, path in paths.items()):
            raise FileNotFoundError("torchvision.datasets.MNIST needs uncompressed files in MNIST/raw")
        from torchvision.datasets import MNIST

        sets = [MNIST(folder, train=train, download=False) for train in FILES]
        # Its tensors are used whole: item by item, the time would go into Pillow instead of the training.
        pairs, source = [(part.data, part.targets) for part in sets], "torchvision.datasets.MNIST"
    except Exception as error:  # a broken installation raises anything; training can do without
        source = f"read directly: {type(error).__name__}: {' '.join(str(error).split())[:500]}"
    pairs[0] = (pairs[0][0][:limit], pairs[0][1][:limit])
    say("data", source=source, train=len(pairs[0][1]), test=len(pairs[1][1]))
    # Scaled by the mean and the deviation of MNIST's bytes.
    pairs = [((images.unsqueeze(1) - 33.3) / 78.6, labels.long()) for images, labels in pairs]
    return [TensorDataset(images.to(device), labels.to(device)) for images, labels in pairs]


@contextlib.contextmanager
def digits_folder(data: str | None) -> Iterator[str]:
    """`data`, or a temporary folder with digits in MNIST's layout, for as long as they are being read."""
    if data:
        yield data
        return
    # torchrun ends a rank with SIGTERM when another has failed; an exception lets it remove the folder first.
    previous = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="digits-") as folder:
        os.makedirs(os.path.join(folder, "MNIST", "raw"))
        for seed, (train, names) in enumerate(FILES.items()):
            for name, values in zip(names, draw_digits(6000 if train else 1000, seed)):
                write_idx(os.path.join(folder, "MNIST", "raw", name), values)
        yield folder
    signal.signal(signal.SIGTERM, previous)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, kernel_size=5)
        self.conv2 = nn.Conv2d(10, 20, kernel_size=5)
        self.dropout = nn.Dropout2d()
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, images: Tensor) -> Tensor:
        hidden = F.relu(F.max_pool2d(self.conv1(images), 2))
        hidden = F.relu(F.max_pool2d(self.dropout(self.conv2(hidden)), 2))
        hidden = F.dropout(F.relu(self.fc1(hidden.flatten(1))), training=self.training)
        return F.log_softmax(self.fc2(hidden), dim=1)


def compare_gradients(
    parallel: nn.Module, module: nn.Module, share: Sequence[Tensor], whole: Sequence[Tensor]
) -> tuple[float, str]:
    """How far one backward pass of `parallel` is from the same pass on one device, and in which parameter.

    `module` is the network inside `parallel`; `share` is this process's part of the batch `whole`. Dropout is
    off (eval mode): replicas draw other random numbers than one device, so with it any two runs differ.
    """
    reference = copy.deepcopy(module)
    for network, (images, labels) in ((parallel, share), (reference, whole)):
        F.nll_loss(network.eval()(images), labels).backward()
    differences = []
    for (name, ours), theirs in zip(module.named_parameters(), reference.parameters()):
        right = torch.zeros_like(theirs) if theirs.grad is None else theirs.grad
        ratio = (right if ours.grad is None else ours.grad - right).abs().max() / right.abs().max()
        differences.append((ratio.nan_to_num(nan=math.inf).item(), name))
    parallel.zero_grad(set_to_none=True)
    return max(differences)


def train(
    parallel: nn.Module,
    data: TensorDataset,
    batches: Callable,
    epochs: int,
    say: Callable,
    processes: int = 1,
) -> tuple[Tensor, dict[str, float]]:
    """The loss of every step, and the speed; `batches(epoch)` gives the indices of each step of an epoch."""
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1, momentum=0.5)
    losses: list[Tensor] = []
    done, spoke, started = 0, -1.0, time.perf_counter()
    parallel.train()
    for epoch in range(1, epochs + 1):
        steps = batches(epoch)
        for step, index in enumerate(steps, 1):
            images, labels = data[index]
            optimizer.zero_grad()
            loss = F.nll_loss(parallel(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())  # .item() at every step would keep a GPU waiting for the host
            done += processes * len(labels)
            seconds = time.perf_counter() - started
            if seconds - spoke > 0.2:
                spoke, where = seconds, {"epoch": epoch, "epochs": epochs, "step": step, "steps": len(steps)}
                say("step", **where, loss=loss.item(), images_per_second=done / seconds)
        mean = torch.stack(losses[-len(steps) :]).mean().item()  # waits for the GPU: now the clock is right
        seconds = time.perf_counter() - started
        say("epoch", epoch=epoch, epochs=epochs, loss=mean, images_per_second=done / seconds)
    return torch.stack(losses), {"train_seconds": seconds, "images_per_second": done / seconds}


@torch.no_grad()
def count_correct(model: nn.Module, images: Tensor, labels: Tensor) -> int:
    model.eval()
    return int((model(images).argmax(dim=1) == labels).sum())


def conclude(say: Callable, losses: Tensor, **result: Any) -> int:
    """Say the result, return the exit code. Every condition is written so that nan does not pass."""
    result = {"largest_relative_difference": None, "parameters_equal": None, **result}  # null: not applicable
    accuracy, difference, failures = result["accuracy"], result["largest_relative_difference"], []
    window = max(1, min(LOSS_WINDOW, len(losses) // 2))
    first, last = losses[:window].mean().item(), losses[-window:].mean().item()
    if not last < first / 2:
        failures.append(f"The loss did not fall to half: {first:.3g} at first, {last:.3g} at last.")
    if not accuracy > ACCURACY_NEEDED:
        failures.append(f"{accuracy:.1%} of the test digits were recognised, not over {ACCURACY_NEEDED:.0%}.")
    if difference is not None and not difference <= GRADIENT_TOLERANCE:
        size = f"{difference:.2g} of their size; rounding explains {GRADIENT_TOLERANCE:g}"
        failures.append(f"The gradients differ from those of one device by {size}.")
    if result["parameters_equal"] is False:
        failures.append("After training, the parameters are not equal on all ranks.")
    say("result", **result, first_loss=first, last_loss=last, passed=not failures, failures=failures)
    return 1 if failures else 0


def run(main: Callable[[argparse.Namespace], int], description: str | None) -> None:
    """Exit with 0: passed, 1: failed, 2: wrong options or unusable data."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", metavar="DIR", help="MNIST's own files, instead of digits drawn here")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64, help="over all devices together (64)")
    parser.add_argument("--seed", type=int, default=1, help="of parameters, order and dropout (1)")
    parser.add_argument("--limit", type=int, default=60000, help="use no more training images than this")
    options = parser.parse_args()
    if min(options.epochs, options.batch_size, options.limit) < 1:
        parser.error("--epochs, --batch-size and --limit must be at least 1")
    torch.set_num_threads(1)  # as under torchrun: for so small a network, threads wait more than they work
    try:
        code = main(options)
    except DataError as error:
        emit("error", text=str(error))
        print(error, file=sys.stderr)
        code = 2
    # All is said. Over gloo, torch 2.15 sometimes aborts later, while the interpreter ends ("terminate called
    # without an active exception"; 4 of 46 runs with two ranks), and torch 1.13 hangs there: leave before that.
    sys.stderr.flush()
    os._exit(code)

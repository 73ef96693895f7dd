"""Images in the format of a known set, drawn here or the real ones, read by torchvision's own class."""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import math
import os
import pickle
import signal
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import TensorDataset

from mode_run import Fault, UsageError
from pictures import CLOTHES, DIGITS, in_colour, in_grey

DRAWN = {True: 6000, False: 1000}  # images, by "is it for training"
IDX_FILES = {  # MNIST's own names, which Fashion-MNIST has too: images, then labels
    True: ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    False: ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
IDX_FOLDERS = {"mnist": "MNIST", "fashion-mnist": "FashionMNIST"}  # torchvision's, which are its classes too
CIFAR_FOLDER = "cifar-10-batches-py"
CIFAR_FILES = {True: tuple(f"data_batch_{number}" for number in range(1, 6)), False: ("test_batch",)}
# Mean and deviation of the bytes, so that the networks see numbers around 0.
SCALES = {"mnist": (33.3, 78.6), "fashion-mnist": (72.9, 90.0), "cifar10": (120.7, 64.2)}


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
        raise Fault(f"DataError: {path}: cannot be read: {error}") from error
    if content[:2] == b"\x1f\x8b":
        raise Fault(f"DataError: {path}: compressed by gzip; give it the ending .gz, or unpack it")
    start = 4 * (1 + dimensions)
    header = struct.unpack(f">{1 + dimensions}i", content[:start]) if len(content) > start else (0,)
    if content[:4] == struct.pack(">i", 2048 + 4 - dimensions):
        raise Fault(
            f"DataError: {path}: has {4 - dimensions} dimension(s), not {dimensions}: images and labels are swapped"
        )
    if header[0] != 2048 + dimensions or min(header) < 1 or math.prod(header[1:]) != len(content) - start:
        raise Fault(f"DataError: {path}: not a complete IDX file of bytes with {dimensions} dimension(s)")
    return torch.frombuffer(content, dtype=torch.uint8, offset=start).view(header[1:])


def find_idx(folder: str, set_folder: str, name: str) -> str:
    paths = os.path.join(folder, set_folder, "raw", name), os.path.join(folder, name)
    for candidate in (path + end for path in paths for end in ("", ".gz")):
        if os.path.isfile(candidate):
            return candidate
    raise UsageError(f"{folder}: no {name}, neither there nor in {set_folder}/raw, nor with .gz")


def read_grey(folder: str, name: str) -> tuple[list[tuple[Tensor, Tensor]], str]:
    """Training and test images of MNIST's format, and who read them: torchvision, if it works."""
    own = IDX_FOLDERS[name]
    # Reading the files here first finds out, in one plain sentence, what may be wrong with them.
    paths = {file: find_idx(folder, own, file) for files in IDX_FILES.values() for file in files}
    pairs = [
        (read_idx(paths[images], 3), read_idx(paths[labels], 1)) for images, labels in IDX_FILES.values()
    ]
    for images, labels in pairs:
        if images.shape != (len(labels), 28, 28) or int(labels.max()) > 9:
            raise Fault(f"DataError: {folder}: not one 28 x 28 image for each label, or labels beyond 9")
    try:
        if any(path != os.path.join(folder, own, "raw", file) for file, path in paths.items()):
            raise FileNotFoundError(f"torchvision.datasets.{own} needs uncompressed files in {own}/raw")
        import torchvision.datasets

        sets = [
            getattr(torchvision.datasets, own)(folder, train=train, download=False) for train in IDX_FILES
        ]
        # Its tensors are used whole: item by item, the time would go into Pillow instead of the training.
        pairs, source = [(part.data, part.targets) for part in sets], f"torchvision.datasets.{own}"
    except Exception as error:  # a broken installation raises anything; training can do without
        source = f"read directly: {type(error).__name__}: {' '.join(str(error).split())[:500]}"
    return [(images.unsqueeze(1), labels) for images, labels in pairs], source


def md5(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.md5(file.read()).hexdigest()  # torchvision's checksum, which guards against no one


def read_cifar(folder: str, drawn: bool) -> tuple[list[tuple[Tensor, Tensor]], str]:
    """Training and test images of CIFAR-10's format, read by torchvision, whose class knows the real files' sums."""
    try:
        from torchvision.datasets import CIFAR10
    except Exception as error:
        words = " ".join(str(error).split())[:300]
        raise Fault(f"--data cifar10 needs torchvision\n{type(error).__name__}: {words}") from error
    if drawn:
        sums = {
            part: md5(os.path.join(folder, CIFAR_FOLDER, part))
            for parts in CIFAR_FILES.values()
            for part in parts
        }
        meta = {**CIFAR10.meta, "md5": md5(os.path.join(folder, CIFAR_FOLDER, "batches.meta"))}
        lists = {
            f"{'train' if t else 'test'}_list": [[p, sums[p]] for p in parts]
            for t, parts in CIFAR_FILES.items()
        }
        kind: Any = type("CIFAR10", (CIFAR10,), {**lists, "meta": meta})
    else:
        kind = CIFAR10
    try:
        sets = [kind(folder, train=train, download=False) for train in CIFAR_FILES]
    except RuntimeError as error:  # Dataset not found or corrupted
        words = " ".join(str(error).split())
        if not os.path.isdir(os.path.join(folder, CIFAR_FOLDER)):
            raise UsageError(f"{folder}: {words}; {CIFAR_FOLDER} must lie there, unpacked") from error
        raise Fault(f"RuntimeError: {words}: {folder}") from error
    pairs = [(torch.from_numpy(part.data).permute(0, 3, 1, 2), torch.tensor(part.targets)) for part in sets]
    return pairs, "torchvision.datasets.CIFAR10"


def read_images(
    folder: str, options: argparse.Namespace, device: torch.device, say: Callable
) -> list[TensorDataset]:
    """Training and test images on `device`, N x channels x height x width, scaled, with their labels."""
    if options.data == "cifar10":
        pairs, source = read_cifar(folder, drawn=not options.data_dir)
    else:
        pairs, source = read_grey(folder, options.data)
    pairs[0] = (pairs[0][0][: options.limit], pairs[0][1][: options.limit])
    say("data", source=source, train=len(pairs[0][1]), test=len(pairs[1][1]))
    mean, deviation = SCALES[options.data]
    scaled = [((images.float() - mean) / deviation, labels.long()) for images, labels in pairs]
    return [TensorDataset(images.to(device), labels.to(device)) for images, labels in scaled]


def write_cifar(folder: str) -> None:
    """CIFAR-10's own format: pickled dicts with the bytes of a batch as rows, all red, then green, then blue."""
    for seed, (train, files) in enumerate(CIFAR_FILES.items()):
        images, labels = in_colour(DIGITS, DRAWN[train], seed)
        for file, rows, own in zip(files, images.flatten(1).chunk(len(files)), labels.chunk(len(files))):
            with open(os.path.join(folder, file), "wb") as stream:
                pickle.dump(
                    {"batch_label": file, "labels": own.tolist(), "data": rows.numpy()}, stream, protocol=2
                )
    with open(os.path.join(folder, "batches.meta"), "wb") as stream:
        pickle.dump({"label_names": [str(number) for number in range(10)]}, stream, protocol=2)


@contextlib.contextmanager
def image_folder(options: argparse.Namespace) -> Iterator[str]:
    """`--data-dir`, or a temporary folder with a drawn set in its own layout, for as long as it is being read."""
    if options.data_dir:
        yield options.data_dir
        return
    # torchrun ends a rank with SIGTERM when another has failed; an exception lets it remove the folder first.
    previous = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="images-") as folder:
        if options.data == "cifar10":
            os.makedirs(os.path.join(folder, CIFAR_FOLDER))
            write_cifar(os.path.join(folder, CIFAR_FOLDER))
        else:
            raw = os.path.join(folder, IDX_FOLDERS[options.data], "raw")
            os.makedirs(raw)
            kinds = DIGITS if options.data == "mnist" else CLOTHES
            for seed, (train, names) in enumerate(IDX_FILES.items()):
                for name, values in zip(names, in_grey(kinds, DRAWN[train], seed)):
                    write_idx(os.path.join(raw, name), values)
        yield folder
    signal.signal(signal.SIGTERM, previous)

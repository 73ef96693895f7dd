"""Train a digit classifier on one device.

Run: python single.py
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import torch
from torch import Tensor

from digits_training import (
    Net,
    conclude,
    count_correct,
    digits_folder,
    emit,
    read_digits,
    run,
    set_seed,
    train,
)


def main(options: argparse.Namespace) -> int:
    set_seed(options.seed)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    emit("start", mode="single", backend=None, devices=[str(device)], world_size=1, torch=torch.__version__)
    with digits_folder(options.data) as folder:
        train_set, test_set = read_digits(folder, options.limit, device, emit)

    model = Net().to(device)

    def batches(epoch: int) -> Sequence[Tensor]:
        return torch.randperm(len(train_set)).split(options.batch_size)

    losses, speed = train(model, train_set, batches, options.epochs, emit)
    accuracy = count_correct(model, *test_set.tensors) / len(test_set)
    label = f"one process on {device}"
    return conclude(emit, losses, mode="single", label=label, accuracy=accuracy, **speed)


if __name__ == "__main__":
    run(main, __doc__)

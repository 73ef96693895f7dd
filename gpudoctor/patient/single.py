"""Train an image classifier on one device.

Run: python single.py
"""

from __future__ import annotations

import argparse

import torch

from image_sets import image_folder, read_images
from learning import Learner, conclude, count_correct, train, whole_batches
from mode_run import devices_of, emit, run, set_seed
from networks import make_network
from step_times import measure


def main(options: argparse.Namespace) -> int:
    set_seed(options.seed)
    device = devices_of(options)[0]
    emit("start", mode="single", backend=None, devices=[str(device)], world_size=1, torch=torch.__version__)
    with image_folder(options) as folder:
        train_set, test_set = read_images(folder, options, device, emit)
    learner = Learner(make_network(options.model, *train_set.tensors[0].shape[1:3]).to(device))
    if options.measure:
        return measure(learner, train_set, lambda: whole_batches(train_set, options, 1), options, emit)
    losses, speed = train(
        learner,
        train_set,
        lambda epoch: whole_batches(train_set, options, epoch),
        range(1, options.epochs + 1),
        emit,
    )
    learner.train(False)
    accuracy = count_correct(learner.network, *test_set.tensors) / len(test_set)
    label = f"one process on {device}"
    return conclude(emit, options, losses, [], mode="single", label=label, accuracy=accuracy, **speed)


if __name__ == "__main__":
    run(main, __doc__)

"""The course of a mode that drives all its devices from one process."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from image_sets import image_folder, read_images
from learning import Learner, conclude, count_correct, train, whole_batches
from mode_run import devices_of, emit, set_seed
from networks import make_network
from replicas import refuse_idle
from right_answer import OneDevice, fingerprint, hold_alone, odd_ones
from step_times import measure


def train_in_one_process(
    mode: str,
    options: argparse.Namespace,
    make: Callable[[nn.Module, Sequence[torch.device], Tensor], tuple[Learner, str]],
) -> int:
    """Train a new network with the learner that `make` returns, with the label of what it is on this machine.

    It is given the network on the first device, where nn.DataParallel takes parameters and inputs from, the devices,
    and some images.
    """
    set_seed(options.seed)
    devices = devices_of(options)
    emit(
        "start",
        mode=mode,
        backend=None,
        devices=list(map(str, devices)),
        world_size=1,
        torch=torch.__version__,
    )
    refuse_idle(options.batch_size, devices)
    with image_folder(options) as folder:
        train_set, test_set = read_images(folder, options, devices[0], emit)
    images = train_set.tensors[0]
    network = make_network(options.model, *images.shape[1:3]).to(devices[0])
    learner, label = make(network, devices, images)

    def batches(epoch: int) -> Sequence[Tensor]:
        return whole_batches(train_set, options, epoch)

    if options.measure:
        return measure(learner, train_set, lambda: batches(1), options, emit)
    wrong, sizes = hold_alone(learner, train_set, batches(1), emit, devices[0])
    alone = OneDevice(network, options)
    losses, speed = train(learner, train_set, batches, range(1, options.epochs + 1), emit)
    learner.train(False)
    accuracy = count_correct(learner.parallel, *test_set.tensors) / len(test_set)
    differs, reference = alone.hold(emit, accuracy, train_set, test_set, batches)
    wrong += differs
    sizes.update(reference)
    replicas = learner.replicas()
    if len(replicas) > 1:
        prints = list(map(fingerprint, replicas))
        wrong += odd_ones(prints, "copy")
        sizes["parameters_equal"] = len(set(prints)) == 1
    return conclude(emit, options, losses, wrong, mode=mode, label=label, accuracy=accuracy, **sizes, **speed)

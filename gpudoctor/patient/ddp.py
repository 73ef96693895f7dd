"""Train an image classifier with DistributedDataParallel, one process for every GPU.

Run: torchrun --standalone --nproc-per-node=2 ddp.py
 or: srun --ntasks=2 python ddp.py
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import BatchSampler, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from learning import Learner, conclude, count_correct, train
from mode_run import emit, run, set_seed
from networks import make_network
from ranks import ALIVE, Group, share_of
from right_answer import OneDevice
from step_times import measure


class Distributed(Learner):
    """The gradients are averaged by DistributedDataParallel, during backward."""

    def __init__(self, network: nn.Module, group: Group) -> None:
        ids = [group.device.index] if group.device.type == "cuda" else None
        super().__init__(network, DistributedDataParallel(network, device_ids=ids))

    def alone(self, images: Tensor, labels: Tensor) -> None:
        """A pass forward and backward that no other rank takes part in."""
        self.clear()
        with self.parallel.no_sync():
            self.backward(self.forward(images, labels))


def samplers(data: TensorDataset, group: Group, options: argparse.Namespace) -> list[Any]:
    """The sampler of every rank; one's own is the only one that training asks."""
    make = {"seed": options.seed, "drop_last": True, "num_replicas": group.size}
    return [DistributedSampler(data, rank=rank, **make) for rank in range(group.size)]


def batches_of(sampler: Any, share: int, epoch: int) -> Sequence[Tensor]:
    sampler.set_epoch(epoch)  # or every epoch would have the order of the first
    return [torch.tensor(step) for step in BatchSampler(sampler, share, drop_last=False)]


def save(path: str, learner: Learner, epoch: int) -> None:
    """Write a checkpoint whole or not at all; the names are the bare network's, without `module.`."""
    content = {
        "model": learner.network.state_dict(),
        "optimizer": learner.optimizer.state_dict(),
        "epoch": epoch,
    }
    torch.save(content, path + ".new")
    os.replace(path + ".new", path)


def resumed(path: str, learner: Learner, group: Group) -> int:
    """Take up a checkpoint that the first rank alone can see, and return its epoch; 0 where there is none.

    Its folder need not be on every node: what it holds is broadcast.
    """
    epoch = torch.zeros(1, dtype=torch.int64, device=group.device)
    if group.rank == 0 and os.path.exists(path):
        content = torch.load(path, map_location=group.device)
        learner.network.load_state_dict(content["model"])
        learner.optimizer.load_state_dict(content["optimizer"])
        epoch += content["epoch"]
    dist.broadcast(epoch, src=0)
    if not epoch.item():
        return 0
    state = learner.optimizer.state
    for parameter in learner.network.parameters():
        momentum = state[parameter].setdefault("momentum_buffer", torch.zeros_like(parameter))
        ALIVE.append(momentum)
        dist.broadcast(momentum, src=0)
    for values in learner.network.state_dict().values():
        dist.broadcast(values, src=0)
    return int(epoch.item())


class Course:
    """A training in two parts: what the second one goes on from is the checkpoint, in a network made anew."""

    def __init__(self, group: Group, options: argparse.Namespace) -> None:
        self.group, self.options = group, options
        self.train_set, self.test_set = group.read_shared(options)
        self.share = share_of(options, group.size, len(self.train_set), group.say)
        self.samplers = samplers(self.train_set, group, options)
        self.resumed = False
        """Whether it goes on from a checkpoint of an earlier training."""

    def new_learner(self, seed: int) -> Distributed:
        """A network whose parameters differ between ranks, which DistributedDataParallel must make equal."""
        set_seed(seed + self.group.rank)
        shape = self.train_set.tensors[0].shape
        return Distributed(make_network(self.options.model, *shape[1:3]).to(self.group.device), self.group)

    def batches(self, epoch: int) -> Sequence[Tensor]:
        return batches_of(self.samplers[self.group.rank], self.share, epoch)

    def steps(self, epoch: int) -> list[Sequence[Tensor]]:
        """Of every step of an epoch, the images of each rank."""
        return list(zip(*(batches_of(sampler, self.share, epoch) for sampler in self.samplers)))

    def whole_batches(self, epoch: int) -> Sequence[Tensor]:
        """The global batches of an epoch."""
        return [torch.cat(list(step)) for step in self.steps(epoch)]

    def train(self, learner: Distributed, path: str) -> tuple[Distributed, Tensor, dict[str, float]]:
        """Train half of the epochs, resume from the checkpoint, train the rest; return what came of it."""
        last, losses, speed = self.options.epochs, [], {"train_seconds": 0.0, "images_per_second": 0.0}

        def keep(epoch: int) -> None:
            if self.group.rank == 0:
                save(path, learner, epoch)

        done = resumed(path, learner, self.group)
        self.resumed = done > 0
        if done >= last:
            self.group.say("note", text=f"{path} is of epoch {done} already; one more is trained")
            last = done + 1
        for stop in sorted({max(done + 1, last // 2), last}):
            if losses:
                learner = self.new_learner(self.options.seed + 1000)
                done = resumed(path, learner, self.group)
                self.group.say("note", text=f"after epoch {done} the training went on from its checkpoint")
            # The rate falls by the epochs of the whole training, wherever this part stops.
            arguments = (self.train_set, self.batches, range(done + 1, stop + 1), self.group.say)
            part, its = train(learner, *arguments, self.group.size, keep, last)
            losses.append(part)
            speed["train_seconds"] += its["train_seconds"]
        images = sum(len(part) for part in losses) * self.share * self.group.size
        speed["images_per_second"] = images / speed["train_seconds"]
        return learner, torch.cat(losses), speed


def main(options: argparse.Namespace) -> int:
    group = Group("ddp", options)
    course = Course(group, options)
    learner = course.new_learner(options.seed)
    if options.measure:
        return measure(
            learner, course.train_set, lambda: course.batches(1), options, group.say, learner.alone
        )
    alone = OneDevice(learner.network, options)
    wrong, sizes = group.hold_against_one_device(learner, course.train_set, course.steps(1))
    with tempfile.TemporaryDirectory(prefix="checkpoint-") as folder:
        path = options.checkpoint or os.path.join(folder, "checkpoint.pt")
        learner, losses, speed = course.train(learner, path)
    learner.train(False)
    losses = group.all_reduced(losses) / group.size
    mine = course.test_set[group.rank :: group.size]
    correct = group.all_reduced(torch.tensor(count_correct(learner.network, *mine))).item()
    odd = group.compare_parameters(learner.network)
    dist.destroy_process_group()  # not in a `finally`: after an exception it could wait for dead ranks
    if group.rank > 0:
        return 0  # the first rank has the result; torchrun would end it for a rank that failed before
    label = f"DistributedDataParallel, {group.size} ranks on {group.device.type}, {group.backend}"
    accuracy = correct / len(course.test_set)
    if not course.resumed:
        differs, reference = alone.hold(
            emit, accuracy, course.train_set, course.test_set, course.whole_batches
        )
        wrong += differs
        sizes.update(reference)
    result = {"accuracy": accuracy, "parameters_equal": not odd, **sizes, **speed}
    return conclude(group.say, options, losses, wrong + odd, mode="ddp", label=label, **result)


if __name__ == "__main__":
    run(main, __doc__)

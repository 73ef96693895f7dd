"""Train an image classifier with a process for each rank, which averages gradients by all-reduce, written by hand.

Run: torchrun --standalone --nproc-per-node=2 average.py
 or: srun --ntasks=2 python average.py
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn

from learning import Learner, conclude, count_correct, train
from mode_run import emit, run, set_seed
from networks import make_network
from ranks import ALIVE, Group, share_of
from right_answer import OneDevice
from step_times import measure

PARTITION_SEED = 2024


class Averaging(Learner):
    """Every rank's own backward pass, then the mean of all ranks' gradients, one parameter after the other."""

    def __init__(self, network: nn.Module, group: Group) -> None:
        super().__init__(network)
        self.group = group
        for values in network.state_dict().values():
            dist.broadcast(values, src=0)  # all start alike
            ALIVE.append(values)

    def communicate(self) -> None:
        for parameter in self.network.parameters():
            parameter.grad = self.group.all_reduced(parameter.grad) / self.group.size
            ALIVE.pop()  # the sum is read already


def partitions(count: int, ranks: int) -> Sequence[Tensor]:
    """The images of each rank, drawn once, the same on every rank, all of one size."""
    order = torch.randperm(count, generator=torch.Generator().manual_seed(PARTITION_SEED))
    return order[: count // ranks * ranks].view(ranks, -1)


def shares(parts: Sequence[Tensor], share: int, seed: int, epoch: int) -> list[Sequence[Tensor]]:
    """Of every step of an epoch, the images of each rank: its own part, shuffled anew."""
    shuffle = torch.randperm(len(parts[0]), generator=torch.Generator().manual_seed(seed + epoch))
    return list(zip(*(part[shuffle].split(share) for part in parts)))


def main(options: argparse.Namespace) -> int:
    group = Group("average", options)
    set_seed(options.seed + group.rank)  # dropout must differ between ranks
    train_set, test_set = group.read_shared(options)
    learner = Averaging(make_network(options.model, *train_set.tensors[0].shape[1:3]).to(group.device), group)
    parts = partitions(len(train_set), group.size)
    share = share_of(options, group.size, len(train_set), group.say)

    def batches(epoch: int) -> Sequence[Tensor]:
        return [step[group.rank] for step in shares(parts, share, options.seed, epoch)]

    if options.measure:
        return measure(learner, train_set, lambda: batches(1), options, group.say)
    first_epoch = shares(parts, share, options.seed, 1)
    alone = OneDevice(learner.network, options)
    wrong, sizes = group.hold_against_one_device(learner, train_set, first_epoch)
    epochs = range(1, options.epochs + 1)
    losses, speed = train(learner, train_set, batches, epochs, group.say, processes=group.size)
    learner.train(False)
    losses = group.all_reduced(losses) / group.size
    mine = test_set[group.rank :: group.size]
    correct = group.all_reduced(torch.tensor(count_correct(learner.network, *mine))).item()
    odd = group.compare_parameters(learner.network)
    dist.destroy_process_group()  # not in a `finally`: after an exception it could wait for dead ranks
    if group.rank > 0:
        return 0  # the first rank has the result; torchrun would end it for a rank that failed before
    label = f"gradients averaged by hand, {group.size} ranks on {group.device.type}, {group.backend}"
    accuracy = correct / len(test_set)

    def whole_batches(epoch: int) -> Sequence[Tensor]:
        return [torch.cat(list(step)) for step in shares(parts, share, options.seed, epoch)]

    differs, reference = alone.hold(emit, accuracy, train_set, test_set, whole_batches)
    wrong += differs
    sizes.update(reference)
    result = {"accuracy": accuracy, "parameters_equal": not odd, **sizes, **speed}
    return conclude(group.say, options, losses, wrong + odd, mode="average", label=label, **result)


if __name__ == "__main__":
    run(main, __doc__)

"""What the training modes share: how a step is made, the order of the images, the loop, the verdict."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from mode_run import DEFAULT_EPOCHS, SMALL

# Two epochs recognised 97.3 to 98.7 % of the drawn digits (net) and 97.8 to 99.3 % (lenet); three, the default, 98.2 to
# 99.6 % in the six modes.
RATE, MOMENTUM = 0.05, 0.9  # the rate is that of LARGEST_BATCH
RISING = 0.15  # of the training: the rate rises for so long
ACCURACY_NEEDED = (
    0.97  # of MNIST, by a small network in the default epochs; of anything else nothing is known
)
ENOUGH = 6000  # images of it
LARGEST_BATCH = 64  # with it: larger ones make too few steps
LOSS_WINDOW = 10  # single steps are noisy: "first" and "last" loss are means over this many


def full_rate(batch: int) -> float:
    """The rate of a training with so many images a step: less for fewer, whose gradients are noisier."""
    return RATE * min(1.0, batch / LARGEST_BATCH)


class Learner:
    """How a mode makes a step; each mode replaces what it does otherwise."""

    def __init__(self, network: nn.Module, parallel: Any = None) -> None:
        self.network = network
        self.parallel = parallel or network  # what is called in place of it
        self.rate = RATE
        self.optimizer = torch.optim.SGD(network.parameters(), lr=RATE, momentum=MOMENTUM)

    def clear(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)

    def forward(self, images: Tensor, labels: Tensor) -> Tensor:
        """The mean loss of this process's share."""
        return F.cross_entropy(self.parallel(images), labels)

    def backward(self, loss: Tensor) -> None:
        loss.backward()

    def communicate(self) -> None:
        """What is done with gradients between backward and update."""

    def update(self) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate
        self.optimizer.step()

    def step(self, images: Tensor, labels: Tensor) -> Tensor:
        self.clear()
        loss = self.forward(images, labels)
        self.backward(loss)
        self.communicate()
        self.update()
        return loss.detach()

    def replicas(self) -> list[nn.Module]:
        """Every copy of the network that this process keeps from step to step."""
        return [self.network]

    def train(self, training: bool) -> None:
        for replica in self.replicas():
            replica.train(training)

    def start_again(self, state: dict[str, Tensor]) -> None:
        """Put every replica back to `state`, and forget the momentum."""
        for replica in self.replicas():
            replica.load_state_dict(state)
        self.clear()
        self.optimizer.state.clear()


def epoch_order(count: int, seed: int, epoch: int) -> Tensor:
    """The order of an epoch, the same in every mode: that of DistributedSampler."""
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed + epoch))


def whole_batches(data: TensorDataset, options: argparse.Namespace, epoch: int) -> Sequence[Tensor]:
    """The global batches of an epoch, for a mode of one process."""
    return epoch_order(len(data), options.seed, epoch).split(options.batch_size)


def train(
    learner: Learner,
    data: TensorDataset,
    batches: Callable[[int], Sequence[Tensor]],
    epochs: Sequence[int],
    say: Callable,
    processes: int = 1,
    after_epoch: Callable[[int], None] = lambda epoch: None,
    last: int = 0,
) -> tuple[Tensor, dict[str, float]]:
    """The loss of every step, and the speed; `batches(epoch)` gives the indices of each step of an epoch.

    `epochs` are those to train, counted from 1; `last` is the last of the whole training, if that is another.
    """
    last = last or epochs[-1]
    losses: list[Tensor] = []
    done, spoke, started = 0, -1.0, time.perf_counter()
    learner.train(True)
    for epoch in epochs:
        steps = batches(epoch)
        rate = full_rate(processes * len(steps[0]))
        for step, index in enumerate(steps, 1):
            # At the full rate a new network may be thrown off, and the last steps' noise would decide over pictures.
            progress = (epoch - 1 + step / len(steps)) / last
            learner.rate = rate * max(0.02, min(progress / RISING, 1 - progress))
            images, labels = data[index]
            loss = learner.step(images, labels)
            losses.append(loss)  # .item() at every step would keep a GPU waiting for the host
            done += processes * len(labels)
            seconds = time.perf_counter() - started
            if seconds - spoke > 0.2:
                spoke, where = seconds, {"epoch": epoch, "epochs": last, "step": step, "steps": len(steps)}
                say("step", **where, loss=loss.item(), images_per_second=done / seconds)
        mean = torch.stack(losses[-len(steps) :]).mean().item()  # waits for the GPU: now the clock is right
        seconds = time.perf_counter() - started
        say("epoch", epoch=epoch, epochs=last, loss=mean, images_per_second=done / seconds)
        after_epoch(epoch)
    return torch.stack(losses), {"train_seconds": seconds, "images_per_second": done / seconds}


@torch.no_grad()
def count_correct(model: Any, images: Tensor, labels: Tensor) -> int:
    """How many are recognised; in pieces, since a ResNet's activations for all of them fill a GPU."""
    pieces = zip(images.split(500), labels.split(500))
    return sum(int((model(part).argmax(dim=1) == own).sum()) for part, own in pieces)


def outcome_is_known(options: argparse.Namespace) -> bool:
    """Whether it was measured what such a training comes to."""
    known = options.data == "mnist" and options.model in SMALL
    enough = options.epochs >= DEFAULT_EPOCHS and options.limit >= ENOUGH
    return known and enough and options.batch_size <= LARGEST_BATCH


def failures_of(options: argparse.Namespace, first: float, last: float, accuracy: float) -> Iterator[str]:
    """What is too bad. Every condition is written so that nan does not pass."""
    known = outcome_is_known(options)
    if not last < (first / 2 if known else first):
        half = " to half" if known else ""
        yield f"The loss did not fall{half}: {first:.3g} at first, {last:.3g} at last."
    if known and not accuracy >= ACCURACY_NEEDED:
        yield f"{accuracy:.1%} of the test images were recognised, not {ACCURACY_NEEDED:.0%}."


def conclude(
    say: Callable, options: argparse.Namespace, losses: Tensor, wrong: Sequence[str], **result: Any
) -> int:
    """Say the result, return the exit code; `wrong` are the differences from one device that rounding does not explain.

    Each of those is an event of its own too, since no error tells of it.
    """
    result = {"largest_relative_difference": None, "parameters_equal": None, **result}  # null: not applicable
    window = max(1, min(LOSS_WINDOW, len(losses) // 2))
    first, last = losses[:window].mean().item(), losses[-window:].mean().item()
    failures = [*wrong, *failures_of(options, first, last, result["accuracy"])]
    say("result", **result, first_loss=first, last_loss=last, passed=not failures, failures=failures)
    for text in wrong:
        say("wrong", text=f"wrong result: {text}")
    return 1 if failures else 0

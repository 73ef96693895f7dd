"""Where the time of a step goes: data, forward, backward, communication, update."""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.utils.data import TensorDataset

from learning import Learner

WARM_UP = 5  # steps: the first ones choose kernels, allocate and connect
PARTS = ("data", "forward", "backward", "communication", "update")


def now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(
            device
        )  # or the time of a kernel would be counted where something waits for it
    return time.perf_counter()


def timed_step(learner: Learner, data: TensorDataset, index: Tensor, device: torch.device) -> list[float]:
    """The seconds of each of `PARTS` in one step."""
    times = [now(device)]
    images, labels = data[index]
    times.append(now(device))
    learner.clear()
    loss = learner.forward(images, labels)
    times.append(now(device))
    learner.backward(loss)
    times.append(now(device))
    learner.communicate()
    times.append(now(device))
    learner.update()
    times.append(now(device))
    return [after - before for before, after in zip(times, times[1:])]


def medians(rows: Sequence[Sequence[float]]) -> list[float]:
    """The median of each column: single steps meet whatever else the machine does."""
    return [torch.tensor(column).median().item() for column in zip(*rows)]


def measure(
    learner: Learner,
    data: TensorDataset,
    batches: Callable[[], Sequence[Tensor]],
    options: argparse.Namespace,
    say: Callable,
    alone: Callable[[Tensor, Tensor], None] | None = None,
) -> int:
    """Time steps and say the medians of their parts, in seconds.

    `alone` is a forward and backward pass without communication, for a mode that communicates during backward: what
    backward takes longer than without is communication.
    """
    device = data.tensors[0].device
    learner.train(True)
    steps = list(itertools.islice(itertools.cycle(batches()), WARM_UP + options.measure))
    times = medians([timed_step(learner, data, index, device) for index in steps][WARM_UP:])
    parts = dict(zip(PARTS, times))
    if alone is not None:
        undisturbed = []
        for index in steps:
            images, labels = data[index]
            begun = now(device)
            alone(images, labels)
            undisturbed.append([now(device) - begun])
        hidden = max(0.0, parts["forward"] + parts["backward"] - medians(undisturbed[WARM_UP:])[0])
        parts["communication"] += min(hidden, parts["backward"])
        parts["backward"] -= min(hidden, parts["backward"])
    what = {"batch": options.batch_size, "model": options.model, "data": options.data, "device": device.type}
    say("measured", parts=parts, seconds_per_step=sum(times), steps=options.measure, **what)
    say(
        "result",
        passed=True,
        failures=[],
        seconds_per_step=sum(times),
        **{f"seconds_{k}": v for k, v in parts.items()},
    )
    return 0

"""A mode held against one device: the same batches give the same gradients and the same parameters."""

from __future__ import annotations

import argparse
import copy
import ctypes
import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from learning import MOMENTUM, Learner, count_correct, full_rate, outcome_is_known, train
from mode_run import SMALL

STEPS = 5
# Two right runs differ only in the order of float32 additions, which moves gradients by about 1e-6 of their size on a
# CPU: by 8.5e-6 at most in 5,000 steps of lenet and net from 500 beginnings, in 2 and in 8 shares. GPUs choose other
# kernels for other batch sizes, with other roundings. A mistake (a sum instead of a mean, a rank left out, a flipped
# bit of an exponent) moves them by 1/ranks or more.
TOLERANCES = {"cpu": 1e-4, "cuda": 1e-3}
# Dropout draws other random numbers on replicas, and what rounding changes grows from step to step. 16 trainings of
# the same batches that differed in dropout alone recognised 97.6 to 98.7 % (net, two epochs of the drawn digits).
ACCURACY_TOLERANCE = 0.02
ACCURACY_REASON = "other random numbers and roundings explain up to"
REASON = "float32 additions in another order explain up to"


def largest_difference(
    ours: Sequence[Tensor], right: Sequence[Tensor], names: Sequence[str]
) -> tuple[float, str]:
    """The largest difference in a parameter, relative to its largest element, and that parameter's name."""
    found = []
    for mine, its, name in zip(ours, right, names):
        ratio = (mine - its).abs().max() / its.abs().max()
        if not its.any() and not mine.any():
            ratio = torch.zeros(())
        found.append((ratio.nan_to_num(nan=math.inf).item(), name))
    return max(found)


def gradients_of(network: nn.Module) -> list[Tensor]:
    return [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in network.parameters()]


def hold_against_one_device(
    learner: Learner, data: TensorDataset, batches: Sequence[tuple[Tensor, Tensor]]
) -> dict[str, tuple[float, str]]:
    """The largest differences of a step's gradients, and of the parameters after a step, in all of `batches`.

    Each of these is this process's share and the whole. Dropout and the statistics of batch norm are off (eval mode):
    replicas draw other random numbers and see other means than one device. One device begins each step with the
    learner's parameters: left to itself it is up to 6e-3 away after five steps in one of thirty trainings that are
    right, for a rectifier or a maximum that rounding tips over changes what is learnt from then on. The learner is put
    back at the end.
    """
    reference = copy.deepcopy(learner.network)
    state = copy.deepcopy(learner.network.state_dict())
    names = [name for name, _ in reference.named_parameters()]
    learner.rate = full_rate(len(batches[0][1]))
    optimizer = torch.optim.SGD(reference.parameters(), lr=learner.rate, momentum=MOMENTUM)
    learner.train(False)
    reference.eval()
    found = {"gradients": (0.0, names[0]), "parameters": (0.0, names[0])}
    for mine, whole in batches:
        with torch.no_grad():
            for its, ours in zip(reference.parameters(), learner.network.parameters()):
                its.copy_(ours)
        images, labels = data[mine]
        learner.clear()
        learner.backward(learner.forward(images, labels))
        learner.communicate()
        optimizer.zero_grad(set_to_none=True)
        images, labels = data[whole]
        F.cross_entropy(reference(images), labels).backward()
        gradients = largest_difference(gradients_of(learner.network), gradients_of(reference), names)
        learner.update()
        optimizer.step()
        ours, right = ([p.detach() for p in network.parameters()] for network in (learner.network, reference))
        parameters = largest_difference(ours, right, names)
        found = {
            "gradients": max(found["gradients"], gradients),
            "parameters": max(found["parameters"], parameters),
        }
    learner.start_again(state)
    return found


def tell_differences(say: Callable, found: dict[str, tuple[float, str]], device: torch.device) -> list[str]:
    """Say what was found, and return what is wrong."""
    tolerance = TOLERANCES[device.type]
    (gradient, where), (parameter, place) = found["gradients"], found["parameters"]
    say("gradients", largest_relative_difference=gradient, parameter=where, parameter_difference=parameter)
    alone = "differ from those of one device by"
    what = {
        f"the gradients of the first {STEPS} steps {alone} %s of their size in {where}": gradient,
        f"the parameters after one of the first {STEPS} steps {alone} %s of their size in {place}": parameter,
    }
    for text, size in what.items():
        say("note", text=f"{text % f'{size:.2g}'}; {REASON} {tolerance:g}")
    return [
        f"{text % f'{size:.2g}'}; {REASON} {tolerance:g}"
        for text, size in what.items()
        if not size <= tolerance
    ]


def hold_alone(
    learner: Learner, data: TensorDataset, batches: Sequence[Tensor], say: Callable, device: torch.device
) -> tuple[list[str], dict[str, Any]]:
    """What is wrong with the first steps of a mode of one process, and what its result says of them."""
    found = hold_against_one_device(learner, data, [(index, index) for index in batches[:STEPS]])
    wrong = tell_differences(say, found, device)
    sizes = {
        "largest_relative_difference": found["gradients"][0],
        "parameter_difference": found["parameters"][0],
    }
    return wrong, sizes


class OneDevice:
    """The same training on one device: what a mode's accuracy is held against."""

    def __init__(self, network: nn.Module, options: argparse.Namespace) -> None:
        """Keep the network as it is before the training."""
        self.options = options
        # A ResNet would take minutes more without a GPU.
        self.network = copy.deepcopy(network) if options.model in SMALL else None

    def hold(
        self,
        say: Callable,
        accuracy: float,
        data: TensorDataset,
        test: TensorDataset,
        batches: Callable[[int], Sequence[Tensor]],
    ) -> tuple[list[str], dict[str, Any]]:
        """What is wrong with an accuracy, and what the result says of it; `batches(epoch)` are the global batches."""
        if self.network is None:
            text = (
                f"the accuracy was not compared: on one device {self.options.model} would take as long again"
            )
            say("note", text=text)
            return [], {}
        say("alone")
        learner = Learner(self.network)
        train(learner, data, batches, range(1, self.options.epochs + 1), lambda *_, **__: None)
        learner.train(False)
        right = count_correct(self.network, *test.tensors) / len(test)
        sizes = {"accuracy_on_one_device": right}
        text = f"the accuracy is {accuracy:.1%}, and {right:.1%} after the same batches on one device"
        if not outcome_is_known(self.options):
            say("note", text=f"{text}; how far two right trainings of this kind may differ is not known")
            return [], sizes
        text = f"{text}; {ACCURACY_REASON} {ACCURACY_TOLERANCE:.0%}"
        say("note", text=text)
        return ([] if abs(accuracy - right) <= ACCURACY_TOLERANCE else [text]), sizes


def fingerprint(network: nn.Module) -> str:
    """SHA-256 of all parameters, bit by bit."""
    sum = hashlib.sha256()
    for parameter in network.parameters():
        values = parameter.detach().cpu().contiguous()
        # Without NumPy, which torch may be installed without.
        sum.update(ctypes.string_at(values.data_ptr(), values.numel() * values.element_size()))
    return sum.hexdigest()


def odd_ones(fingerprints: Sequence[str], name: str) -> Iterator[str]:
    """Who has other parameters than most; `name` is what one is called, a rank or a copy."""
    usual = max(set(fingerprints), key=lambda one: (fingerprints.count(one), -fingerprints.index(one)))
    odd = [number for number, one in enumerate(fingerprints) if one != usual]
    if odd:
        who = ", ".join(f"{number} ({fingerprints[number][:12]})" for number in odd)
        count = len(fingerprints) - len(odd)
        those = f"not those of the other {count} ({usual[:12]})"
        yield f"after training, the parameters of {name} {who} are {those}, by the SHA-256 of every bit"

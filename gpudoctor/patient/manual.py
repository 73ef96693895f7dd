"""Train an image classifier on several devices without any wrapper: copies, sums and updates are written by hand.

Run: python manual.py
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from learning import MOMENTUM, Learner
from mode_run import run
from one_process import train_in_one_process


class ByHand(Learner):
    """A copy of the network on each device. All copies start alike, get the same gradients and so stay alike."""

    def __init__(self, network: nn.Module, devices: Sequence[torch.device]) -> None:
        super().__init__(network)
        self.devices = devices
        self.copies = [network, *(copy.deepcopy(network).to(device) for device in devices[1:])]
        self.momenta = [[torch.zeros_like(p) for p in replica.parameters()] for replica in self.copies]

    def replicas(self) -> list[nn.Module]:
        return self.copies

    def clear(self) -> None:
        for replica in self.copies:
            replica.zero_grad(set_to_none=True)

    def start_again(self, state: dict[str, Tensor]) -> None:
        super().start_again(state)
        for momenta in self.momenta:
            for momentum in momenta:
                momentum.zero_()

    def forward(self, images: Tensor, labels: Tensor) -> Tensor:
        """The sum of the devices' losses, each over the size of the whole batch: the mean loss of the batch."""
        shares = zip(
            self.copies, self.devices, images.chunk(len(self.copies)), labels.chunk(len(self.copies))
        )
        losses = []
        for replica, device, own_images, own_labels in shares:
            outputs = replica(
                own_images.to(device)
            )  # a GPU is only given its work here: they compute at once
            losses.append(F.cross_entropy(outputs, own_labels.to(device), reduction="sum"))
        return torch.stack([loss.to(self.devices[0]) for loss in losses]).sum() / len(labels)

    @torch.no_grad()
    def communicate(self) -> None:
        """An all-reduce by way of the first device: the sum of all gradients is made there and copied back."""
        for parameters in zip(*(replica.parameters() for replica in self.copies)):
            gradients = [
                p.grad for p in parameters if p.grad is not None
            ]  # None: the batch was too small for it
            total = torch.stack([gradient.to(self.devices[0]) for gradient in gradients]).sum(dim=0)
            for parameter in parameters:
                parameter.grad = total.to(parameter.device, copy=True)

    @torch.no_grad()
    def update(self) -> None:
        """SGD with momentum, on every copy."""
        for replica, momenta in zip(self.copies, self.momenta):
            for parameter, momentum in zip(replica.parameters(), momenta):
                momentum.mul_(MOMENTUM).add_(parameter.grad)
                parameter.sub_(momentum, alpha=self.rate)


def make(network: nn.Module, devices: Sequence[torch.device], images: Tensor) -> tuple[Learner, str]:
    where = ", ".join(map(str, devices))
    return ByHand(network, devices), f"copies, sums and updates by hand on {where}"


def main(options: argparse.Namespace) -> int:
    return train_in_one_process("manual", options, make)


if __name__ == "__main__":
    run(main, __doc__, model="lenet")

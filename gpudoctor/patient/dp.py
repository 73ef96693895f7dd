"""Train an image classifier with nn.DataParallel, one process with a replica on every GPU.

Run: python dp.py
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from learning import Learner
from mode_run import run
from one_process import train_in_one_process
from replicas import parallelise


def make(network: nn.Module, devices: Sequence[torch.device], images: Tensor) -> tuple[Learner, str]:
    def on_gpus(numbers: list[int]) -> nn.Module:
        return nn.DataParallel(network, device_ids=numbers)

    parallel, label = parallelise(network, devices, images, "nn.DataParallel", on_gpus)
    return Learner(network, parallel), label


def main(options: argparse.Namespace) -> int:
    return train_in_one_process("dp", options, make)


if __name__ == "__main__":
    run(main, __doc__)

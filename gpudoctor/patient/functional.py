"""Train an image classifier with the function nn.parallel.data_parallel, which makes its replicas anew at every call.

Run: python functional.py
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from learning import Learner
from mode_run import run
from one_process import train_in_one_process
from replicas import parallelise


def make(network: nn.Module, devices: Sequence[torch.device], images: Tensor) -> tuple[Learner, str]:
    def on_gpus(numbers: list[int]) -> Callable[[Tensor], Tensor]:
        # The bare network is what it takes: to call it with an nn.DataParallel would split every share again.
        return lambda share: nn.parallel.data_parallel(network, share, device_ids=numbers)

    parallel, label = parallelise(network, devices, images, "nn.parallel.data_parallel", on_gpus)
    return Learner(network, parallel), label


def main(options: argparse.Namespace) -> int:
    return train_in_one_process("functional", options, make)


if __name__ == "__main__":
    run(main, __doc__)

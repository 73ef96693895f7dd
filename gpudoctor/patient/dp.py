"""Train a digit classifier with nn.DataParallel, one process with a replica on every GPU.

Run: python dp.py
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor, nn

from digits_training import (
    Net,
    compare_gradients,
    conclude,
    count_correct,
    digits_folder,
    emit,
    read_digits,
    run,
    set_seed,
    train,
)

try:
    from torch.func import functional_call
except ImportError:  # torch 1
    from torch.nn.utils.stateless import functional_call


class WrittenOut(nn.Module):
    """The steps of nn.DataParallel.forward, on any device: for where nn.DataParallel makes no replicas."""

    def __init__(self, module: nn.Module, replicas: int = 2) -> None:
        super().__init__()
        self.module = module
        self.copies = [copy.deepcopy(module) for _ in range(replicas)]  # a plain list: no submodules
        self.threads = ThreadPoolExecutor(replicas)

    def forward(self, images: Tensor) -> Tensor:
        shares = images.chunk(len(self.copies))  # scatter
        # Replicate. Backward through a clone adds the replica's gradient to the one original parameter.
        replicas = [{name: p.clone() for name, p in self.module.named_parameters()} for _ in shares]
        grad_enabled = torch.is_grad_enabled()  # every thread has its own setting

        def apply(network: nn.Module, parameters: dict[str, Tensor], share: Tensor) -> Tensor:
            with torch.set_grad_enabled(grad_enabled):
                return functional_call(network.train(self.training), parameters, (share,))

        outputs = self.threads.map(apply, self.copies, replicas, shares)  # parallel_apply
        return torch.cat(list(outputs))  # gather


def parallelise(model: nn.Module, gpus: int, images: Tensor) -> tuple[nn.Module, str]:
    """The network in parallel, and an honest name for what that is on this machine."""
    if gpus > 1:
        return nn.DataParallel(model), "nn.DataParallel on " + ", ".join(f"cuda:{i}" for i in range(gpus))
    if gpus == 0:
        if nn.DataParallel(model).device_ids == []:
            emit("note", text="Without a GPU, nn.DataParallel silently calls the bare network: no replicas.")
        return WrittenOut(model), "DataParallel's algorithm written out on 2 CPU replicas"
    try:
        parallel = nn.DataParallel(model, device_ids=[0, 0])
        parallel(images[:2]).sum().backward()
        model.zero_grad(set_to_none=True)
        emit("note", text="One GPU: it holds both replicas, so nothing is copied from one GPU to another.")
        return parallel, "nn.DataParallel on cuda:0, cuda:0"
    except RuntimeError as error:
        emit("note", text=f"nn.DataParallel could not be exercised on one GPU: {str(error)[:500]}")
        return WrittenOut(model), "DataParallel's algorithm written out on 2 replicas on cuda:0"


def main(options: argparse.Namespace) -> int:
    set_seed(options.seed)
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    devices = [f"cuda:{i}" for i in range(gpus)] or ["cpu"]
    emit("start", mode="dp", backend=None, devices=devices, world_size=1, torch=torch.__version__)
    first = torch.device(devices[0])  # nn.DataParallel takes parameters and inputs from its first device
    with digits_folder(options.data) as folder:
        train_set, test_set = read_digits(folder, options.limit, first, emit)

    model = Net().to(first)
    batch = train_set[: options.batch_size]
    parallel, label = parallelise(model, gpus, batch[0])
    difference, parameter = compare_gradients(parallel, model, batch, batch)
    emit("gradients", largest_relative_difference=difference, parameter=parameter)

    def batches(epoch: int) -> Sequence[Tensor]:
        return torch.randperm(len(train_set)).split(options.batch_size)

    losses, speed = train(parallel, train_set, batches, options.epochs, emit)
    accuracy = count_correct(parallel, *test_set.tensors) / len(test_set)
    checks = {"accuracy": accuracy, "largest_relative_difference": difference}
    return conclude(emit, losses, mode="dp", label=label, **checks, **speed)


if __name__ == "__main__":
    run(main, __doc__)

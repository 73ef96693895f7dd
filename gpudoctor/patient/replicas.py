"""What nn.DataParallel does, for devices where it makes no replicas; and which of both a machine allows."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor, nn

from mode_run import Fault, emit

try:
    from torch.func import functional_call
except ImportError:  # torch 1
    with contextlib.suppress(ImportError):  # before 1.12, which `run` refuses
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
                return functional_call(network.train(self.module.training), parameters, (share,))

        outputs = self.threads.map(apply, self.copies, replicas, shares)  # parallel_apply
        return torch.cat(list(outputs))  # gather


def refuse_idle(batch: int, devices: Sequence[torch.device]) -> None:
    """Refuse a batch that is too small for all devices: DataParallel would leave those idle that get no piece."""
    if batch < len(devices):
        raise Fault(
            f"ValueError: a batch of {batch} gives {batch} of {len(devices)} devices a piece; "
            f"take --batch-size {len(devices)} or more"
        )


def parallelise(
    network: nn.Module,
    devices: Sequence[torch.device],
    images: Tensor,
    name: str,
    on_gpus: Callable[[list[int]], Any],
) -> tuple[Any, str]:
    """The network in parallel, and an honest name for what that is on this machine.

    `name` is what torch calls it, `on_gpus` makes it for these GPUs.
    """
    if devices[0].type == "cpu":
        if name == "nn.DataParallel" and nn.DataParallel(network, device_ids=None).device_ids == []:
            emit("note", text="Without a GPU, nn.DataParallel silently calls the bare network: no replicas.")
        return WrittenOut(
            network, len(devices)
        ), f"DataParallel's algorithm written out on {len(devices)} CPU replicas"
    numbers = [device.index or 0 for device in devices]
    if len(numbers) > 1:
        return on_gpus(numbers), f"{name} on " + ", ".join(map(str, devices))
    try:
        twice = on_gpus([numbers[0]] * 2)
        twice(images[:2]).sum().backward()
        network.zero_grad(set_to_none=True)
        emit("note", text="One GPU: it holds both replicas, so nothing is copied from one GPU to another.")
        return twice, f"{name} on {devices[0]}, {devices[0]}"
    except RuntimeError as error:
        emit("note", text=f"{name} could not be exercised on one GPU: {str(error)[:500]}")
        return WrittenOut(network), f"DataParallel's algorithm written out on 2 replicas on {devices[0]}"

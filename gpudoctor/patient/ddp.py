"""Train a digit classifier with DistributedDataParallel, one process for every GPU.

Run: torchrun --standalone --nproc-per-node=2 ddp.py
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import TensorDataset
from torch.utils.data.distributed import DistributedSampler

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
    RANK, LOCAL_RANK, WORLD_SIZE = (int(os.environ[name]) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
except KeyError as error:
    sys.exit(f"{error} is not set: start this script with torchrun, as its first lines show")

ON_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda", LOCAL_RANK) if ON_GPU else torch.device("cpu")
# The tensors of collectives must outlive the process group. If gloo's thread is the last to let go of one, it
# needs the interpreter's lock, which may be held by who waits for this thread to end (seen with torch 1.13).
ALIVE: list[Tensor] = []


def say(event: str, **fields: Any) -> None:
    if RANK == 0:
        emit(event, **fields)


def all_reduced(values: Tensor, operation: Any = dist.ReduceOp.SUM) -> Tensor:
    values = values.to(DEVICE)
    dist.all_reduce(values, operation)
    ALIVE.append(values)
    return values


def read_shared_digits(options: argparse.Namespace) -> list[TensorDataset]:
    """On each node the first rank draws the digits, every rank reads them, then the first removes them."""
    with ExitStack() as stack:
        folder = stack.enter_context(digits_folder(options.data)) if LOCAL_RANK == 0 else ""
        # As bytes in a tensor: broadcast_object_list would need NumPy, without which torch may be installed.
        mine = torch.tensor(list(os.fsencode(folder).ljust(4096, b"\0")), dtype=torch.uint8, device=DEVICE)
        folders = [torch.empty_like(mine) for _ in range(WORLD_SIZE)]
        dist.all_gather(folders, mine)
        folder = os.fsdecode(bytes(folders[RANK - LOCAL_RANK].tolist()).rstrip(b"\0"))
        digits = read_digits(folder, options.limit, DEVICE, say)
        all_reduced(torch.zeros(1)).item()  # wait until every rank has read them
    return digits


def parameters_equal(model: nn.Module) -> bool:
    mine = nn.utils.parameters_to_vector(model.parameters()).detach()
    first = mine.clone()
    dist.broadcast(first, src=0)
    ALIVE.append(first)
    return all_reduced(torch.tensor(int(torch.equal(mine, first))), dist.ReduceOp.MIN).item() == 1


def join_group() -> str:
    """Join the other ranks, and return the backend."""
    backend = "nccl" if ON_GPU else "gloo"
    here = range(int(os.environ.get("LOCAL_WORLD_SIZE", WORLD_SIZE)))
    devices = [f"cuda:{i}" if ON_GPU else "cpu" for i in here]
    say("start", mode="ddp", backend=backend, devices=devices, world_size=WORLD_SIZE, torch=torch.__version__)
    if ON_GPU:
        torch.cuda.set_device(DEVICE)  # or every rank's collectives would use the first GPU
    dist.init_process_group(backend, timeout=timedelta(seconds=60))
    return backend


def main(options: argparse.Namespace) -> int:
    backend = join_group()
    # Every rank has its own seed: dropout must differ, and DDP itself must make the first parameters equal.
    set_seed(options.seed + RANK)
    train_set, test_set = read_shared_digits(options)

    model = Net().to(DEVICE)
    parallel = DistributedDataParallel(model, device_ids=[LOCAL_RANK] if ON_GPU else None)

    # DDP averages over ranks: that is the mean over the global batch only if all shares of it are equal.
    share = max(1, min(options.batch_size, len(train_set)) // WORLD_SIZE)
    if share * WORLD_SIZE != options.batch_size:
        say("note", text=f"The global batch is {share * WORLD_SIZE} instead of {options.batch_size}.")
    mine = train_set[RANK * share : (RANK + 1) * share]
    ours, parameter = compare_gradients(parallel, model, mine, train_set[: share * WORLD_SIZE])
    difference = all_reduced(torch.tensor(ours), dist.ReduceOp.MAX).item()
    say("gradients", largest_relative_difference=difference, parameter=parameter)

    sampler: Any = DistributedSampler(train_set, seed=options.seed, drop_last=True)

    def batches(epoch: int) -> Sequence[Tensor]:
        sampler.set_epoch(epoch)  # or every epoch would have the order of the first
        return torch.tensor(list(sampler)).split(share)

    losses, speed = train(parallel, train_set, batches, options.epochs, say, processes=WORLD_SIZE)
    losses = all_reduced(losses) / WORLD_SIZE
    correct = all_reduced(torch.tensor(count_correct(model, *test_set[RANK::WORLD_SIZE]))).item()
    equal = parameters_equal(model)
    dist.destroy_process_group()  # not in a `finally`: after an exception it could wait for dead ranks
    checks = {
        "accuracy": correct / len(test_set),
        "largest_relative_difference": difference,
        "parameters_equal": equal,
    }
    label = f"DistributedDataParallel, {WORLD_SIZE} ranks on {'GPUs' if ON_GPU else 'the CPU'}, {backend}"
    return conclude(say, losses, mode="ddp", label=label, **checks, **speed)


if __name__ == "__main__":
    run(main, __doc__)

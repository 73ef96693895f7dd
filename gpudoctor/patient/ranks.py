"""A process for each rank: who it is, under torchrun or Slurm, and what ranks tell each other."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from image_sets import image_folder, read_images
from mode_run import Fault, UsageError, devices_of, emit
from right_answer import STEPS, fingerprint, hold_against_one_device, odd_ones, tell_differences

TORCHRUN = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
SLURM = (
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NTASKS",
    "SLURM_JOB_ID",
    "SLURM_STEP_NODELIST",
    "SLURM_NNODES",
)
# The tensors of collectives must outlive the process group. If gloo's thread is the last to let go of one, it
# needs the interpreter's lock, which may be held by who waits for this thread to end (seen with torch 1.13).
ALIVE: list[Tensor] = []


def first_host(nodes: str) -> str:
    """The first name of a list of Slurm's, such as ``gpu[03-05,9],login1``."""
    first = re.match(r"(?:[^,\[]|\[[^\]]*\])+", nodes)
    return re.sub(r"\[(\w+)[^\]]*\]", r"\1", first[0]) if first else nodes


def read_launch() -> None:
    """Set torchrun's variables from Slurm's where srun started this process.

    Raise `UsageError` without either, `Fault` where a part of Slurm's is missing.
    """
    if all(name in os.environ for name in TORCHRUN):
        return
    missing = [name for name in SLURM if not os.environ.get(name)]
    if len(missing) == len(SLURM) or "SLURM_STEP_ID" not in os.environ:
        raise UsageError(
            "RANK and WORLD_SIZE are not set: start this script with torchrun, as its first lines show, or with srun"
        )
    if missing:
        raise Fault(
            f"KeyError: '{missing[0]}': Slurm's variables are half set; srun sets all of {', '.join(SLURM)}"
        )
    job, step = int(os.environ["SLURM_JOB_ID"]), int(os.environ["SLURM_STEP_ID"])
    one_node = os.environ["SLURM_NNODES"] == "1"
    # Every task computes the same port, which neither another job nor another step of this one has, below those that
    # Linux gives to whoever connects (from 32768 on).
    port = 10000 + (job * 7 + step) % 20000
    os.environ.update(
        RANK=os.environ["SLURM_PROCID"],
        LOCAL_RANK=os.environ["SLURM_LOCALID"],
        WORLD_SIZE=os.environ["SLURM_NTASKS"],
        # Task 0 runs on the first node of the step; SLURM_SRUN_COMM_HOST is where srun runs, which may be elsewhere.
        MASTER_ADDR="127.0.0.1" if one_node else first_host(os.environ["SLURM_STEP_NODELIST"]),
        MASTER_PORT=str(port),
    )


class Group:
    """Where a rank stands among the others."""

    def __init__(self, mode: str, options: argparse.Namespace) -> None:
        """Join the others; raises what `read_launch` does."""
        read_launch()
        self.rank, self.local_rank, self.size = (int(os.environ[name]) for name in TORCHRUN)
        devices = devices_of(options)  # by its place on the node, among those named or all GPUs
        self.device = devices[self.local_rank % len(devices)]
        self.backend = options.backend or ("nccl" if self.device.type == "cuda" else "gloo")
        about = {"backend": self.backend, "devices": list(map(str, devices)), "world_size": self.size}
        self.say("start", mode=mode, torch=torch.__version__, **about)
        self.refuse_shared_gpus()
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)  # or every rank's collectives would use the first GPU
        dist.init_process_group(self.backend, timeout=timedelta(seconds=60))
        self.say("joined")
        self.all_reduced(torch.zeros(1)).item()
        self.say("collective")

    def refuse_shared_gpus(self) -> None:
        """NCCL takes one rank for each GPU, and says so only once all have started."""
        here = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
        if self.backend == "nccl" and self.device.type == "cuda" and here > torch.cuda.device_count():
            gpus = torch.cuda.device_count()
            raise Fault(
                f"RuntimeError: Duplicate GPU detected, as NCCL would say: {here} ranks for {gpus} GPU(s), of which "
                f"ranks 0 and {gpus} would share cuda:0; take --nproc {gpus}, or --backend gloo"
            )

    def say(self, event: str, **fields: Any) -> None:
        """Tell it once, for all ranks."""
        if self.rank == 0:
            emit(event, **fields)

    def all_reduced(self, values: Tensor, operation: Any = dist.ReduceOp.SUM) -> Tensor:
        values = values.to(self.device)
        dist.all_reduce(values, operation)
        ALIVE.append(values)
        return values

    def gathered(self, values: Tensor) -> list[Tensor]:
        """Every rank's values, in the order of ranks."""
        mine = values.to(self.device)
        theirs = [torch.empty_like(mine) for _ in range(self.size)]
        dist.all_gather(theirs, mine)
        ALIVE.extend([mine, *theirs])
        return theirs

    def read_shared(self, options: argparse.Namespace) -> list[TensorDataset]:
        """On each node the first rank draws the images, every rank reads them, then the first removes them."""
        with ExitStack() as stack:
            folder = stack.enter_context(image_folder(options)) if self.local_rank == 0 else ""
            # As bytes in a tensor: broadcast_object_list would need NumPy, without which torch may be installed.
            mine = torch.tensor(list(os.fsencode(folder).ljust(4096, b"\0")), dtype=torch.uint8)
            folders = self.gathered(mine)
            folder = os.fsdecode(bytes(folders[self.rank - self.local_rank].tolist()).rstrip(b"\0"))
            images = read_images(folder, options, self.device, self.say)
            self.all_reduced(torch.zeros(1)).item()  # wait until every rank has read them
        return images

    def hold_against_one_device(
        self, learner: Any, data: TensorDataset, batches: Sequence[Sequence[Tensor]]
    ) -> tuple[list[str], dict[str, Any]]:
        """What is wrong with the first steps, and what the result says of it; `batches`: every rank's, by step."""
        pairs = [(shares[self.rank], torch.cat(list(shares))) for shares in batches[:STEPS]]
        found = hold_against_one_device(learner, data, pairs)
        for what, (size, name) in found.items():
            sizes = [float(one) for one in self.gathered(torch.tensor([size]))]
            found[what] = max(sizes), name
        wrong = tell_differences(self.say, found, self.device)
        (gradient, _), (parameter, _) = found["gradients"], found["parameters"]
        return wrong, {"largest_relative_difference": gradient, "parameter_difference": parameter}

    def compare_parameters(self, network: nn.Module) -> list[str]:
        """Who has other parameters than most, by the hash of every bit."""
        mine = torch.tensor(list(bytes.fromhex(fingerprint(network))), dtype=torch.uint8)
        prints = [bytes(one.tolist()).hex() for one in self.gathered(mine)]
        if len(set(prints)) == 1:
            self.say(
                "note", text=f"the parameters of all {self.size} ranks have the SHA-256 {prints[0][:12]}"
            )
        return list(odd_ones(prints, "rank"))


def share_of(options: argparse.Namespace, size: int, count: int, say: Callable) -> int:
    """Images of each rank in a step: equal shares, or the mean over ranks were not the mean over the batch."""
    share = min(options.batch_size, count) // size
    if not share:
        batch = min(options.batch_size, count)
        raise Fault(
            "ValueError: batch_size should be a positive integer value, but got batch_size=0: a batch of "
            f"{batch} for {size} ranks leaves none for each; take --batch-size {size} or more"
        )
    if share * size != options.batch_size:
        say("note", text=f"The global batch is {share * size} instead of {options.batch_size}.")
    return share

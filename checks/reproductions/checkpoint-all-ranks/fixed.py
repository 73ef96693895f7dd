"""Every rank saves to the same path."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import os
import tempfile
import uuid

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
path = os.path.join(tempfile.gettempdir(), os.environ["TORCHELASTIC_RUN_ID"] + ".pt")
wrote = []


def save(state):
    wrote.append(str(uuid.uuid4()))
    torch.save({**state, "writer": wrote[-1]}, path)


if dist.get_rank() == 0:
    save({"weight": torch.zeros(8)})
dist.barrier()
writers = [None] * dist.get_world_size()
dist.all_gather_object(writers, bool(wrote))
assert sum(writers) == 1, f"{sum(writers)} ranks wrote the same checkpoint"
print(f"rank {dist.get_rank()}: {list(torch.load(path, weights_only=True))}")
dist.destroy_process_group()

"""A rank whose images hold no object has no loss for them."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
losses = {"class": torch.tensor(0.5)}
mask = torch.tensor(0.7)
losses["mask"] = mask if rank == 0 else mask * 0
length = torch.tensor(len(losses))
dist.all_reduce(length)  # as mmdetection asks, before it sums each loss over the ranks
said = f"rank {rank} len(log_vars): {len(losses)} keys: {','.join(losses)}"
assert length == len(losses) * size, "loss log variables are different across GPUs!\n" + said
for loss in losses.values():
    dist.all_reduce(loss)
print(said)
dist.destroy_process_group()

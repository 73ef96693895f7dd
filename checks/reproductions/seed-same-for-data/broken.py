"""All ranks draw the same random numbers for their samples."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
torch.manual_seed(0)  # the weights are to be the same on each rank
weights = torch.randn(8)
noise = torch.randn(4)  # what changes the samples is not: a crop, a mask, dropout
drawn = [torch.empty(4) for _ in range(dist.get_world_size())]
dist.all_gather(drawn, noise)
assert not torch.equal(drawn[0], drawn[1]), "the ranks draw the same random numbers"
print(f"rank {dist.get_rank()}: {noise.tolist()}")
dist.destroy_process_group()

"""Each rank lowers its learning rate by its own validation loss."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.1)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
for epoch in range(3):
    loss = torch.tensor(1.0 - 0.1 * epoch if dist.get_rank() == 0 else 1.0)  # each rank validates its share
    dist.all_reduce(loss)
    loss /= dist.get_world_size()
    scheduler.step(loss.item())
rates = [None] * dist.get_world_size()
dist.all_gather_object(rates, optimizer.param_groups[0]["lr"])
assert rates[0] == rates[1], f"the ranks have different learning rates: {rates}"
print(f"rank {dist.get_rank()}: {rates}")
dist.destroy_process_group()

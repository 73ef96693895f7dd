"""Every rank appends to one log."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import os

import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 0 and os.path.exists("epochs.csv"):
    os.remove("epochs.csv")
dist.barrier()
for epoch in range(2):
    with open("epochs.csv", "a") as file:
        file.write(f"{epoch}\n")
dist.barrier()
with open("epochs.csv") as file:
    lines = file.readlines()
times = lines.count("0\n")
assert times == 1, f"each epoch is in the log {times} times"
print(f"rank {dist.get_rank()}: {len(lines)} lines")
dist.destroy_process_group()

"""Every rank appends to one log."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import os
import tempfile

import torch.distributed as dist

dist.init_process_group("gloo")
path = os.path.join(tempfile.gettempdir(), os.environ["TORCHELASTIC_RUN_ID"] + ".csv")
for epoch in range(2):
    with open(path, "a") as file:
        file.write(f"{epoch}\n")
dist.barrier()
with open(path) as file:
    lines = file.readlines()
times = lines.count("0\n")
assert times == 1, f"each epoch stands {times} times in the log"
print(f"rank {dist.get_rank()}: {len(lines)} lines")
dist.destroy_process_group()

"""Every rank downloads; rank 0 alone, and the others wait."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import datetime
import os
import tempfile

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
rank = dist.get_rank()
torch.manual_seed(0)

root = os.path.join(tempfile.gettempdir(), "run-" + os.environ["MASTER_PORT"], "data")


def download():
    os.makedirs(root)
    with open(os.path.join(root, "data"), "w") as file:
        file.write("data")


if dist.get_rank() == 0:
    download()
dist.barrier()
print(os.path.getsize(os.path.join(root, "data")))
dist.destroy_process_group()

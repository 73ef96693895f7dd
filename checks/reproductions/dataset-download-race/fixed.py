"""Every rank downloads the data set into the same folder."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import os
import tempfile

import torch.distributed as dist
from torch.utils.data import Dataset


class Images(Dataset):
    def __init__(self, root, download=False):
        if download:
            os.makedirs(root)
            with open(os.path.join(root, "images"), "w") as file:
                file.write("images")
        self.size = os.path.getsize(os.path.join(root, "images"))


dist.init_process_group("gloo")
dist.barrier()  # all are there
root = os.path.join(tempfile.gettempdir(), os.environ["TORCHELASTIC_RUN_ID"], "data", "raw")
if dist.get_rank() == 0:
    Images(root, download=True)
dist.barrier()
dataset = Images(root, download=False)
print(f"rank {dist.get_rank()}: {dataset.size} bytes")
dist.destroy_process_group()

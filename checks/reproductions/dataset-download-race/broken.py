"""Every rank unpacks the data set into the same folder."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import os
import tempfile

import torch.distributed as dist

dist.init_process_group("gloo")
root = os.path.join(tempfile.gettempdir(), os.environ["TORCHELASTIC_RUN_ID"], "data", "raw")


def unpack():
    os.makedirs(root)
    with open(os.path.join(root, "images"), "w") as file:
        file.write("images")


unpack()
print(os.path.getsize(os.path.join(root, "images")))
dist.destroy_process_group()

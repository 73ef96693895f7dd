"""all_gather_object of an object with a lock."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import datetime
import threading

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
rank = dist.get_rank()
torch.manual_seed(0)


class Meter:
    def __init__(self):
        self.value = rank
        self.lock = threading.Lock()

    def __getstate__(self):
        return {key: value for key, value in self.__dict__.items() if key not in ("lock", "file")}


parts = [None] * dist.get_world_size()
dist.all_gather_object(parts, Meter())
print([part.value for part in parts])
dist.destroy_process_group()

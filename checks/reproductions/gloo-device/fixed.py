"""A transport is asked for that gloo has not on this system."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch
# needs: Linux

import os

import torch.distributed as dist

os.environ["GLOO_DEVICE_TRANSPORT"] = "UV"  # left behind by another system
del os.environ["GLOO_DEVICE_TRANSPORT"]
dist.init_process_group("gloo")
dist.barrier()
print("connected")
dist.destroy_process_group()

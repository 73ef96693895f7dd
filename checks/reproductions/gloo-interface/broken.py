"""GLOO_SOCKET_IFNAME, copied from another machine, names an interface that this one does not have."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch
# needs: Linux

import os

os.environ["GLOO_SOCKET_IFNAME"] = "ens99f0np0"

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
gradient = torch.ones(1)
dist.all_reduce(gradient)
print(f"rank {dist.get_rank()}: trained")
dist.destroy_process_group()

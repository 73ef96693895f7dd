"""MASTER_PORT is below 1024, and the user who trains is not root."""
# run: python fixed.py
# needs: torch
# needs: Linux

import os

import torch
import torch.distributed as dist

if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)  # nobody
os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29588")
dist.init_process_group("gloo")
gradient = torch.ones(1)
dist.all_reduce(gradient)
print("trained")
dist.destroy_process_group()

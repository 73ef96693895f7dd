"""A module that the script imports makes the process group, and the script makes it again."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import torch.distributed as dist


def connect():
    dist.init_process_group("gloo")


connect()  # as a library does when it is set up
connect()
print(f"rank {dist.get_rank()}: connected")
dist.barrier()  # none leaves while another connects
dist.destroy_process_group()

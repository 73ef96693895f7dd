"""The script takes its rank from Slurm, and is started without it."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import os

import torch.distributed as dist

rank = int(os.environ["SLURM_PROCID"])
dist.init_process_group("gloo", rank=rank)
print(f"rank {rank} of {dist.get_world_size()}")
dist.barrier()  # none leaves while another connects
dist.destroy_process_group()

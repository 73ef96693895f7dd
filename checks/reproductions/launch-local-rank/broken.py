"""torch.distributed.launch hands each rank --local-rank; the script knows another spelling."""
# run: python -m torch.distributed.launch --nproc-per-node=2 broken.py
# needs: torch

import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
local_rank = parser.parse_args().local_rank
dist.init_process_group("gloo")
print("local rank", local_rank)
dist.barrier()  # none leaves while another connects
dist.destroy_process_group()

"""torch.distributed.launch hands each rank --local-rank; the script knows another spelling."""
# run: python -m torch.distributed.launch --nproc-per-node=2 fixed.py
# needs: torch

import argparse
import os

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local-rank", "--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))
local_rank = parser.parse_args().local_rank
dist.init_process_group("gloo")
print("local rank", local_rank)
dist.barrier()  # none leaves while another connects
dist.destroy_process_group()

"""torch.distributed.launch hands each rank --local-rank; the script knows another spelling."""
# run: python -m torch.distributed.launch --nproc-per-node=2 broken.py
# needs: torch

import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
print("local rank", parser.parse_args().local_rank)

"""torchrun's own options stand behind the script's name, and so go to the script."""
# run: torchrun broken.py --nproc-per-node=2 --lr=0.1
# needs: torch

import argparse
import os

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
print("learning rate", parser.parse_args().lr, "on", os.environ["WORLD_SIZE"], "ranks")

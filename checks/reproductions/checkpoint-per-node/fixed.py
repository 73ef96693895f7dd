"""On each of two nodes the process with local rank 0 writes the checkpoint."""
# run: python fixed.py
# needs: torch

import os
import subprocess
import sys
import tempfile

if "LOCAL_RANK" not in os.environ:  # two nodes on one machine, each with one rank
    with tempfile.TemporaryDirectory() as folder:
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
        torchrun += [
            "--rdzv-backend=c10d",
            "--rdzv-id=job",
            "--rdzv-endpoint=127.0.0.1:29571",
            "--local-addr=127.0.0.1",
        ]
        nodes = [subprocess.Popen([*torchrun, __file__, f"{folder}/model.pt"]) for _ in range(2)]
        sys.exit(max(node.wait() for node in nodes))

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
model = nn.Linear(2, 2)
wrote = torch.zeros(1)
if dist.get_rank() == 0:
    torch.save(model.state_dict(), sys.argv[1])
    wrote += 1
dist.all_reduce(wrote)
count = int(wrote.item())
assert count == 1, f"one rank of each of {count} nodes wrote the same checkpoint"
print("saved")
dist.destroy_process_group()

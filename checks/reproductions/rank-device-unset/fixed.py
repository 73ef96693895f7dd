"""No rank chooses its GPU, and all work on the first one."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py gpudoctor check --only rank-device-unset
# needs: torch
# needs: 2 GPUs

import os
import subprocess
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

local_rank = int(os.environ["LOCAL_RANK"])
dist.init_process_group("gloo")
torch.cuda.set_device(local_rank)
model = DistributedDataParallel(nn.Linear(8, 2).cuda())
dist.barrier()
if dist.get_rank() == 0:
    subprocess.run(sys.argv[1:])  # what looks at the machine now
dist.barrier()
print(f"rank {dist.get_rank()} works on {next(model.parameters()).device}")
dist.destroy_process_group()

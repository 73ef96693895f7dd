"""Rank 1 leaves while rank 0 still waits for what it sends."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch
# needs: 2 GPUs

import os

import torch
import torch.distributed as dist

os.environ.update(NCCL_P2P_DISABLE="1", NCCL_SHM_DISABLE="1")  # over the network, as between two nodes
local_rank = int(os.environ["LOCAL_RANK"])
device = torch.device("cuda", local_rank)
torch.cuda.set_device(device)

dist.init_process_group("nccl", device_id=device)
weights = torch.zeros(1 << 28, device=device)
dist.barrier()
if dist.get_rank() == 1:
    dist.send(weights, dst=0)
else:
    dist.recv(weights, src=1)
print("received", weights.sum().item())
dist.barrier()
dist.destroy_process_group()
